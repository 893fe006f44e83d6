#include "model/vocab_glue.h"

#include <fmt/format.h>

#include "model/key_reader.h"

namespace minfer::model {
namespace {

/// Reads optional keys below "tokenizer.ggml."; the first fault sticks.
class SpecReader {
 public:
  explicit SpecReader(const gguf::File& file) : file_(file) {}

  template <class T, class Get>
  std::optional<T> read(std::string_view name, Get get) {
    const std::string key = fmt::format("tokenizer.ggml.{}", name);
    if (!status_.ok() || !file_.has(key)) return std::nullopt;
    auto result = get(key);
    if (result.ok()) return std::move(result).value();
    status_ = result.status();
    return std::nullopt;
  }

  std::optional<std::string_view> string(std::string_view name) {
    return read<std::string_view>(name, [&](const auto& key) { return file_.string(key); });
  }
  std::optional<std::int64_t> integer(std::string_view name) {
    return read<std::int64_t>(name, [&](const auto& key) { return file_.i64(key); });
  }
  std::optional<bool> boolean(std::string_view name) {
    return read<bool>(name, [&](const auto& key) { return file_.boolean(key); });
  }
  std::optional<std::vector<std::string_view>> strings(std::string_view name) {
    return read<std::vector<std::string_view>>(
        name, [&](const auto& key) -> Result<std::vector<std::string_view>> {
          MINFER_ASSIGN_OR_RETURN(const gguf::StringArray array, file_.strings(key));
          return array.to_vector();
        });
  }
  template <class T>
  std::optional<std::vector<T>> numbers(std::string_view name) {
    return read<std::vector<T>>(name,
                                [&](const auto& key) { return file_.template numbers<T>(key); });
  }

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  const gguf::File& file_;
  Status status_;
};

}  // namespace

Result<text::VocabSpec> read_vocab_spec(const gguf::File& file) {
  SpecReader keys(file);
  text::VocabSpec spec;
  spec.model = keys.string("model");
  spec.pre = keys.string("pre");
  spec.pieces = keys.strings("tokens");
  spec.scores = keys.numbers<float>("scores");
  spec.types = keys.numbers<std::int32_t>("token_type");
  spec.merges = keys.strings("merges");
  spec.bos = keys.integer("bos_token_id");
  spec.eos = keys.integer("eos_token_id");
  spec.eot = keys.integer("eot_token_id");
  spec.eom = keys.integer("eom_token_id");
  spec.unk = keys.integer("unknown_token_id");
  spec.sep = keys.integer("seperator_token_id");  // spelt like this in files
  spec.pad = keys.integer("padding_token_id");
  spec.cls = keys.integer("cls_token_id");
  spec.mask = keys.integer("mask_token_id");
  spec.add_bos = keys.boolean("add_bos_token");
  spec.add_eos = keys.boolean("add_eos_token");
  spec.add_sep = keys.boolean("add_sep_token");
  spec.add_space_prefix = keys.boolean("add_space_prefix");
  MINFER_RETURN_IF_ERROR(keys.status());
  if (!spec.model) {
    return model_error(file,
                       "key \"tokenizer.ggml.model\" is missing: the file names no tokenizer "
                       "(one without says \"none\")");
  }
  return spec;
}

bool says_no_vocab(const text::VocabSpec& spec) {
  return spec.model == "none" || spec.model == "no_vocab" || spec.model == "test";
}

}  // namespace minfer::model

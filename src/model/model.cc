#include "model/model.h"

#include <fmt/format.h>

#include <filesystem>

#include "model/arch.h"
#include "model/file_type.h"
#include "model/kv_layout.h"
#include "model/vocab_glue.h"

namespace minfer::model {
namespace {

/// "[tokenizer]: what" becomes "[tokenizer] FILE: what": text/ knows no files.
Status name_file(const Status& status, const std::string& path) {
  constexpr std::string_view kRoom = "[tokenizer]";
  std::string_view what = status.message();
  if (what.starts_with(kRoom)) what.remove_prefix(kRoom.size());
  while (what.starts_with(':') || what.starts_with(' ')) what.remove_prefix(1);
  return {status.code(), fmt::format("{} {}: {}", kRoom, path, what)};
}

}  // namespace

struct Model::Impl {
  explicit Impl(gguf::File opened) : file(std::move(opened)) {}

  gguf::File file;
  const Architecture* arch = nullptr;
  HParams hparams;
  ModelWeights weights;
  std::vector<std::int32_t> group_of_layer;
  std::unique_ptr<text::Tokenizer> tokenizer;
  std::string display_name;
  std::string type_name;
  std::string_view chat_template;
  std::uint64_t n_params = 0;
  std::uint64_t weight_bytes = 0;

  Status read(const LoadOptions& options);
  Status read_tokenizer(const LoadOptions& options);
  Status read_names();
  Status in_file(const Status& status) const {
    return status.with_context(fmt::format("[model] {}", file.path()));
  }
};

Status Model::Impl::read_tokenizer(const LoadOptions& options) {
  MINFER_ASSIGN_OR_RETURN(text::VocabSpec spec, read_vocab_spec(file));
  if (options.skip_vocab || says_no_vocab(spec)) return ok_status();
  auto created = text::Tokenizer::create(std::move(spec));
  if (!created.ok()) return name_file(created.status(), file.path());
  tokenizer = std::move(created).value();
  return ok_status();
}

Status Model::Impl::read_names() {
  MINFER_ASSIGN_OR_RETURN(const std::string_view name, file.string_or("general.name", ""));
  display_name = name.empty() ? std::filesystem::path(file.path()).filename().string() : name;
  MINFER_ASSIGN_OR_RETURN(chat_template, file.string_or("tokenizer.chat_template", ""));
  type_name = file_type_name(file, weights.table);
  for (const backend::WeightSource& weight : weights.table) {
    const auto elements = static_cast<std::uint64_t>(weight.view.shape.elements());
    n_params += elements;
    weight_bytes += row_size_bytes(weight.view.dtype, elements);
  }
  return ok_status();
}

Status Model::Impl::read(const LoadOptions& options) {
  const auto report = [&](double share) {
    return !options.progress || options.progress(share) ? ok_status()
                                                        : cancelled("loading was cancelled");
  };
  MINFER_RETURN_IF_ERROR(report(0.0));
  MINFER_ASSIGN_OR_RETURN(const std::string_view name, file.string("general.architecture"));
  const auto found = find_architecture(name);
  if (!found.ok()) return in_file(found.status());
  arch = *found;
  MINFER_RETURN_IF_ERROR(read_tokenizer(options));
  MINFER_ASSIGN_OR_RETURN(hparams, model::read_hparams(file, *arch));
  MINFER_ASSIGN_OR_RETURN(weights, bind_weights(file, *arch, hparams));
  group_of_layer = group_layers(hparams);
  MINFER_RETURN_IF_ERROR(read_names());
  if (options.check_tensors) MINFER_RETURN_IF_ERROR(check_tensors(file, options.progress));
  return report(1.0);
}

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::~Model() = default;

Result<std::unique_ptr<Model>> Model::load(const std::string& path, const LoadOptions& options) {
  MINFER_ASSIGN_OR_RETURN(gguf::File file, gguf::File::open(path, {.will_need = true}));
  auto impl = std::make_unique<Impl>(std::move(file));
  MINFER_RETURN_IF_ERROR(impl->read(options));
  return std::unique_ptr<Model>(new Model(std::move(impl)));
}

const gguf::File& Model::file() const { return impl_->file; }
const HParams& Model::hparams() const { return impl_->hparams; }
std::string_view Model::arch_name() const { return impl_->arch->name; }
std::string_view Model::display_name() const { return impl_->display_name; }
std::string_view Model::type_name() const { return impl_->type_name; }
std::uint64_t Model::n_params() const { return impl_->n_params; }
std::uint64_t Model::weight_bytes() const { return impl_->weight_bytes; }
const text::Tokenizer* Model::tokenizer() const { return impl_->tokenizer.get(); }
std::string_view Model::chat_template() const { return impl_->chat_template; }
std::span<const backend::WeightSource> Model::weights() const { return impl_->weights.table; }

Result<backend::KvGeometry> Model::kv_geometry(const backend::Backend& backend,
                                               backend::KvFormat format, std::int32_t n_ctx) const {
  return make_kv_geometry(impl_->hparams, backend, format, n_ctx);
}

std::uint64_t Model::kv_bytes_per_position(const backend::Backend& backend,
                                           backend::KvFormat format) const {
  return model::kv_bytes_per_position(impl_->hparams, backend, format);
}

Result<ir::Graph> Model::build_graph(const plan::GraphParams& params) const {
  MINFER_CHECK(params.n_tokens > 0 && params.n_out >= 0 && params.n_out <= params.n_tokens);
  MINFER_CHECK(params.n_ctx > 0);
  Blocks blocks(impl_->hparams, impl_->arch->rope_mode, impl_->weights, impl_->group_of_layer,
                params);
  ValueId x = blocks.embedding();
  for (std::int32_t layer = 0; layer < impl_->hparams.n_layer; ++layer) {
    blocks.begin_layer(layer);
    x = impl_->arch->layer(blocks, x);
  }
  return blocks.finish(x);
}

}  // namespace minfer::model

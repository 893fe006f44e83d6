// minfer tokenize MODEL [TEXT]: ids and pieces, and back.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json_writer.h"
#include "base/printable.h"
#include "commands.h"
#include "gguf/file.h"
#include "model/vocab_glue.h"
#include "prompt_input.h"
#include "terminal.h"
#include "text/tokenizer.h"

namespace minfer::app {
namespace {

bool is_separator(char c) { return c == ' ' || c == ',' || c == '\n' || c == '\r' || c == '\t'; }

Result<std::vector<std::int32_t>> parse_ids(std::string_view text,
                                            const text::Tokenizer& tokenizer) {
  std::vector<std::int32_t> ids;
  const char* at = text.data();
  const char* end = at + text.size();
  for (;;) {
    at = std::find_if_not(at, end, is_separator);
    if (at == end) return ids;
    const char* word_end = std::find_if(at, end, is_separator);
    std::int32_t id = 0;
    const auto [rest, error] = std::from_chars(at, word_end, id);
    if (error != std::errc() || rest != word_end || !tokenizer.vocab().contains(id)) {
      return invalid_argument(
          fmt::format("--decode: \"{}\" is not an id of this vocabulary (0 to {})",
                      printable(std::string_view(at, static_cast<std::size_t>(word_end - at)), 20),
                      tokenizer.vocab().size() - 1));
    }
    ids.push_back(id);
    at = word_end;
  }
}

std::string as_json(const std::vector<std::int32_t>& ids, std::string_view text,
                    const text::Tokenizer& tokenizer) {
  JsonWriter json;
  json.begin_object().key("text").string(text).key("tokens").begin_array();
  for (const std::int32_t id : ids) {
    json.begin_object();
    json.key("id").integer(id);
    json.key("text").string(tokenizer.token_bytes(id));
    json.end_object();
  }
  json.end_array().end_object();
  return json.text() + "\n";
}

std::string as_line(const std::vector<std::int32_t>& ids) {
  return fmt::format("{}\n", fmt::join(ids, " "));
}

std::string as_table(const std::vector<std::int32_t>& ids, const text::Tokenizer& tokenizer) {
  std::string text;
  for (const std::int32_t id : ids) {
    text += fmt::format("{:>7}  \"{}\"\n", id, printable(tokenizer.token_bytes(id), 1000));
  }
  return text;
}

}  // namespace

Result<int> tokenize_command(const Invocation& invocation, const EnvSwitches&) {
  const Options& options = invocation.options;
  MINFER_ASSIGN_OR_RETURN(const auto text, read_prompt(options));
  if (!text) {
    return invalid_argument(
        fmt::format("no text given. Example: minfer tokenize {} \"Hello world\"", options.model));
  }
  MINFER_ASSIGN_OR_RETURN(const gguf::File file, gguf::File::open(options.model));
  MINFER_ASSIGN_OR_RETURN(text::VocabSpec spec, model::read_vocab_spec(file));
  MINFER_ASSIGN_OR_RETURN(const auto tokenizer, text::Tokenizer::create(std::move(spec)));
  if (!tokenizer->has_text()) {
    return unsupported(fmt::format("{}: the model has no tokenizer", options.model));
  }
  Output out;
  if (options.decode) {
    MINFER_ASSIGN_OR_RETURN(const auto ids, parse_ids(*text, *tokenizer));
    const std::string decoded = tokenizer->decode(ids, /*show_special=*/!options.no_special);
    out.write(options.json ? as_json(ids, decoded, *tokenizer) : decoded);
  } else {
    const bool special = !options.no_special;
    MINFER_ASSIGN_OR_RETURN(const auto ids, tokenizer->encode(*text, {.parse_special = special,
                                                                      .add_special = special}));
    out.write(options.json  ? as_json(ids, *text, *tokenizer)
              : options.ids ? as_line(ids)
                            : as_table(ids, *tokenizer));
  }
  MINFER_RETURN_IF_ERROR(out.status());
  return 0;
}

}  // namespace minfer::app

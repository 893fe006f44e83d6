#include "tests/support/tiny_vocab.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/tiny_model.h"
#include "text/byte_level.h"
#include "text/vocab.h"

namespace minfer::tests {
namespace {

constexpr const char* kChatMl =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' "
    "}}{% endif %}";

/// Merges as text, a left and a right half each, best first.
constexpr std::pair<const char*, const char*> kMerges[] = {
    {"t", "h"},    {"th", "e"},      {" ", "the"}, {"i", "n"},   {"a", "n"},   {"e", "r"},
    {"r", "e"},    {"o", "n"},       {" ", "a"},   {"h", "e"},   {"l", "l"},   {"he", "ll"},
    {"hell", "o"}, {" ", "w"},       {"o", "r"},   {" w", "or"}, {"l", "d"},   {" wor", "ld"},
    {"in", "g"},   {" ", " "},       {"\n", "\n"}, {"an", "d"},  {" ", "and"}, {"\xc3", "\xa9"},
    {"e", "s"},    {"\xf0", "\x9f"}, {"u", "s"},   {"us", "er"}, {"s", "t"},
};

struct Pieces {
  std::vector<std::string> text;
  std::vector<std::int32_t> types;
  std::vector<std::string> merges;

  void add(std::string piece, text::TokenType type) {
    text.push_back(std::move(piece));
    types.push_back(static_cast<std::int32_t>(type));
  }
};

Pieces make_pieces() {
  Pieces pieces;
  for (const char* control : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
    pieces.add(control, text::TokenType::kControl);
  }
  for (int byte = 0; byte < 256; ++byte) {
    const auto view = text::byte_to_piece(static_cast<unsigned char>(byte));
    pieces.add(std::string(view), text::TokenType::kNormal);
  }
  for (const auto& [left, right] : kMerges) {
    std::string l;
    std::string r;
    text::append_byte_level(l, left);
    text::append_byte_level(r, right);
    pieces.add(l + r, text::TokenType::kNormal);
    pieces.merges.push_back(fmt::format("{} {}", l, r));
  }
  pieces.add("<tool_call>", text::TokenType::kUserDefined);
  for (int i = 0; pieces.text.size() < kTinyVocab; ++i) {
    pieces.add(fmt::format("[PAD{}]", i), text::TokenType::kUnused);
  }
  return pieces;
}

}  // namespace

void add_tiny_vocab(gguf::Writer& writer, bool tokenizer, bool chat_template) {
  if (chat_template) writer.add_string("tokenizer.chat_template", kChatMl);
  if (!tokenizer) {
    writer.add_string("tokenizer.ggml.model", "none");
    return;
  }
  const Pieces pieces = make_pieces();
  writer.add_string("tokenizer.ggml.model", "gpt2");
  writer.add_string("tokenizer.ggml.pre", "qwen2");
  writer.add_string_array("tokenizer.ggml.tokens", std::span<const std::string>(pieces.text));
  writer.add_i32_array("tokenizer.ggml.token_type", pieces.types);
  writer.add_string_array("tokenizer.ggml.merges", std::span<const std::string>(pieces.merges));
  writer.add_u32("tokenizer.ggml.bos_token_id", kTinyImStart);
  writer.add_u32("tokenizer.ggml.eos_token_id", kTinyImEnd);
  writer.add_bool("tokenizer.ggml.add_bos_token", false);
}

}  // namespace minfer::tests

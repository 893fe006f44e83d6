// Small vocabularies made in the test, without a file.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/byte_level.h"
#include "text/tokenizer.h"

namespace minfer::text {

/// Owns the characters that a VocabSpec points to, as a mapped file would.
class TinyVocab {
 public:
  explicit TinyVocab(std::string_view model) {
    spec.model = keep(model);
    spec.pieces.emplace();
    spec.types.emplace();
  }

  /// All 256 bytes as tokens 0..255, and the gpt-2 pre-tokenizer.
  static TinyVocab byte_level(std::string_view pre = "gpt-2") {
    TinyVocab vocab("gpt2");
    vocab.spec.pre = vocab.keep(pre);
    vocab.spec.merges.emplace();
    for (int b = 0; b < 256; ++b) vocab.add(byte_to_piece(static_cast<unsigned char>(b)));
    return vocab;
  }

  /// <unk> <s> </s>, then 256 byte tokens 3..258.
  static TinyVocab spm() {
    TinyVocab vocab("llama");
    vocab.spec.scores.emplace();
    vocab.add("<unk>", TokenType::kUnknown);
    vocab.add("<s>", TokenType::kControl);
    vocab.add("</s>", TokenType::kControl);
    for (int b = 0; b < 256; ++b) {
      char name[8];
      std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(b));
      vocab.add(name, TokenType::kByte);
    }
    return vocab;
  }

  std::string_view keep(std::string_view text) { return kept_.emplace_back(text); }

  std::int32_t add(std::string_view piece, TokenType type = TokenType::kNormal, float score = 0) {
    spec.pieces->push_back(keep(piece));
    spec.types->push_back(static_cast<std::int32_t>(type));
    if (spec.scores) spec.scores->push_back(score);
    return static_cast<std::int32_t>(spec.pieces->size()) - 1;
  }

  /// A merge and the piece that it makes.
  std::int32_t merge(const std::string& left, const std::string& right) {
    spec.merges->push_back(keep(left + " " + right));
    return add(left + right);
  }

  std::unique_ptr<Tokenizer> build() const {
    auto tokenizer = Tokenizer::create(spec);
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    return tokenizer.ok() ? std::move(tokenizer).value() : nullptr;
  }

  VocabSpec spec;

 private:
  std::deque<std::string> kept_;
};

using Ids = std::vector<std::int32_t>;

inline Ids encode(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options = {}) {
  auto ids = tokenizer.encode(text, options);
  EXPECT_TRUE(ids.ok()) << ids.status().message();
  return ids.ok() ? std::move(ids).value() : Ids{};
}

}  // namespace minfer::text

// Spm: SentencePiece vocabularies with scores (Llama 1 and 2, Phi-3, Gemma).
//
// Blanks become U+2581; then the neighbouring pair whose joined piece has the highest score merges
// first, leftmost first among equals, until no pair is a piece. A character without a piece is
// given byte by byte as <0xXX> tokens, or as the unknown token where those are missing
// (github.com/google/sentencepiece, "byte_fallback").
// Control, unknown and byte tokens are never made out of text.
// Invariants, thread-safety: see TokenModel. Time is n log n.
#pragma once

#include <array>
#include <memory>

#include "text/token_model.h"

namespace minfer::text {

class Spm final : public TokenModel {
 public:
  /// What stands for a blank in pieces: U+2581.
  static constexpr std::string_view kBlank = "\xe2\x96\x81";

  /// `vocab` must be of kind kSpm and outlive the model.
  explicit Spm(const Vocab& vocab);

  /// The caller puts the first blank before `text` where the vocabulary wants one.
  void encode(std::string_view text, std::vector<std::int32_t>& ids) const override;
  void append_text(std::int32_t id, std::string& out) const override;

 private:
  struct Scratch;

  [[nodiscard]] std::int32_t find_mergeable(std::string_view piece) const;
  void push_merge(Scratch& scratch, std::int32_t left) const;
  void append_bytes(std::string_view bytes, std::vector<std::int32_t>& ids) const;

  const Vocab& vocab_;
  std::array<std::int32_t, 256> byte_ids_;  // -1: no such token
};

}  // namespace minfer::text

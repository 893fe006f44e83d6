// ByteBpe: byte-level byte pair encoding (GPT-2 and its descendants).
//
// Text is cut into words by the pre-tokenizer; inside a word the neighbouring pair of lowest rank
// merges first, leftmost first among equals, until no pair has a rank (Sennrich et al. 2016,
// arXiv:1508.07909). A byte whose character has no piece leaves nothing behind: some vocabularies
// lack bytes, and there is no other token to give.
// Invariants, thread-safety: see TokenModel. Time is n log n in a word's length.
#pragma once

#include <memory>

#include "text/merge_table.h"
#include "text/token_model.h"

namespace minfer::text {

class ByteBpe final : public TokenModel {
 public:
  /// `vocab` must be of kind kByteBpe and outlive the model. Oddities of the merges are added to
  /// `warnings`; kCorrupt for merges that can't be read.
  static Result<std::unique_ptr<ByteBpe>> create(const Vocab& vocab,
                                                 std::vector<std::string>& warnings);

  void encode(std::string_view text, std::vector<std::int32_t>& ids) const override;
  void append_text(std::int32_t id, std::string& out) const override;

 private:
  struct Scratch;

  ByteBpe(const Vocab& vocab, MergeTable merges);

  void encode_word(std::string_view word, Scratch& scratch, std::vector<std::int32_t>& ids) const;
  void push_merge(Scratch& scratch, std::int32_t left) const;

  const Vocab& vocab_;
  MergeTable merges_;
};

}  // namespace minfer::text

// WordPiece: BERT's uncased vocabularies, as GGUF files hold them.
//
// Text is lower-cased and stripped of accents, cut at white space, and every punctuation or CJK
// character is a word of its own; a word is then eaten by its longest piece, again and again, and
// is the unknown token where that fails (Devlin et al. 2018, arXiv:1810.04805). In GGUF a piece
// that starts a word begins with U+2581, one that continues a word stands without its "##".
// Invariants, thread-safety: see TokenModel. Time is linear in the text, times the longest piece
// (kMaxPiece at most).
#pragma once

#include <memory>

#include "text/token_model.h"

namespace minfer::text {

class WordPiece final : public TokenModel {
 public:
  /// Longer pieces are never matched.
  static constexpr std::size_t kMaxPiece = 128;

  /// `vocab` must be of kind kWordPiece and outlive the model.
  explicit WordPiece(const Vocab& vocab);

  void encode(std::string_view text, std::vector<std::int32_t>& ids) const override;
  void append_text(std::int32_t id, std::string& out) const override;

 private:
  void encode_word(std::string_view word, std::vector<std::int32_t>& ids) const;

  const Vocab& vocab_;
  std::size_t longest_ = 0;  // bytes of the longest piece that can match
};

}  // namespace minfer::text

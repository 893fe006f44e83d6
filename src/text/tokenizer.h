// Tokenizer: text to token ids and back, for one model.
//
// Owns: the vocabulary and the indexes built over it.
// Invariants: encode() is linear in the text (up to the logarithm of a heap), uses no recursion and
// a bounded stack. BOS and EOS are never doubled. Text that may not spell control tokens never
// becomes one, however it is cut into spans.
// Known choices, the same as the peer's: no Unicode normalisation before byte-level BPE (Hugging
// Face's Qwen applies NFC); user-defined tokens match in any text; longest first.
// Thread-safety: immutable after create(); any number of threads may encode and decode at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/special_matcher.h"
#include "text/token_model.h"
#include "text/vocab.h"

namespace minfer::text {

struct EncodeOptions {
  /// Pieces of control tokens in the text become those tokens.
  bool parse_special = false;
  /// BOS (CLS) before and EOS (SEP) after, where the vocabulary wants them; one that the text
  /// itself gave is not repeated.
  bool add_special = false;
};

/// A stretch of one text. Stretches are tokenized as the one text that they form, so that where
/// they are cut changes no id; only whether control tokens may be spelt differs.
struct TextSpan {
  std::string_view text;
  bool parse_special = false;
};

class Tokenizer {
 public:
  /// Longer texts are refused.
  static constexpr std::size_t kMaxTextBytes = std::size_t{1} << 28;

  /// Vocab::create and the indexes for encoding. Errors as there.
  static Result<std::unique_ptr<Tokenizer>> create(VocabSpec spec);

  [[nodiscard]] const Vocab& vocab() const { return *vocab_; }
  /// False for a model without a tokenizer: encode() fails, ids have no text.
  [[nodiscard]] bool has_text() const { return model_ != nullptr; }
  /// Those of the vocabulary and of its merges, a line each.
  [[nodiscard]] std::span<const std::string> warnings() const { return warnings_; }

  /// The ids of `text`, which may be any bytes. kUnsupported where there is no tokenizer,
  /// kOutOfRange past kMaxTextBytes.
  [[nodiscard]] Result<std::vector<std::int32_t>> encode(std::string_view text,
                                                         EncodeOptions options = {}) const;
  /// The ids of the spans' joined text; each span's own parse_special holds. `at_text_start`: false
  /// where the text goes on from tokens, and gets no first blank of its own.
  /// `withheld`: user-defined tokens, in ascending order, that only spans with parse_special may
  /// spell; elsewhere their text is encoded as any other, character by character if need be.
  [[nodiscard]] Result<std::vector<std::int32_t>> encode(
      std::span<const TextSpan> spans, bool add_special = false, bool at_text_start = true,
      std::span<const std::int32_t> withheld = {}) const;

  /// The user-defined tokens whose piece stands in `text`, in ascending order: what a chat
  /// template's source withholds from the text of a request. Pieces of one character or of white
  /// space alone mark nothing and are left out.
  [[nodiscard]] std::vector<std::int32_t> user_defined_in(std::string_view text) const;

  /// The bytes that a token stands for, a control token's name included. Nothing for an id outside
  /// the vocabulary.
  [[nodiscard]] std::string token_bytes(std::int32_t id) const;
  /// Whether the token is shown only on request: control, unknown and unused ones.
  [[nodiscard]] bool is_hidden(std::int32_t id) const;
  [[nodiscard]] bool is_eog(std::int32_t id) const { return vocab_->is_eog(id); }

  /// The bytes of a whole text: see TokenText for the rules. Bytes are not mended: a cut character
  /// stays cut.
  [[nodiscard]] std::string decode(std::span<const std::int32_t> ids,
                                   bool show_special = false) const;

 private:
  Tokenizer() = default;

  [[nodiscard]] std::vector<std::int32_t> encode_zones(
      std::string_view text, std::span<const SpecialZone> zones, bool at_text_start,
      std::span<const std::int32_t> withheld) const;
  void encode_plain(std::string_view text, bool first_blank, std::vector<std::int32_t>& ids) const;
  void break_up(std::span<const std::int32_t> withheld, std::vector<std::int32_t>& ids) const;
  void add_special_ids(std::vector<std::int32_t>& ids) const;

  std::unique_ptr<Vocab> vocab_;
  std::unique_ptr<TokenModel> model_;  // null: no tokenizer
  std::unique_ptr<SpecialMatcher> specials_;
  std::vector<std::string> warnings_;
};

/// The text of tokens one after another. Where the vocabulary puts a blank before a text (SPM,
/// WordPiece), it is taken off again at the start and after each control or user-defined token,
/// which is where encode() puts it.
/// Thread-safety: none; one per text. The tokenizer must outlive it.
class TokenText {
 public:
  /// `at_text_start`: false where the tokens continue a text, whose blank must stay.
  TokenText(const Tokenizer& tokenizer, bool show_special, bool at_text_start)
      : tokenizer_(tokenizer), show_special_(show_special), strip_blank_(at_text_start) {}

  void append(std::int32_t id, std::string& out);

 private:
  const Tokenizer& tokenizer_;
  bool show_special_;
  bool strip_blank_;
};

}  // namespace minfer::text

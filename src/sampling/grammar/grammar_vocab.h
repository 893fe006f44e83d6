// GrammarVocab: a model's tokens as grammars see them, in a trie of their bytes.
//
// Owns: the bytes, the trie.
// Invariants: the trie's nodes stand in pre-order, so that a subtree and its tokens are each one
// stretch; node 0 is the root, and one node without bytes follows the last.
// Thread-safety: immutable; may be shared by the constraints of a model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/grammar/char_class.h"
#include "sampling/token_id.h"

namespace minfer::sampling {

enum class TokenKind : std::uint8_t {
  kText,             // stands for its bytes
  kHidden,           // control or unused: never allowed, unless a grammar names it
  kEndOfGeneration,  // allowed where the text is whole
};

struct GrammarToken {
  std::string_view bytes;  // of a hidden token: its name, as `<name>` refers to it
  TokenKind kind = TokenKind::kText;
};

/// Groups of characters, a bit each, by which whole subtrees are judged at once.
using CharGroups = std::uint32_t;
/// Of a subtree: some token's rest is not made of characters, of which the last may be cut.
inline constexpr CharGroups kBrokenGroup = CharGroups{1} << 31;
/// The groups of which every character is in the class.
CharGroups groups_inside(const CharClass& set);
/// The groups of which some character is in the class.
CharGroups groups_touched(const CharClass& set);

class GrammarVocab {
 public:
  struct Node {
    std::uint32_t end = 0;          // the first node behind the subtree
    std::uint32_t first_token = 0;  // in tokens_in_order(); the subtree's end with that of `end`
    CharGroups groups = 0;          // of the characters from this byte on, if one begins here
    std::uint32_t max_chars = 0;    // from this byte on, a cut one counted whole
    std::uint16_t depth = 0;        // bytes up to here
    std::uint8_t byte = 0;
  };

  /// A token with more bytes is hidden.
  static constexpr std::size_t kMaxTokenBytes = 4096;

  /// `tokens` by id. Linear in their bytes, up to a sort.
  explicit GrammarVocab(std::span<const GrammarToken> tokens);

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(kinds_.size()); }
  [[nodiscard]] bool contains(TokenId id) const { return id >= 0 && id < size(); }
  [[nodiscard]] TokenKind kind(TokenId id) const { return kinds_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::string_view bytes(TokenId id) const {
    const auto at = static_cast<std::size_t>(id);
    return std::string_view(pool_).substr(offsets_[at], offsets_[at + 1] - offsets_[at]);
  }
  /// The id of the token with these bytes, hidden ones first, then the lowest; -1: there is none.
  [[nodiscard]] TokenId find(std::string_view bytes) const;

  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  /// The ids of the text tokens, ordered by bytes.
  [[nodiscard]] std::span<const TokenId> tokens_in_order() const { return order_; }
  /// The characters of each token in order, a cut one counted whole at its first byte.
  [[nodiscard]] std::span<const std::uint16_t> chars_in_order() const { return chars_; }
  /// The text tokens that begin with `prefix`.
  [[nodiscard]] std::span<const TokenId> tokens_with_prefix(std::string_view prefix) const;
  /// No text token completes more characters.
  [[nodiscard]] std::uint32_t max_chars() const { return nodes_.front().max_chars + 1; }
  /// Bytes of the longest text token.
  [[nodiscard]] std::size_t max_bytes() const { return max_bytes_; }
  [[nodiscard]] std::span<const TokenId> end_of_generation() const { return eog_; }

  /// Words of a mask with a bit for each token.
  [[nodiscard]] std::size_t mask_words() const { return (kinds_.size() + 63) / 64; }
  /// The mask of all text tokens.
  [[nodiscard]] std::span<const std::uint64_t> text_mask() const { return text_mask_; }

 private:
  void sort_tokens();
  void build_trie();
  void mark_broken(std::string_view token, std::span<const std::uint32_t> path);

  std::string pool_;
  std::vector<std::size_t> offsets_;  // [size + 1]
  std::vector<TokenKind> kinds_;
  std::vector<TokenId> order_;
  std::vector<std::uint16_t> chars_;
  std::vector<Node> nodes_;
  std::size_t max_bytes_ = 0;
  std::vector<TokenId> eog_;
  std::vector<std::uint64_t> text_mask_;
};

/// Whether a character begins with this byte.
constexpr bool begins_character(std::uint8_t byte) { return (byte & 0xC0U) != 0x80U; }

inline void set_bit(std::span<std::uint64_t> mask, TokenId id) {
  const auto at = static_cast<std::size_t>(id);
  mask[at / 64] |= std::uint64_t{1} << (at % 64);
}
inline void clear_bit(std::span<std::uint64_t> mask, TokenId id) {
  const auto at = static_cast<std::size_t>(id);
  mask[at / 64] &= ~(std::uint64_t{1} << (at % 64));
}
inline bool has_bit(std::span<const std::uint64_t> mask, TokenId id) {
  const auto at = static_cast<std::size_t>(id);
  return (mask[at / 64] >> (at % 64) & 1) != 0;
}

}  // namespace minfer::sampling

#include "sampling/grammar/grammar_vocab.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace minfer::sampling {
namespace {

constexpr CharGroups kNonAscii = CharGroups{1} << 30;

// The ASCII groups: what grammars tell apart stands alone, the rest together.
constexpr std::array<std::string_view, 24> kGroups = {
    "abcdefghijklmnopqrstuvwxyz",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "0123456789",
    " ",
    "\n",
    "\t\r",
    "\"",
    "\\",
    "()",
    "!?",
    "#$%&@^~|",
    "'",
    "*+=<>",
    ",",
    "-",
    ".",
    "/",
    ":",
    ";",
    "[",
    "]",
    "{}",
    "_",
    "`",
};
constexpr CharGroups kControls = CharGroups{1} << kGroups.size();  // all others

constexpr std::array<CharGroups, 128> make_group_of() {
  std::array<CharGroups, 128> table{};
  table.fill(kControls);
  for (std::size_t i = 0; i < kGroups.size(); ++i) {
    for (const char c : kGroups[i]) table[static_cast<std::size_t>(c)] = CharGroups{1} << i;
  }
  return table;
}
constexpr std::array<CharGroups, 128> kGroupOf = make_group_of();

/// The first eight bytes, so that most comparisons are of one number.
std::uint64_t sort_key(std::string_view bytes) {
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    key = key << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U);
  }
  return key;
}

}  // namespace

CharGroups groups_inside(const CharClass& set) {
  CharGroups outside = 0;
  for (char32_t code = 0; code < 128; ++code) {
    if (!set.contains(code)) outside |= kGroupOf[code];
  }
  if (!set.covers(0x80, kMaxCharacter)) outside |= kNonAscii;
  return ~(outside | kBrokenGroup);
}

CharGroups groups_touched(const CharClass& set) {
  CharGroups touched = set.intersects(0x80, kMaxCharacter) ? kNonAscii : 0;
  for (char32_t code = 0; code < 128; ++code) {
    if (set.contains(code)) touched |= kGroupOf[code];
  }
  return touched;
}

GrammarVocab::GrammarVocab(std::span<const GrammarToken> tokens) {
  offsets_.reserve(tokens.size() + 1);
  kinds_.reserve(tokens.size());
  for (const GrammarToken& token : tokens) {
    offsets_.push_back(pool_.size());
    pool_ += token.bytes;
    const bool no_text = token.bytes.empty() || token.bytes.size() > kMaxTokenBytes;
    kinds_.push_back(token.kind == TokenKind::kText && no_text ? TokenKind::kHidden : token.kind);
  }
  offsets_.push_back(pool_.size());
  text_mask_.resize(mask_words());
  for (TokenId id = 0; id < size(); ++id) {
    if (kind(id) == TokenKind::kEndOfGeneration) eog_.push_back(id);
    if (kind(id) == TokenKind::kText) set_bit(text_mask_, id);
  }
  sort_tokens();
  build_trie();
}

void GrammarVocab::sort_tokens() {
  struct Entry {
    std::uint64_t key = 0;
    TokenId id = 0;
  };
  std::vector<Entry> entries;
  entries.reserve(kinds_.size());
  for (TokenId id = 0; id < size(); ++id) {
    if (kind(id) == TokenKind::kText) entries.push_back({sort_key(bytes(id)), id});
  }
  std::ranges::sort(entries, [&](const Entry& a, const Entry& b) {
    if (a.key != b.key) return a.key < b.key;
    const int order = bytes(a.id).compare(bytes(b.id));
    return order != 0 ? order < 0 : a.id < b.id;
  });
  order_.reserve(entries.size());
  for (const Entry& entry : entries) order_.push_back(entry.id);
}

void GrammarVocab::build_trie() {
  nodes_.reserve(3 * order_.size() + 2);
  nodes_.push_back({});
  std::vector<std::uint32_t> path{0};  // the nodes of the newest token, by depth
  std::string_view last;
  const auto close = [&](std::size_t depth) {
    while (path.size() > depth + 1) {
      Node& node = nodes_[path.back()];
      node.end = static_cast<std::uint32_t>(nodes_.size());
      node.groups |= node.byte < 128 ? kGroupOf[node.byte] : kNonAscii;
      if (begins_character(node.byte)) ++node.max_chars;
      path.pop_back();
      Node& parent = nodes_[path.back()];
      parent.groups |= node.groups & ~kBrokenGroup;
      parent.max_chars = std::max(parent.max_chars, node.max_chars);
    }
  };
  for (std::uint32_t i = 0; i < order_.size(); ++i) {
    const std::string_view token = bytes(order_[i]);
    const auto common =
        static_cast<std::size_t>(std::ranges::mismatch(token, last).in1 - token.begin());
    close(common);
    for (std::size_t at = common; at < token.size(); ++at) {
      path.push_back(static_cast<std::uint32_t>(nodes_.size()));
      Node node;
      node.first_token = i;
      node.depth = static_cast<std::uint16_t>(at + 1);
      node.byte = static_cast<std::uint8_t>(token[at]);
      nodes_.push_back(node);
    }
    mark_broken(token, path);
    max_bytes_ = std::max(max_bytes_, token.size());
    const auto begins = [](char c) { return begins_character(static_cast<std::uint8_t>(c)); };
    chars_.push_back(static_cast<std::uint16_t>(std::ranges::count_if(token, begins)));
    last = token;
  }
  close(0);
  nodes_.front().end = static_cast<std::uint32_t>(nodes_.size());
  Node behind;
  behind.first_token = static_cast<std::uint32_t>(order_.size());
  nodes_.push_back(behind);
}

/// Marks the nodes from whose byte on the token is not made of characters.
void GrammarVocab::mark_broken(std::string_view token, std::span<const std::uint32_t> path) {
  if (std::ranges::all_of(token, [](char c) { return static_cast<signed char>(c) >= 0; })) return;
  const std::size_t cut = token.size() - incomplete_tail(token);
  std::vector<bool> made_of_chars(token.size() + 1, false);
  made_of_chars[token.size()] = true;
  for (std::size_t at = token.size(); at-- > 0;) {
    const Char c = decode_char(token, at);
    made_of_chars[at] = c.well_formed ? made_of_chars[at + c.length] : at == cut;
    if (!made_of_chars[at]) nodes_[path[at + 1]].groups |= kBrokenGroup;
  }
}

TokenId GrammarVocab::find(std::string_view wanted) const {
  TokenId found = -1;
  for (TokenId id = 0; id < size(); ++id) {
    if (bytes(id) != wanted) continue;
    if (kind(id) != TokenKind::kText) return id;
    if (found < 0) found = id;
  }
  return found;
}

std::span<const TokenId> GrammarVocab::tokens_with_prefix(std::string_view prefix) const {
  const auto head = [&](TokenId id) { return bytes(id).substr(0, prefix.size()); };
  const auto [first, last] = std::ranges::equal_range(order_, prefix, {}, head);
  return {first, last};
}

}  // namespace minfer::sampling

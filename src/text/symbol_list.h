// SymbolList: a text under merging, as a doubly linked list of neighbouring stretches.
//
// Invariants: live symbols cover the text in order without gaps; a symbol that was merged away has
// length 0. Indices never change.
// Thread-safety: none; scratch memory of one encode call.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace minfer::text {

struct Symbol {
  std::uint32_t begin;
  std::uint32_t length;
  std::int32_t previous;  // index, -1 at the start
  std::int32_t next;      // index, -1 at the end
};

class SymbolList {
 public:
  /// Starts over with `text`, no symbols.
  void reset(std::string_view text) {
    text_ = text;
    symbols_.clear();
  }
  /// Appends the next `length` bytes as a symbol.
  void append(std::uint32_t length) {
    const auto index = static_cast<std::int32_t>(symbols_.size());
    const std::uint32_t begin =
        symbols_.empty() ? 0 : symbols_.back().begin + symbols_.back().length;
    if (!symbols_.empty()) symbols_.back().next = index;
    symbols_.push_back({begin, length, index - 1, -1});
  }

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(symbols_.size()); }
  [[nodiscard]] const Symbol& operator[](std::int32_t i) const {
    return symbols_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] std::string_view text_of(std::int32_t i) const {
    return text_.substr((*this)[i].begin, (*this)[i].length);
  }
  /// The text of `left` and its next symbol, which must exist.
  [[nodiscard]] std::string_view text_of_pair(std::int32_t left) const {
    const Symbol& a = (*this)[left];
    return text_.substr(a.begin, a.length + (*this)[a.next].length);
  }
  /// Whether `left` still starts a pair of `length` bytes: false once either part was merged.
  [[nodiscard]] bool is_pair(std::int32_t left, std::uint32_t length) const {
    const Symbol& a = (*this)[left];
    return a.length != 0 && a.next >= 0 && a.length + (*this)[a.next].length == length;
  }
  /// Takes the next symbol into `left`.
  void merge(std::int32_t left) {
    Symbol& a = symbols_[static_cast<std::size_t>(left)];
    Symbol& b = symbols_[static_cast<std::size_t>(a.next)];
    a.length += b.length;
    a.next = b.next;
    b.length = 0;
    if (a.next >= 0) symbols_[static_cast<std::size_t>(a.next)].previous = left;
  }

 private:
  std::string_view text_;
  std::vector<Symbol> symbols_;
};

}  // namespace minfer::text

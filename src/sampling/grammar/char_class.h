// CharClass: a set of Unicode characters, as a grammar's strings, classes and `.` name it.
//
// Invariants: ranges are sorted, do not touch and hold no surrogate, which UTF-8 cannot spell.
// Thread-safety: values.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace minfer::sampling {

inline constexpr char32_t kMaxCharacter = 0x10FFFF;

/// Whether `code` is a character: inside Unicode and no surrogate.
constexpr bool is_character(char32_t code) {
  return code <= kMaxCharacter && (code < 0xD800 || code > 0xDFFF);
}

class CharClass {
 public:
  struct Range {
    char32_t first = 0;
    char32_t last = 0;  // inclusive
    bool operator==(const Range&) const = default;
  };

  CharClass() = default;
  /// The union of `ranges`, each with first <= last; `negated`: all other characters.
  CharClass(std::vector<Range> ranges, bool negated);

  [[nodiscard]] bool contains(char32_t code) const {
    if (code < 128) return (ascii_[code / 64] >> (code % 64) & 1) != 0;
    return intersects(code, code);
  }
  /// Whether any character of first..last is in the class.
  [[nodiscard]] bool intersects(char32_t first, char32_t last) const;
  /// Whether all characters of first..last are in the class, surrogates aside.
  [[nodiscard]] bool covers(char32_t first, char32_t last) const;
  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  [[nodiscard]] std::span<const Range> ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;
  std::array<std::uint64_t, 2> ascii_{};
};

}  // namespace minfer::sampling

// PartialChar: the bytes of a character whose rest has not come yet.
//
// Invariants: what has come is a well-formed start (Unicode 15, table 3-7), so that first() <=
// last() and every character between them is still possible.
// Thread-safety: values.
#pragma once

#include <algorithm>
#include <cstdint>

namespace minfer::sampling {

class PartialChar {
 public:
  PartialChar() = default;

  /// No byte waits.
  [[nodiscard]] bool empty() const { return wanted_ == 0; }
  [[nodiscard]] bool whole() const { return wanted_ != 0 && missing_ == 0; }

  /// Takes a byte: of a character of several bytes, or any one where empty(). False: the bytes are
  /// no UTF-8; the value must then not be used.
  bool push(std::uint8_t byte) {
    if (empty()) {
      if (byte < 0x80) {
        *this = PartialChar(byte, 1, 0);
      } else if (byte >= 0xC2 && byte <= 0xDF) {
        *this = PartialChar(byte & 0x1FU, 2, 1);
      } else if (byte >= 0xE0 && byte <= 0xEF) {
        *this = PartialChar(byte & 0x0FU, 3, 2);
      } else if (byte >= 0xF0 && byte <= 0xF4) {
        *this = PartialChar(byte & 0x07U, 4, 3);
      } else {
        return false;
      }
      return true;
    }
    if ((byte & 0xC0U) != 0x80U) return false;
    code_ = code_ << 6 | (byte & 0x3FU);
    --missing_;
    return first() <= last();
  }

  /// The characters that it may become; of a whole one first() == last().
  [[nodiscard]] char32_t first() const {
    const char32_t low = code_ << (6 * missing_);
    if (wanted_ == 3) return std::max<char32_t>(low, 0x800);
    if (wanted_ == 4) return std::max<char32_t>(low, 0x10000);
    return low;
  }
  [[nodiscard]] char32_t last() const {
    const char32_t low = code_ << (6 * missing_);
    const char32_t high = low | ((char32_t{1} << (6 * missing_)) - 1);
    if (high >= 0xD800 && high <= 0xDFFF) return 0xD7FF;  // the surrogates are no characters
    return std::min<char32_t>(high, 0x10FFFF);
  }

  /// Equal exactly for equal bytes.
  [[nodiscard]] std::uint32_t packed() const {
    return static_cast<std::uint32_t>(code_) << 6 | std::uint32_t{wanted_} << 3 | missing_;
  }

 private:
  PartialChar(char32_t code, std::uint8_t wanted, std::uint8_t missing)
      : code_(code), wanted_(wanted), missing_(missing) {}

  char32_t code_ = 0;
  std::uint8_t wanted_ = 0;   // bytes of the character
  std::uint8_t missing_ = 0;  // of them, those that have not come
};

}  // namespace minfer::sampling

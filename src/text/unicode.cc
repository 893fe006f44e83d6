#include "text/unicode.h"

#include <utf8proc.h>

#include <array>

namespace minfer::text {
namespace {

constexpr std::uint16_t classify_ascii(unsigned char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return kLetter;
  if (c >= '0' && c <= '9') return kNumber;
  if (c == ' ') return kSpace;
  if (c >= 9 && c <= 13) return kSpace | kControl;
  if (c < 32 || c == 127) return kControl;
  switch (c) {
    case '$':
    case '+':
    case '<':
    case '=':
    case '>':
    case '^':
    case '`':
    case '|':
    case '~':
      return kSymbol;
    default:
      return kPunctuation;
  }
}

constexpr std::array<std::uint16_t, 128> make_ascii_classes() {
  std::array<std::uint16_t, 128> table{};
  for (std::size_t c = 0; c < table.size(); ++c)
    table[c] = classify_ascii(static_cast<unsigned char>(c));
  return table;
}

constexpr std::array<std::uint16_t, 128> kAsciiClasses = make_ascii_classes();

bool is_white_space(char32_t c) {
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

}  // namespace

std::uint16_t classify(char32_t code) {
  if (code < kAsciiClasses.size()) return kAsciiClasses[code];
  // The only letters that Unicode 15.1 added to the 15.0 of Debian's utf8proc.
  if (code >= 0x2EBF0 && code <= 0x2EE5D) return kLetter;
  const std::uint16_t space = is_white_space(code) ? kSpace : 0;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return kLetter;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return kMark;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return kNumber;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return kPunctuation;
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO:
      return kSymbol;
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
      return static_cast<std::uint16_t>(kControl | space);
    default:
      return space;
  }
}

char32_t to_lower(char32_t code) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}

char32_t base_of(char32_t code) {
  std::array<utf8proc_int32_t, 32> parts;
  const utf8proc_ssize_t n = utf8proc_decompose_char(
      static_cast<utf8proc_int32_t>(code), parts.data(), parts.size(), UTF8PROC_DECOMPOSE, nullptr);
  return n > 0 ? static_cast<char32_t>(parts[0]) : code;
}

bool ends_cluster(char32_t left, char32_t right, std::int32_t& state) {
  return utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(left),
                                          static_cast<utf8proc_int32_t>(right), &state) != 0;
}

int column_width(char32_t code) { return utf8proc_charwidth(static_cast<utf8proc_int32_t>(code)); }

}  // namespace minfer::text

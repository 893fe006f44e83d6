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

struct LeadByte {
  std::uint8_t length;      // of the whole character; 0: can't lead
  std::uint8_t second_min;  // allowed range of the second byte
  std::uint8_t second_max;
};

LeadByte lead_byte(unsigned char b) {
  if (b >= 0xC2 && b <= 0xDF) return {2, 0x80, 0xBF};
  if (b == 0xE0) return {3, 0xA0, 0xBF};
  if (b == 0xED) return {3, 0x80, 0x9F};
  if (b >= 0xE1 && b <= 0xEF) return {3, 0x80, 0xBF};
  if (b == 0xF0) return {4, 0x90, 0xBF};
  if (b >= 0xF1 && b <= 0xF3) return {4, 0x80, 0xBF};
  if (b == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

struct Prefix {
  std::size_t length;  // bytes that are a well-formed start of a character
  std::size_t wanted;  // bytes of that character; 0: the first byte can't lead
};

// The longest well-formed start of a non-ASCII character at `pos`.
Prefix longest_prefix(std::string_view text, std::size_t pos) {
  const LeadByte lead = lead_byte(static_cast<unsigned char>(text[pos]));
  if (lead.length == 0) return {0, 0};
  std::size_t n = 1;
  while (n < lead.length && pos + n < text.size()) {
    const auto b = static_cast<unsigned char>(text[pos + n]);
    const unsigned char low = n == 1 ? lead.second_min : 0x80;
    const unsigned char high = n == 1 ? lead.second_max : 0xBF;
    if (b < low || b > high) break;
    ++n;
  }
  return {n, lead.length};
}

}  // namespace

Char decode_char(std::string_view text, std::size_t pos) {
  const auto first = static_cast<unsigned char>(text[pos]);
  if (first < 0x80) return {first, 1, true};
  const Prefix prefix = longest_prefix(text, pos);
  if (prefix.wanted == 0 || prefix.length < prefix.wanted) return {kReplacement, 1, false};
  char32_t code = first & (0x7Fu >> prefix.wanted);
  for (std::size_t i = 1; i < prefix.wanted; ++i)
    code = (code << 6) | (static_cast<unsigned char>(text[pos + i]) & 0x3Fu);
  return {code, static_cast<std::uint8_t>(prefix.wanted), true};
}

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

void append_utf8(std::string& out, char32_t code) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
    return;
  }
  if (code < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (code >> 6)));
  } else {
    if (code < 0x10000) {
      out.push_back(static_cast<char>(0xE0 | (code >> 12)));
    } else {
      out.push_back(static_cast<char>(0xF0 | (code >> 18)));
      out.push_back(static_cast<char>(0x80 | ((code >> 12) & 0x3F)));
    }
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
  }
  out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
}

bool is_valid_utf8(std::string_view text) {
  for (std::size_t pos = 0; pos < text.size();) {
    if (static_cast<unsigned char>(text[pos]) < 0x80) {
      ++pos;
      continue;
    }
    const Prefix prefix = longest_prefix(text, pos);
    if (prefix.wanted == 0 || prefix.length < prefix.wanted) return false;
    pos += prefix.wanted;
  }
  return true;
}

std::size_t incomplete_tail(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const std::size_t pos = text.size() - back;
    const auto b = static_cast<unsigned char>(text[pos]);
    if ((b & 0xC0) == 0x80) continue;  // a continuation byte: its lead is further back
    if (b < 0x80) return 0;
    const Prefix prefix = longest_prefix(text, pos);
    return prefix.wanted > back && prefix.length == back ? back : 0;
  }
  return 0;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t pos = 0; pos < text.size();) {
    if (static_cast<unsigned char>(text[pos]) < 0x80) {
      out.push_back(text[pos++]);
      continue;
    }
    const Prefix prefix = longest_prefix(text, pos);
    if (prefix.wanted != 0 && prefix.length == prefix.wanted) {
      out.append(text.substr(pos, prefix.length));
      pos += prefix.length;
    } else {
      append_utf8(out, kReplacement);
      pos += prefix.length == 0 ? 1 : prefix.length;
    }
  }
  return out;
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

}  // namespace minfer::text

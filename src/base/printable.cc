#include "base/printable.h"

#include "base/utf8.h"

namespace minfer {
namespace {

void append_hex(std::string& out, unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\x";
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

}  // namespace

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (out.size() >= max_bytes) return out + "...";
    const char c = text[at];
    const Char character = decode_char(text, at);
    const std::size_t length = character.length;
    const bool c1_control =
        length == 2 && c == '\xc2' && static_cast<unsigned char>(text[at + 1]) < 0xa0;
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (!character.well_formed || c1_control || static_cast<unsigned char>(c) < 0x20 ||
               c == 0x7f) {
      append_hex(out, static_cast<unsigned char>(c));
    } else {
      out += text.substr(at, length);
      at += length;
      continue;
    }
    if (c1_control) append_hex(out, static_cast<unsigned char>(text[at + 1]));
    at += c1_control ? 2 : 1;
  }
  return out;
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

}  // namespace minfer

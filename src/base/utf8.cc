#include "base/utf8.h"

namespace minfer {
namespace {

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

void Utf8Gate::feed(std::string_view bytes, std::string& out) {
  waiting_ += bytes;
  const std::size_t whole = waiting_.size() - incomplete_tail(waiting_);
  out += replace_invalid_utf8(std::string_view(waiting_).substr(0, whole));
  waiting_.erase(0, whole);
}

void Utf8Gate::flush(std::string& out) {
  out += replace_invalid_utf8(waiting_);
  waiting_.clear();
}

}  // namespace minfer

#include "text/byte_level.h"

#include <array>
#include <cstdint>

#include "text/unicode.h"

namespace minfer::text {
namespace {

constexpr std::size_t kImages = 256 + 68;

struct Tables {
  std::array<std::array<char, 2>, 256> utf8{};
  std::array<std::uint8_t, 256> length{};
  std::array<std::int16_t, kImages> byte_of{};  // by code point; -1: no image
};

constexpr bool prints_as_itself(unsigned b) {
  return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
}

constexpr Tables make_tables() {
  Tables t;
  for (auto& byte : t.byte_of) byte = -1;
  unsigned next = 256;
  for (unsigned b = 0; b < 256; ++b) {
    const unsigned code = prints_as_itself(b) ? b : next++;
    t.byte_of[code] = static_cast<std::int16_t>(b);
    if (code < 0x80) {
      t.utf8[b] = {static_cast<char>(code), 0};
      t.length[b] = 1;
    } else {
      t.utf8[b] = {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
      t.length[b] = 2;
    }
  }
  return t;
}

constexpr Tables kTables = make_tables();

}  // namespace

std::string_view byte_to_piece(unsigned char byte) {
  return {kTables.utf8[byte].data(), kTables.length[byte]};
}

void append_byte_level(std::string& out, std::string_view bytes) {
  for (const char c : bytes) out.append(byte_to_piece(static_cast<unsigned char>(c)));
}

void append_bytes_of_piece(std::string& out, std::string_view piece) {
  for (std::size_t pos = 0; pos < piece.size();) {
    const Char c = decode_char(piece, pos);
    if (c.well_formed && c.code < kImages && kTables.byte_of[c.code] >= 0) {
      out.push_back(static_cast<char>(kTables.byte_of[c.code]));
    } else {
      out.append(piece.substr(pos, c.length));
    }
    pos += c.length;
  }
}

}  // namespace minfer::text

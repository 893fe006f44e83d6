#include "engine/utf8_gate.h"

#include <cstdint>

namespace minfer::engine {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

enum class Check : std::uint8_t { kWhole, kIncomplete, kInvalid };

struct Range {
  unsigned char low, high;
};

/// The bytes that may follow `lead` at once (Unicode, table 3-7): narrower than 80..BF where an
/// overlong form, a surrogate or a value past U+10FFFF would begin.
Range second_byte_range(unsigned char lead) {
  switch (lead) {
    case 0xE0:
      return {0xA0, 0xBF};
    case 0xED:
      return {0x80, 0x9F};
    case 0xF0:
      return {0x90, 0xBF};
    case 0xF4:
      return {0x80, 0x8F};
    default:
      return {0x80, 0xBF};
  }
}

std::size_t character_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

Check check(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  const std::size_t length = character_length(lead);
  if (length == 0) return Check::kInvalid;
  for (std::size_t i = 1; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    const Range range = i == 1 ? second_byte_range(lead) : Range{0x80, 0xBF};
    if (byte < range.low || byte > range.high) return Check::kInvalid;
  }
  return bytes.size() == length ? Check::kWhole : Check::kIncomplete;
}

}  // namespace

void Utf8Gate::feed(std::string_view bytes, std::string& out) {
  for (char byte : bytes) {
    tail_ += byte;
    switch (check(tail_)) {
      case Check::kIncomplete:
        break;
      case Check::kWhole:
        out += tail_;
        tail_.clear();
        break;
      case Check::kInvalid: {
        // The bytes before this one were a valid beginning that can no longer be completed; this
        // one may begin a character itself.
        out += kReplacement;
        const bool retry = tail_.size() > 1;
        tail_.clear();
        if (retry) feed(std::string_view(&byte, 1), out);
        break;
      }
    }
  }
}

void Utf8Gate::flush(std::string& out) {
  if (!tail_.empty()) out += kReplacement;
  tail_.clear();
}

}  // namespace minfer::engine

#include "quant/tq1_0.h"

#include "base/half.h"
#include "quant/blocks.h"

namespace minfer::quant {

namespace {

/// Where element i is: a byte and a digit of it.
struct Place {
  int byte;  // 48..51: of qh
  int digit;
};
Place place_of(int i) {
  if (i < 160) return {i % 32, i / 32};
  if (i < 240) return {32 + i % 16, (i - 160) / 16};
  return {48 + i % 4, (i - 240) / 4};
}
constexpr int kPowers[] = {1, 3, 9, 27, 81};

}  // namespace

Codes codes_of(const BlockTQ1_0& block, int sub) {
  Codes codes{.code = {}, .scale = {1, 1}};
  for (int k = 0; k < 32; ++k) {
    const Place place = place_of(32 * sub + k);
    const int byte = place.byte < 48 ? block.qs[place.byte] : block.qh[place.byte - 48];
    const int digit = ((byte * kPowers[place.digit] & 0xff) * 3) >> 8;
    codes.code[k] = static_cast<std::int8_t>(digit - 1);
  }
  return codes;
}
float unit_of(const BlockTQ1_0& block) { return f16_to_f32(block.d); }

namespace {

/// The least fraction of 256 that has the five digits of `digits`.
std::uint8_t fraction_of(int digits) {
  return static_cast<std::uint8_t>((digits * 256 + 242) / 243);
}

BlockTQ1_0 encode_block(const float* x) {
  const float d = std::fabs(signed_peak({x, 256}));
  const float inverse = reciprocal(d);
  int digits[52] = {};
  for (int i = 0; i < 256; ++i) {
    const Place place = place_of(i);
    digits[place.byte] += (nearest_code(x[i] * inverse, -1, 1) + 1) * kPowers[4 - place.digit];
  }
  BlockTQ1_0 block{};
  block.d = f32_to_f16(d);
  for (int i = 0; i < 48; ++i) block.qs[i] = fraction_of(digits[i]);
  for (int i = 0; i < 4; ++i) block.qh[i] = fraction_of(digits[48 + i]);
  return block;
}

}  // namespace

void decode_tq1_0(const std::byte* src, float* dst, std::int64_t n) {
  decode_blocks<256>(src, dst, n, decode_codes<8, BlockTQ1_0>);
}
void encode_tq1_0(const float* src, std::byte* dst, std::int64_t n) {
  encode_blocks<256>(src, dst, n, encode_block);
}

}  // namespace minfer::quant

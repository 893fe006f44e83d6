#include "quant/k_scales.h"

#include <algorithm>

#include "base/half.h"
#include "quant/blocks.h"

namespace minfer::quant {

KScales unpack_k_scales(const std::uint8_t (&packed)[12]) {
  KScales out;
  for (int g = 0; g < 4; ++g) {
    out.scale[g] = packed[g] & 0x3f;
    out.min[g] = packed[g + 4] & 0x3f;
    out.scale[g + 4] = static_cast<std::uint8_t>((packed[g + 8] & 0x0f) | ((packed[g] >> 6) << 4));
    out.min[g + 4] = static_cast<std::uint8_t>((packed[g + 8] >> 4) | ((packed[g + 4] >> 6) << 4));
  }
  return out;
}

void pack_k_scales(const KScales& scales, std::uint8_t (&packed)[12]) {
  for (int g = 0; g < 4; ++g) {
    packed[g] = static_cast<std::uint8_t>(scales.scale[g] | ((scales.scale[g + 4] >> 4) << 6));
    packed[g + 4] = static_cast<std::uint8_t>(scales.min[g] | ((scales.min[g + 4] >> 4) << 6));
    packed[g + 8] = pack_nibbles(scales.scale[g + 4] & 0x0f, scales.min[g + 4] & 0x0f);
  }
}

// Each group's range is stretched to hold 0, because minimums are stored as non-negative numbers
// that are subtracted; codes are then chosen for the scales as they were rounded.
KFit fit_k_block(const float* x, int highest) {
  float scale[8];
  float low[8];
  for (int g = 0; g < 8; ++g) {
    const Range range = range_of({x + 32 * g, 32});
    low[g] = std::max(0.0f, -range.min);
    scale[g] = (std::max(0.0f, range.max) + low[g]) / static_cast<float>(highest);
  }
  KFit fit{};
  fit.d = f32_to_f16(*std::max_element(scale, scale + 8) / 63.0f);
  fit.dmin = f32_to_f16(*std::max_element(low, low + 8) / 63.0f);
  const float d = f16_to_f32(fit.d);
  const float dmin = f16_to_f32(fit.dmin);
  for (int g = 0; g < 8; ++g) {
    fit.scales.scale[g] = static_cast<std::uint8_t>(nearest_code(scale[g] * reciprocal(d), 0, 63));
    fit.scales.min[g] = static_cast<std::uint8_t>(nearest_code(low[g] * reciprocal(dmin), 0, 63));
    const float inverse = reciprocal(d * static_cast<float>(fit.scales.scale[g]));
    const float offset = dmin * static_cast<float>(fit.scales.min[g]);
    for (int j = 32 * g; j < 32 * g + 32; ++j) {
      fit.code[j] = static_cast<std::uint8_t>(nearest_code((x[j] + offset) * inverse, 0, highest));
    }
  }
  return fit;
}

}  // namespace minfer::quant

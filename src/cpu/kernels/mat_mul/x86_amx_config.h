// x86_amx_config.h: the tile configuration of palette 1 (Intel SDM volume 1, chapter 18).
//
// Thread-safety: types.
#pragma once

#include <cstdint>

namespace minfer::cpu {

/// What LDTILECFG reads.
struct alignas(64) AmxConfig {
  std::uint8_t palette;
  std::uint8_t start_row;
  std::uint8_t reserved[14];
  std::uint16_t row_bytes[16];  // of tiles 0-7
  std::uint8_t rows[16];
};
static_assert(sizeof(AmxConfig) == 64);

}  // namespace minfer::cpu

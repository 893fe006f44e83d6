// amx_emulation.h: the tile instructions of AMX int8 in plain C++, as Intel's SDM (volume 2,
// LDTILECFG, TILELOADD, TDPBSSD, TILESTORED) has them, with the faults that the processor raises.
//
// Invariants: what a real processor would refuse throws AmxFault.
// Thread-safety: each thread has tiles of its own.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "cpu/kernels/mat_mul/x86_amx_config.h"

namespace minfer::cpu {

struct AmxFault : std::logic_error {
  using std::logic_error::logic_error;
};

class EmulatedAmx {
 public:
  static void configure(const AmxConfig& config) {
    refuse(config.palette != 1, "palette");
    for (const std::uint8_t byte : config.reserved) refuse(byte != 0, "reserved byte");
    for (int t = 0; t < 16; ++t) {
      const int rows = config.rows[t];
      const int bytes = config.row_bytes[t];
      refuse(t >= kTiles && (rows != 0 || bytes != 0), "tile past the last");
      refuse(rows > kRows || bytes > kRowBytes, "too large a tile");
      refuse((rows == 0) != (bytes == 0), "half a tile");
    }
    state() = {};
    for (int t = 0; t < kTiles; ++t) {
      state().tile[t].rows = config.rows[t];
      state().tile[t].row_bytes = config.row_bytes[t];
    }
    state().configured = true;
  }
  static void release() { state() = {}; }
  /// True between configure() and release().
  static bool configured() { return state().configured; }

  template <int kTile>
  static void load(const void* from, std::int64_t stride) {
    Tile& tile = used(kTile);
    std::memset(tile.bytes, 0, sizeof tile.bytes);
    for (int m = 0; m < tile.rows; ++m) {
      std::memcpy(tile.bytes[m], static_cast<const char*>(from) + m * stride,
                  static_cast<std::size_t>(tile.row_bytes));
    }
  }
  template <int kTile>
  static void store(void* to, std::int64_t stride) {
    const Tile& tile = used(kTile);
    for (int m = 0; m < tile.rows; ++m) {
      std::memcpy(static_cast<char*>(to) + m * stride, tile.bytes[m],
                  static_cast<std::size_t>(tile.row_bytes));
    }
  }
  template <int kTile>
  static void zero() {
    std::memset(used(kTile).bytes, 0, sizeof(Tile::bytes));
  }
  template <int kSum, int kA, int kB>
  static void dot() {
    static_assert(kSum != kA && kSum != kB && kA != kB, "#UD: three tiles");
    Tile& sum = used(kSum);
    const Tile& a = used(kA);
    const Tile& b = used(kB);
    refuse(sum.row_bytes % 4 != 0 || a.row_bytes % 4 != 0 || b.row_bytes % 4 != 0, "no dwords");
    refuse(sum.rows != a.rows || a.row_bytes / 4 != b.rows || b.row_bytes != sum.row_bytes,
           "shapes do not fit");
    for (int m = 0; m < sum.rows; ++m) {
      for (int k = 0; k < a.row_bytes / 4; ++k) {
        for (int n = 0; n < sum.row_bytes / 4; ++n) add_products(a, m, b, k, n, sum);
      }
    }
  }

 private:
  static constexpr int kTiles = 8;
  static constexpr int kRows = 16;
  static constexpr int kRowBytes = 64;
  struct Tile {
    int rows;
    int row_bytes;
    std::uint8_t bytes[kRows][kRowBytes];
  };
  struct State {
    bool configured;
    Tile tile[kTiles];
  };

  static State& state() {
    thread_local State tiles{};
    return tiles;
  }
  static void refuse(bool fault, const char* why) {
    if (fault) throw AmxFault(why);
  }
  static Tile& used(int tile) {
    refuse(!state().configured, "tiles are not configured");
    refuse(tile < 0 || tile >= kTiles || state().tile[tile].rows == 0, "tile is not configured");
    return state().tile[tile];
  }
  static void add_products(const Tile& a, int m, const Tile& b, int k, int n, Tile& sum) {
    std::uint32_t total = 0;  // wraps, as the processor's does
    std::memcpy(&total, sum.bytes[m] + 4 * n, 4);
    for (int i = 0; i < 4; ++i) {
      const auto x = static_cast<std::int8_t>(a.bytes[m][4 * k + i]);
      const auto y = static_cast<std::int8_t>(b.bytes[k][4 * n + i]);
      total += static_cast<std::uint32_t>(x * y);
    }
    std::memcpy(sum.bytes[m] + 4 * n, &total, 4);
  }
};

}  // namespace minfer::cpu

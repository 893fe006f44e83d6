// The emulation of tile instructions against a plain sum of products, and its faults.

#include "tests/cpu/amx_emulation.h"

#include <gtest/gtest.h>

#include <random>

namespace minfer::cpu {
namespace {

AmxConfig config(std::uint8_t rows, std::uint16_t k_bytes, std::uint16_t columns) {
  AmxConfig c{};
  c.palette = 1;
  c.rows[0] = rows;
  c.row_bytes[0] = static_cast<std::uint16_t>(4 * columns);
  c.rows[1] = rows;
  c.row_bytes[1] = k_bytes;
  c.rows[2] = static_cast<std::uint8_t>(k_bytes / 4);
  c.row_bytes[2] = static_cast<std::uint16_t>(4 * columns);
  return c;
}

TEST(AmxEmulation, SumsOfProducts) {
  std::mt19937 random(1);
  std::int8_t a[16][16];
  std::int8_t b[16][16];  // [k][n]
  std::int8_t packed[4][16][4];
  for (auto& row : a) {
    for (std::int8_t& x : row) x = static_cast<std::int8_t>(random());
  }
  for (int k = 0; k < 16; ++k) {
    for (int n = 0; n < 16; ++n)
      packed[k / 4][n][k % 4] = b[k][n] = static_cast<std::int8_t>(random());
  }
  std::int32_t sums[16][16];
  EmulatedAmx::configure(config(16, 16, 16));
  EmulatedAmx::zero<0>();
  EmulatedAmx::load<1>(a, 16);
  EmulatedAmx::load<2>(packed, 64);
  EmulatedAmx::dot<0, 1, 2>();
  EmulatedAmx::dot<0, 1, 2>();
  EmulatedAmx::store<0>(sums, 64);
  EmulatedAmx::release();
  for (int m = 0; m < 16; ++m) {
    for (int n = 0; n < 16; ++n) {
      int want = 0;
      for (int k = 0; k < 16; ++k) want += a[m][k] * b[k][n];
      ASSERT_EQ(sums[m][n], 2 * want) << m << ' ' << n;
    }
  }
}

TEST(AmxEmulation, FaultsOfTheProcessor) {
  EXPECT_THROW(EmulatedAmx::zero<0>(), AmxFault) << "not configured";
  AmxConfig wrong = config(16, 16, 16);
  wrong.palette = 2;
  EXPECT_THROW(EmulatedAmx::configure(wrong), AmxFault);
  wrong = config(17, 16, 16);
  EXPECT_THROW(EmulatedAmx::configure(wrong), AmxFault);
  wrong = config(16, 16, 16);
  wrong.rows[8] = 1;
  wrong.row_bytes[8] = 4;
  EXPECT_THROW(EmulatedAmx::configure(wrong), AmxFault);
  wrong = config(16, 16, 16);
  wrong.reserved[3] = 1;
  EXPECT_THROW(EmulatedAmx::configure(wrong), AmxFault);

  AmxConfig shapes = config(16, 16, 16);
  shapes.rows[2] = 5;
  EmulatedAmx::configure(shapes);
  EXPECT_THROW((EmulatedAmx::dot<0, 1, 2>()), AmxFault) << "k differs";
  EXPECT_THROW(EmulatedAmx::zero<3>(), AmxFault) << "a tile without a shape";
  EmulatedAmx::release();
  EXPECT_THROW(EmulatedAmx::zero<0>(), AmxFault) << "released";
}

}  // namespace
}  // namespace minfer::cpu

// The codecs against vectors of an independent decoder, and encode then decode within half a step.
#include "quant/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace minfer::quant {
namespace {

// All byte strings as hexadecimal digits.
struct Vector {
  DType dtype;
  std::string_view bytes;
  std::string_view decoded;  // f32, little-endian
  std::string_view encoded;  // of kInput; empty where there is no independent encoder
};

#include "tests/quant/vectors.inc"

std::vector<std::byte> unhex(std::string_view digits) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(
        static_cast<std::byte>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

std::vector<float> floats(std::string_view digits) {
  const std::vector<std::byte> bytes = unhex(digits);
  std::vector<float> x(bytes.size() / sizeof(float));
  std::memcpy(x.data(), bytes.data(), bytes.size());
  return x;
}

std::vector<float> input() { return floats(kInput); }

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

TEST(Codec, every_row_of_the_table_has_a_vector) {
  ASSERT_EQ(all_codecs().size(), std::size(kVectors));
  for (const Vector& vector : kVectors) {
    const Codec* found = codec(vector.dtype);
    ASSERT_NE(found, nullptr) << dtype_name(vector.dtype);
    EXPECT_EQ(found->dtype, vector.dtype);
  }
  EXPECT_EQ(codec(DType::kIQ2_XXS), nullptr);
  EXPECT_EQ(codec(DType::kQ8A), nullptr);
}

TEST(Codec, decodes_to_the_bits_of_the_independent_decoder) {
  for (const Vector& vector : kVectors) {
    SCOPED_TRACE(std::string(dtype_name(vector.dtype)));
    const std::vector<std::byte> bytes = unhex(vector.bytes);
    const std::vector<float> expected = floats(vector.decoded);
    const auto n = static_cast<std::int64_t>(expected.size());
    ASSERT_EQ(bytes.size(), row_size_bytes(vector.dtype, expected.size()));
    std::vector<float> x(expected.size());
    codec(vector.dtype)->decode_row(bytes.data(), x.data(), n);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(bits(x[i]), bits(expected[i])) << "element " << i;
    }
    // From an odd address too: rows in a file have no alignment to count on.
    std::vector<std::byte> shifted(bytes.size() + 1);
    std::copy(bytes.begin(), bytes.end(), shifted.begin() + 1);
    std::vector<float> again(x.size());
    codec(vector.dtype)->decode_row(shifted.data() + 1, again.data(), n);
    EXPECT_EQ(x, again);
  }
}

TEST(Codec, encodes_to_the_bytes_of_the_independent_encoder) {
  const std::vector<float> x = input();
  int compared = 0;
  for (const Vector& vector : kVectors) {
    if (vector.encoded.empty()) continue;
    SCOPED_TRACE(std::string(dtype_name(vector.dtype)));
    const std::vector<std::byte> expected = unhex(vector.encoded);
    std::vector<std::byte> encoded(expected.size());
    codec(vector.dtype)->encode_row(x.data(), encoded.data(), static_cast<std::int64_t>(x.size()));
    EXPECT_EQ(encoded, expected);
    ++compared;
  }
  EXPECT_EQ(compared, 8);
}

// Largest |decode(encode(x)) - x| that the number of bits allows, as a share of the largest |x|.
double allowed_error(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return 0;
    case DType::kF16:
      return 0x1p-11;
    case DType::kBF16:
      return 0x1p-8;
    case DType::kQ8_0:
      return 1.0 / 250;
    case DType::kQ6_K:
      return 1.0 / 31;  // the positive peak loses a whole step
    case DType::kQ5_0:
      return 1.0 / 15;
    case DType::kQ5_1:
    case DType::kQ5_K:
      return 1.0 / 28;
    case DType::kQ4_0:
      return 1.0 / 7;
    case DType::kQ4_1:
    case DType::kQ4_K:
      return 1.0 / 13;
    default:
      return -1;
  }
}

TEST(Codec, encode_then_decode_stays_within_a_step) {
  // Several magnitudes, one-sided rows, zeros, and a lone spike.
  std::vector<std::vector<float>> rows;
  for (const float scale : {1.0f, 1e-3f, 300.0f}) {
    std::vector<float> x = input();
    for (float& value : x) value *= scale;
    rows.push_back(x);
    for (float& value : x) value = std::fabs(value);
    rows.push_back(x);
    for (float& value : x) value = -value;
    rows.push_back(x);
  }
  rows.emplace_back(256, 0.0f);
  rows.emplace_back(256, 0.0f)[100] = 5.0f;
  for (const Codec& row : all_codecs()) {
    SCOPED_TRACE(std::string(dtype_name(row.dtype)));
    for (const std::vector<float>& x : rows) {
      std::vector<std::byte> bytes(row_size_bytes(row.dtype, x.size()), std::byte{0xaa});
      std::vector<float> y(x.size(), -1e30f);
      row.encode_row(x.data(), bytes.data(), 256);
      row.decode_row(bytes.data(), y.data(), 256);
      double peak = 0;
      for (const float value : x) peak = std::max(peak, std::fabs(static_cast<double>(value)));
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_LE(std::fabs(static_cast<double>(y[i]) - static_cast<double>(x[i])),
                  peak * allowed_error(row.dtype))
            << "element " << i << " of peak " << peak;
      }
    }
  }
}

TEST(Codec, extreme_and_non_finite_inputs_do_not_trap) {
  std::vector<float> x(256);
  const float extremes[] = {1e38f, -1e38f, 1e-45f, std::nanf(""), INFINITY, -INFINITY, 0.0f, -0.0f};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = extremes[i % 8];
  for (const Codec& row : all_codecs()) {
    std::vector<std::byte> bytes(row_size_bytes(row.dtype, x.size()));
    row.encode_row(x.data(), bytes.data(), 256);
    row.decode_row(bytes.data(), std::vector<float>(256).data(), 256);
  }
}

}  // namespace
}  // namespace minfer::quant

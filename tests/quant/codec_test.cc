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

// The first 2000 blocks of pseudo-random bytes, bytes `masked_at` of each without bit 6 (-1: none).
struct Digest {
  DType dtype;
  int masked_at[2];
  std::uint32_t crc;  // CRC-32 of the decoded floats
};

#include "tests/quant/vectors.inc"
#include "tests/quant/vectors_small.inc"

std::vector<Vector> vectors() {
  std::vector<Vector> all(std::begin(kVectors), std::end(kVectors));
  all.insert(all.end(), std::begin(kSmallVectors), std::end(kSmallVectors));
  return all;
}

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
  ASSERT_EQ(all_codecs().size(), vectors().size());
  for (const Vector& vector : vectors()) {
    const Codec* found = codec(vector.dtype);
    ASSERT_NE(found, nullptr) << dtype_name(vector.dtype);
    EXPECT_EQ(found->dtype, vector.dtype);
  }
  EXPECT_EQ(codec(DType::kNVFP4), nullptr);
  EXPECT_EQ(codec(DType::kQ8A), nullptr);
}

TEST(Codec, decodes_to_the_bits_of_the_independent_decoder) {
  for (const Vector& vector : vectors()) {
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

std::uint32_t crc32_of(const std::vector<float>& x) {
  std::uint32_t crc = ~0u;
  const auto* bytes = reinterpret_cast<const unsigned char*>(x.data());
  for (std::size_t i = 0; i < x.size() * sizeof(float); ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

TEST(Codec, decodes_many_blocks_as_the_independent_decoder) {
  for (const Digest& digest : kDigests) {
    const DTypeInfo& info = dtype_info(digest.dtype);
    std::vector<std::byte> bytes(std::size_t{2000} * info.block_bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(static_cast<std::uint32_t>(i) * 2654435761u >> 13);
      for (const int at : digest.masked_at) {
        if (static_cast<int>(i % info.block_bytes) == at) bytes[i] &= std::byte{0xbf};
      }
    }
    std::vector<float> x(std::size_t{2000} * info.block_elements);
    codec(digest.dtype)->decode_row(bytes.data(), x.data(), static_cast<std::int64_t>(x.size()));
    EXPECT_EQ(crc32_of(x), digest.crc) << dtype_name(digest.dtype);
  }
}

TEST(Codec, encodes_to_the_bytes_of_the_independent_encoder) {
  const std::vector<float> x = input();
  int compared = 0;
  for (const Vector& vector : vectors()) {
    if (vector.encoded.empty()) continue;
    SCOPED_TRACE(std::string(dtype_name(vector.dtype)));
    const std::vector<std::byte> expected = unhex(vector.encoded);
    std::vector<std::byte> encoded(expected.size());
    codec(vector.dtype)->encode_row(x.data(), encoded.data(), static_cast<std::int64_t>(x.size()));
    EXPECT_EQ(encoded, expected);
    ++compared;
  }
  EXPECT_EQ(compared, 11);
}

// Largest |decode(encode(x)) - x| as a share of the largest |x|: what the number of bits allows,
// and the gaps between the entries of a codebook.
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
    case DType::kIQ4_NL:
    case DType::kIQ4_XS:
      return 1.0 / 8;
    case DType::kQ3_K:
    case DType::kMXFP4:
      return 1.0 / 4;
    case DType::kQ2_K:
    case DType::kIQ3_S:
      return 1.0 / 3;
    case DType::kTQ1_0:
    case DType::kTQ2_0:
    case DType::kIQ3_XXS:
      return 0.501;
    case DType::kIQ2_S:
    case DType::kIQ2_XS:
    case DType::kIQ2_XXS:
      return 0.65;
    case DType::kIQ1_S:
    case DType::kIQ1_M:
      return 1.25;  // worse than zero for some: 1.6 bits an element
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

// Files that break the format: each is refused with one line that names file, place and fault.
// The names G-02 .. G-08 are those of the case list.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gguf/file.h"
#include "tests/gguf/raw_file.h"

namespace minfer::gguf {
namespace {

constexpr std::uint32_t kF32 = 0;
constexpr std::uint32_t kQ8_0 = 8;
constexpr std::uint32_t kQ4_K = 12;
constexpr std::uint64_t kTwo62 = 1ULL << 62;
constexpr std::uint64_t kTwo63 = 1ULL << 63;
constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

// Opens a copy of exact size, so that AddressSanitizer sees a read past the end.
Result<File> open_exact(const RawFile& raw) {
  const auto from = raw.bytes();
  const std::vector<std::byte> bytes(from.begin(), from.end());
  Result<File> file = File::from_bytes(bytes, "bad.gguf");
  EXPECT_FALSE(file.ok());  // a File would outlive `bytes`
  if (file.ok()) return corrupt("accepted");
  return file;
}

void expect_refused(const RawFile& raw, const std::vector<std::string>& parts) {
  const Result<File> file = open_exact(raw);
  const std::string& message = file.status().message();
  EXPECT_TRUE(message.starts_with("[gguf] bad.gguf: ")) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_LT(message.size(), 400u);
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "no \"" << part << "\" in: " << message;
  }
}

RawFile file_with_tensor(const std::vector<std::uint64_t>& dims, std::uint32_t type,
                         std::uint64_t offset = 0, std::size_t data_size = 4096) {
  RawFile raw;
  raw.header(1, 0).tensor("blk.0.w", dims, type, offset).data(data_size);
  return raw;
}

TEST(Malformed, magic_and_version) {
  expect_refused(RawFile(), {"only 0 bytes"});
  expect_refused(RawFile().text("GG"), {"only 2 bytes"});
  expect_refused(RawFile().text("GGUF"), {"ends at byte 4", "version"});
  expect_refused(RawFile().text("GGML").data(64), {"GGML", "no GGUF file"});
  expect_refused(RawFile().text("\n\x1b[2").data(64), {"\\n\\x1b[2"});
  expect_refused(RawFile().text("FUGG").data(64), {"big-endian"});
  expect_refused(RawFile().text("GGUF").put<std::uint32_t>(0x03000000).data(64), {"big-endian"});
  for (const std::uint32_t version : {0u, 1u, 4u, 99u, 0xffffffffu}) {
    expect_refused(RawFile().header(0, 0, version), {"version " + std::to_string(version)});
  }
}

TEST(Malformed, G02_counts_taken_on_trust) {
  expect_refused(RawFile().header(kTwo63, 0).data(4096), {"9,223,372,036,854,775,808 tensors"});
  expect_refused(RawFile().header(0, kMax).data(4096), {"18,446,744,073,709,551,615", "keys"});
  expect_refused(RawFile().header(1u << 19, 0).data(32u << 20), {"524,288 tensors"});
  expect_refused(RawFile().header(0, 1).put(1ULL << 48).data(64), {"key 1 of 1", "281,474,976"});
  for (const std::uint64_t length : {kTwo63, kMax, std::uint64_t{65}}) {
    expect_refused(RawFile()
                       .header(0, 1)
                       .key("chat", ValueType::kString)
                       .put(length)
                       .text(std::string(64, 'x')),
                   {"key \"chat\"", "64 are left"});
    expect_refused(RawFile()
                       .header(0, 1)
                       .array("tokens", ValueType::kString, 2)
                       .string("a")
                       .put(length)
                       .text(std::string(64, 'x')),
                   {"element 1 of key \"tokens\"", "64 are left"});
  }
  for (const ValueType type : {ValueType::kU8, ValueType::kF64, ValueType::kString}) {
    expect_refused(RawFile().header(0, 1).array("scores", type, kTwo63).data(64),
                   {"key \"scores\"", "9,223,372,036,854,775,808 elements"});
    expect_refused(RawFile().header(0, 1).array("scores", type, kMax / 8 + 2).data(64),
                   {"key \"scores\"", "elements"});
  }
  RawFile nested;
  nested.header(0, 1).key("x", ValueType::kArray);
  for (int depth = 0; depth < 100000; ++depth) {
    nested.put(static_cast<std::uint32_t>(ValueType::kArray)).put<std::uint64_t>(1);
  }
  expect_refused(nested, {"key \"x\"", "array of arrays"});
  expect_refused(RawFile().header(1, 0).put(kTwo63).data(64), {"name of tensor 1 of 1"});
}

TEST(Malformed, G03_zero_dimension) {
  expect_refused(file_with_tensor({1, 0}, kF32, 0, 0), {"\"blk.0.w\"", "dimension 1 is 0"});
  expect_refused(file_with_tensor({1, 0}, kF32, 0, 128), {"\"blk.0.w\"", "dimension 1 is 0"});
  expect_refused(file_with_tensor({0}, kQ4_K), {"dimension 0 is 0"});
  expect_refused(file_with_tensor({0, kMax}, kF32), {"dimension 0 is 0"});
}

TEST(Malformed, G04_alignment) {
  for (const std::uint32_t alignment : {0u, 3u, 33u, 1u << 21, 1u << 30, 1u << 31, 0xffffffffu}) {
    expect_refused(
        RawFile().header(0, 1).scalar("general.alignment", ValueType::kU32, alignment).data(64),
        {"general.alignment", std::to_string(alignment), "power of two"});
  }
  expect_refused(
      RawFile().header(0, 1).key("general.alignment", ValueType::kString).string("32").data(64),
      {"general.alignment", "type string", "u32"});
  expect_refused(RawFile()
                     .header(0, 1)
                     .scalar<std::uint64_t>("general.alignment", ValueType::kU64, 32)
                     .data(64),
                 {"general.alignment", "type u64", "u32"});
  expect_refused(RawFile().header(0, 1).array("general.alignment", ValueType::kU32, 1).data(64),
                 {"general.alignment", "type array", "u32"});
}

TEST(Malformed, G05_sizes_that_wrap) {
  expect_refused(file_with_tensor({kTwo62 + 1, 4}, kF32), {"\"blk.0.w\"", "too large"});
  expect_refused(file_with_tensor({1ULL << 32, 1ULL << 32}, kF32), {"too large"});
  expect_refused(file_with_tensor({1ULL << 31, 1ULL << 31, 4}, kF32), {"too large"});
  expect_refused(file_with_tensor({kMax - 31, 1}, kF32), {"too large"});
  expect_refused(file_with_tensor({kTwo62, 1}, kF32), {"too many bytes"});
  // Bytes that fit 63 bits, but not once they are padded or added to an offset.
  expect_refused(file_with_tensor({kTwo63 - 1}, 24), {"past the end"});
  expect_refused(file_with_tensor({32}, kF32, kMax - 31), {"past the end"});
  expect_refused(file_with_tensor({32}, kF32, kTwo63), {"past the end"});
  expect_refused(file_with_tensor({1024}, kF32, 0, 4095), {"offset 0x0", "past the end"});
  expect_refused(file_with_tensor({8}, kF32, 4096), {"offset 0x1000", "past the end"});
  expect_refused(file_with_tensor({8}, kF32, 4080), {"no multiple of the alignment"});
}

TEST(Malformed, G05_dimensions_types_and_rows) {
  expect_refused(file_with_tensor({}, kF32), {"\"blk.0.w\"", "0 dimensions"});
  expect_refused(file_with_tensor({1, 1, 1, 1, 1}, kF32), {"5 dimensions"});
  RawFile many;
  many.header(1, 0).string("w").put<std::uint32_t>(0xffffffff).data(4096);
  expect_refused(many, {"\"w\"", "4294967295 dimensions"});
  const std::vector<std::pair<std::uint32_t, std::string>> removed = {
      {4, "Q4_2"}, {5, "Q4_3"}, {31, "Q4_0_4_4"}, {36, "IQ4_NL_4_4"}};
  for (const auto& [id, name] : removed) {
    expect_refused(file_with_tensor({32}, id), {"\"blk.0.w\"", name, "removed"});
  }
  for (const std::uint32_t id : {42u, 200u, 255u, 256u, 9999u, 0xffffffffu}) {
    expect_refused(file_with_tensor({32}, id), {"\"blk.0.w\"", "unknown type"});
  }
  expect_refused(file_with_tensor({255}, kQ4_K), {"255", "256", "Q4_K"});
  expect_refused(file_with_tensor({577, 2}, kQ8_0), {"577", "32", "Q8_0"});
  // A Q8_0 tensor whose type says F32 needs more bytes than there are.
  RawFile flipped;
  flipped.header(1, 0).tensor("w", {576, 4}, kF32, 0).data(576 * 4 / 32 * 34);
  expect_refused(flipped, {"\"w\"", "9,216 bytes", "past the end"});
}

TEST(Malformed, G08_names_keys_and_value_types) {
  expect_refused(RawFile().header(0, 1).scalar<std::uint8_t>("", ValueType::kU8, 1).data(64),
                 {"key 1 of 1 is empty"});
  expect_refused(
      RawFile().header(0, 1).scalar<std::uint8_t>(std::string("a\0b", 3), ValueType::kU8, 1),
      {"\"a\\x00b\"", "NUL"});
  expect_refused(
      RawFile().header(0, 1).scalar<std::uint8_t>(std::string(70000, 'k'), ValueType::kU8, 1),
      {"70,000 bytes"});
  expect_refused(RawFile()
                     .header(0, 3)
                     .scalar<std::uint8_t>("twin", ValueType::kU8, 1)
                     .scalar<std::uint8_t>("a", ValueType::kU8, 1)
                     .scalar<std::uint8_t>("twin", ValueType::kU8, 2),
                 {"key \"twin\" is there twice"});
  for (const std::uint32_t type : {13u, 0xffffffffu}) {
    const auto id = static_cast<ValueType>(type);
    expect_refused(RawFile().header(0, 1).key("x", id).data(64),
                   {"key \"x\"", "value type " + std::to_string(type)});
    expect_refused(RawFile().header(0, 1).array("x", id, 1).data(64),
                   {"key \"x\"", "value type " + std::to_string(type)});
  }
  expect_refused(RawFile().header(0, 1).scalar<std::uint8_t>("x", ValueType::kBool, 2),
                 {"key \"x\"", "value 2"});
  expect_refused(RawFile().header(0, 1).array("x", ValueType::kBool, 2).text("\1\7"),
                 {"key \"x\"", "value 7"});
}

TEST(Malformed, G08_tensor_names) {
  const auto named = [](std::string_view first, std::string_view second) {
    RawFile raw;
    raw.header(2, 0).tensor(first, {8}, kF32, 0).tensor(second, {8}, kF32, 32).data(64);
    return raw;
  };
  expect_refused(named("twin", "twin"), {"tensor \"twin\" is there twice"});
  expect_refused(named("", "b"), {"tensor 1 of 2 is empty"});
  expect_refused(named("a", std::string_view("b\0c", 3)), {"\"b\\x00c\"", "NUL"});
  expect_refused(named("a", std::string(65, 'n')), {"65 bytes", "64"});
  expect_refused(named("a", std::string(200, 'n')), {"200 bytes", "64"});
}

TEST(Malformed, tensors_that_overlap) {
  const auto at = [](std::uint64_t second) {
    RawFile raw;
    raw.header(2, 0).tensor("a", {9}, kF32, 0).tensor("b", {8}, kF32, second).data(128);
    return raw;
  };
  expect_refused(at(0), {"\"a\"", "\"b\"", "overlaps"});
  expect_refused(at(32), {"\"a\"", "\"b\"", "overlaps"});
  EXPECT_TRUE(File::from_bytes(at(64).bytes(), "good").ok());
}

// A small file with a value of every kind and two tensors.
RawFile small_good_file() {
  RawFile raw;
  raw.header(2, 5);
  raw.key("general.architecture", ValueType::kString).string("test");
  raw.scalar<std::uint32_t>("n", ValueType::kU32, 7);
  raw.scalar<std::uint8_t>("flag", ValueType::kBool, 1);
  raw.array("tokens", ValueType::kString, 3).string("a").string("").string("ccc");
  raw.array("ids", ValueType::kI32, 3).put(1).put(-2).put(3);
  raw.tensor("a", {8, 3}, kF32, 0).tensor("b", {32}, kQ8_0, 96).data(96 + 34);
  return raw;
}

// Reads everything that an accepted file shows.
std::size_t walk(const File& file) {
  std::size_t sum = 0;
  for (const Entry& entry : file.metadata()) {
    sum += entry.key.size() + entry.value.to_string(1000).size();
    if (const auto strings = entry.value.as_strings(); strings.ok()) {
      for (const std::string_view text : strings.value()) {
        for (const char c : text) sum += static_cast<unsigned char>(c);
      }
    }
    if (const auto numbers = entry.value.as_numbers<double>(); numbers.ok()) {
      sum += numbers->size();
    }
  }
  for (const TensorInfo& tensor : file.tensors()) {
    for (const std::byte byte : tensor.data) sum += std::to_integer<std::size_t>(byte);
    EXPECT_EQ(file.find_tensor(tensor.name), &tensor);
  }
  return sum;
}

TEST(Malformed, every_cut_of_a_file_is_refused) {
  const RawFile good = small_good_file();
  ASSERT_TRUE(File::from_bytes(good.bytes(), "good").ok());
  for (std::size_t size = 0; size < good.bytes().size(); ++size) {
    RawFile cut = good;
    cut.mutable_text().resize(size);
    expect_refused(cut, {});
  }
}

TEST(Malformed, every_changed_byte_is_refused_or_harmless) {
  const RawFile good = small_good_file();
  int refused = 0;
  for (std::size_t at = 0; at < good.bytes().size(); ++at) {
    for (const int byte : {0x00, 0x01, 0x20, 0x7f, 0x80, 0xff}) {
      RawFile changed = good;
      changed.mutable_text()[at] = static_cast<char>(byte);
      const std::vector<std::byte> bytes(changed.bytes().begin(), changed.bytes().end());
      const Result<File> file = File::from_bytes(bytes, "changed");
      if (!file.ok()) {
        ++refused;
        EXPECT_EQ(file.status().message().find('\n'), std::string::npos);
        continue;
      }
      EXPECT_GT(walk(*file), 0u);
    }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace minfer::gguf

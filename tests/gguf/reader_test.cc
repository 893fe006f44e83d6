// Well-formed files: typed access, versions, alignments, split models, files on disk.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "gguf/file.h"
#include "gguf/writer.h"
#include "tests/gguf/raw_file.h"

namespace minfer::gguf {
namespace {

namespace fs = std::filesystem;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "minfer-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { fs::remove_all(path_); }
  [[nodiscard]] std::string operator/(const std::string& name) const {
    return (path_ / name).string();
  }

 private:
  fs::path path_;
};

std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(seed + 7 * i);
  return bytes;
}

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::vector<std::byte>(a.begin(), a.end()) == std::vector<std::byte>(b.begin(), b.end());
}

TEST(Reader, integers_convert_with_range_checks) {
  RawFile raw;
  raw.header(0, 8);
  raw.scalar<std::uint8_t>("u8", ValueType::kU8, 200);
  raw.scalar<std::int8_t>("i8", ValueType::kI8, -3);
  raw.scalar<std::uint16_t>("u16", ValueType::kU16, 60000);
  raw.scalar<std::int64_t>("i64", ValueType::kI64, -5'000'000'000);
  raw.scalar<std::uint64_t>("u64", ValueType::kU64, 1ULL << 63);
  raw.scalar<float>("f32", ValueType::kF32, 0.5f);
  raw.scalar<double>("f64", ValueType::kF64, 1e-300);
  raw.scalar<std::uint8_t>("yes", ValueType::kBool, 1);
  const Result<File> file = File::from_bytes(raw.bytes(), "x.gguf");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->u64("u8").value(), 200u);
  EXPECT_EQ(file->i64("i8").value(), -3);
  EXPECT_EQ(file->i64("u16").value(), 60000);
  EXPECT_EQ(file->i64("i64").value(), -5'000'000'000);
  EXPECT_EQ(file->u64("u64").value(), 1ULL << 63);
  EXPECT_EQ(file->f64("f32").value(), 0.5);
  EXPECT_EQ(file->f64("f64").value(), 1e-300);
  EXPECT_EQ(file->f64("i8").value(), -3.0);
  EXPECT_TRUE(file->boolean("yes").value());

  EXPECT_EQ(file->u64("i8").status().message(),
            "[gguf] x.gguf: key \"i8\" is -3, outside of 0..18446744073709551615");
  EXPECT_FALSE(file->i64("u64").ok());
  EXPECT_EQ(file->u64("f32").status().message(),
            "[gguf] x.gguf: key \"f32\" has type f32, should be an integer");
  EXPECT_FALSE(file->u64("yes").ok());
  EXPECT_FALSE(file->f64("yes").ok());
  EXPECT_FALSE(file->boolean("u8").ok());
  EXPECT_FALSE(file->string("u8").ok());
  EXPECT_FALSE(file->strings("u8").ok());
  EXPECT_FALSE(file->numbers<float>("u8").ok());
  EXPECT_EQ(file->u64("none").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(file->u64("none").status().message(), "[gguf] x.gguf: key \"none\" is missing");

  EXPECT_EQ(file->u64_or("none", 9).value(), 9u);
  EXPECT_EQ(file->f64_or("none", 0.25).value(), 0.25);
  EXPECT_EQ(file->string_or("none", "abc").value(), "abc");
  EXPECT_TRUE(file->boolean_or("none", true).value());
  EXPECT_EQ(file->i64_or("i8", 9).value(), -3);
  EXPECT_FALSE(file->u64_or("f32", 9).ok());  // there, but of a wrong type
}

TEST(Reader, arrays_are_views_of_the_file) {
  RawFile raw;
  raw.header(0, 5);
  raw.array("tokens", ValueType::kString, 4).string("a").string("").string(std::string("b\0c", 3));
  raw.string("last");
  raw.array("types", ValueType::kI8, 3).text("\1\2\xff");
  raw.array("big", ValueType::kU64, 2).put<std::uint64_t>(5).put<std::uint64_t>(1ULL << 40);
  raw.array("scores", ValueType::kF32, 2).put(0.5f).put(-1000.0f);
  raw.array("empty", ValueType::kString, 0);
  const Result<File> file = File::from_bytes(raw.bytes(), "x");
  ASSERT_TRUE(file.ok()) << file.status().message();

  const Result<StringArray> tokens = file->strings("tokens");
  ASSERT_TRUE(tokens.ok());
  ASSERT_EQ(tokens->size(), 4u);
  const std::vector<std::string_view> pieces = tokens->to_vector();
  EXPECT_EQ(pieces, (std::vector<std::string_view>{"a", "", std::string_view("b\0c", 3), "last"}));
  EXPECT_GE(pieces[0].data(), reinterpret_cast<const char*>(raw.bytes().data()));
  EXPECT_LT(pieces[0].data(),
            reinterpret_cast<const char*>(raw.bytes().data()) + raw.bytes().size());
  EXPECT_TRUE(file->strings("empty")->to_vector().empty());

  EXPECT_EQ(*file->numbers<std::int32_t>("types"), (std::vector<std::int32_t>{1, 2, -1}));
  EXPECT_FALSE(file->numbers<std::uint32_t>("types").ok());
  EXPECT_EQ(*file->numbers<std::uint64_t>("big"), (std::vector<std::uint64_t>{5, 1ULL << 40}));
  EXPECT_EQ(file->numbers<std::int32_t>("big").status().message(),
            "[gguf] x: key \"big\" element 1 is outside of -2147483648..2147483647");
  EXPECT_EQ(*file->numbers<float>("scores"), (std::vector<float>{0.5f, -1000.0f}));
  EXPECT_FALSE(file->numbers<std::int32_t>("scores").ok());
  EXPECT_FALSE(file->numbers<std::int32_t>("tokens").ok());
  EXPECT_FALSE(file->strings("types").ok());
  EXPECT_EQ(file->find_value("types")->to_string(), "[i8 x 3: 1, 2, -1]");
  EXPECT_EQ(file->find_value("tokens")->to_string(),
            "[string x 4: \"a\", \"\", \"b\\x00c\", \"last\"]");
}

TEST(Reader, version_2_and_a_file_without_tensors) {
  RawFile raw;
  raw.header(0, 1, 2).scalar<std::uint32_t>("n", ValueType::kU32, 1);
  const Result<File> file = File::from_bytes(raw.bytes(), "x");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->parts()[0].version, 2u);
  EXPECT_TRUE(file->tensors().empty());
  EXPECT_EQ(file->find_tensor("w"), nullptr);
  EXPECT_EQ(file->tensor("w").status().message(), "[gguf] x: tensor \"w\" is missing");
}

TEST(Reader, shapes_are_outermost_first) {
  RawFile raw;
  raw.header(1, 0).tensor("w", {8, 3, 2}, 0, 0).data(192);
  const Result<File> file = File::from_bytes(raw.bytes(), "x");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const TensorInfo* tensor = file->find_tensor("w");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->shape, (Shape{2, 3, 8}));
  EXPECT_EQ(tensor->dims, (std::array<std::uint64_t, 4>{8, 3, 2, 1}));
  EXPECT_EQ(tensor->n_dims, 3);
  EXPECT_EQ(tensor->size_bytes, 192u);
  EXPECT_EQ(tensor->view().shape, tensor->shape);
}

TEST(Reader, data_starts_on_32_bytes_whatever_the_alignment) {
  const TemporaryFolder folder;
  for (const std::uint32_t alignment : {1u, 2u, 8u, 32u, 64u, 4096u}) {
    const auto a = pattern(5 * 4, alignment);
    const auto b = pattern(34, alignment + 1);
    Writer writer(alignment);
    writer.add_string("odd", "x");
    writer.add_tensor("a", DType::kF32, {5}, a);
    writer.add_tensor("b", DType::kQ8_0, {32}, b);
    const std::string path = folder / ("a" + std::to_string(alignment) + ".gguf");
    ASSERT_TRUE(writer.write(path).ok());
    for (const bool copy : {false, true}) {
      const Result<File> file = File::open(path, {.will_need = true, .copy = copy});
      ASSERT_TRUE(file.ok()) << file.status().message();
      EXPECT_EQ(file->parts()[0].alignment, alignment);
      EXPECT_EQ(file->parts()[0].data_offset % alignment, 0u);
      for (const TensorInfo& tensor : file->tensors()) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data.data()) % 32, 0u) << alignment;
      }
      EXPECT_TRUE(same_bytes(file->find_tensor("a")->data, a));
      EXPECT_TRUE(same_bytes(file->find_tensor("b")->data, b));
    }
  }
}

TEST(Reader, files_that_cannot_be_opened_are_named) {
  const TemporaryFolder folder;
  const std::string odd = folder / "no {} %s such.gguf";
  EXPECT_EQ(File::open(odd).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(File::open(odd).status().message(), "[gguf] " + odd + ": no such file");
  const std::string folder_path = folder / "";
  EXPECT_NE(File::open(folder_path).status().message().find("is a directory"), std::string::npos);
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(File::open(pipe).status().message().find("not a regular file"), std::string::npos);
  const std::string empty = folder / "empty.gguf";
  std::ofstream(empty).close();
  EXPECT_EQ(File::open(empty).status().message(),
            "[gguf] " + empty + ": is no GGUF file: it has only 0 bytes");
}

// Writes part `no` of `count` with one tensor and gives its path.
std::string write_part(const TemporaryFolder& folder, int no, int count, const std::string& tensor,
                       int n_tensors, std::span<const std::byte> data, int named_no = -1) {
  Writer writer(no == 1 ? 64 : 32);
  writer.add_u16("split.no", static_cast<std::uint16_t>(no));
  writer.add_u16("split.count", static_cast<std::uint16_t>(count));
  writer.add_i32("split.tensors.count", n_tensors);
  if (no == 0) writer.add_string("general.architecture", "test");
  writer.add_tensor(tensor, DType::kF32, {8}, data);
  const std::string digits = std::to_string((named_no < 0 ? no : named_no) + 1);
  const std::string path =
      folder / ("m-0000" + digits + "-of-0000" + std::to_string(count) + ".gguf");
  EXPECT_TRUE(writer.write(path).ok());
  return path;
}

TEST(Reader, split_model_opens_by_any_part) {
  const TemporaryFolder folder;
  const auto data = pattern(32, 1);
  std::vector<std::string> paths;
  for (int no = 0; no < 3; ++no) {
    paths.push_back(write_part(folder, no, 3, "t" + std::to_string(no), 3, data));
  }
  for (const std::string& path : paths) {
    Result<File> opened = File::open(path);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    const File file = std::move(opened).value();  // views live on when the File is moved
    EXPECT_EQ(file.path(), paths[0]);
    ASSERT_EQ(file.parts().size(), 3u);
    EXPECT_EQ(file.string("general.architecture").value(), "test");
    ASSERT_EQ(file.tensors().size(), 3u);
    EXPECT_EQ(file.tensor_bytes(), 96u);
    for (std::size_t no = 0; no < 3; ++no) {
      EXPECT_EQ(file.parts()[no].path, paths[no]);
      const TensorInfo* tensor = file.find_tensor("t" + std::to_string(no));
      ASSERT_NE(tensor, nullptr);
      EXPECT_EQ(tensor->part, no);
      EXPECT_TRUE(same_bytes(tensor->data, data));
    }
  }
}

TEST(Reader, split_models_that_do_not_fit_together) {
  const auto data = pattern(32, 1);
  const auto error = [](const std::string& path) { return File::open(path).status().message(); };
  {
    const TemporaryFolder folder;
    const std::string first = write_part(folder, 0, 2, "a", 2, data);
    EXPECT_NE(error(first).find("another is missing"), std::string::npos) << error(first);
    EXPECT_NE(error(first).find("m-00002-of-00002.gguf"), std::string::npos);
    const std::string second = write_part(folder, 1, 2, "a", 2, data);
    EXPECT_NE(error(second).find("tensor \"a\" is in two parts"), std::string::npos);
    fs::rename(first, folder / "renamed.gguf");
    EXPECT_NE(error(folder / "renamed.gguf").find("\"-00001-of-00002.gguf\""), std::string::npos);
  }
  {
    const TemporaryFolder folder;
    const std::string first = write_part(folder, 0, 2, "a", 5, data);
    write_part(folder, 1, 2, "b", 5, data);
    EXPECT_NE(error(first).find("split.tensors.count"), std::string::npos) << error(first);
  }
  {
    const TemporaryFolder folder;
    const std::string first = write_part(folder, 0, 2, "a", 2, data);
    write_part(folder, 0, 2, "b", 2, data, 1);  // called part 2, says that it is part 1
    EXPECT_NE(error(first).find("says that it is part 1 of 2"), std::string::npos) << error(first);
  }
  RawFile raw;
  raw.header(0, 2);
  raw.scalar<std::uint16_t>("split.no", ValueType::kU16, 4);
  raw.scalar<std::uint16_t>("split.count", ValueType::kU16, 4);
  EXPECT_NE(File::from_bytes(raw.bytes(), "x").status().message().find("split.no"),
            std::string::npos);
}

TEST(Reader, a_part_of_a_split_model_in_memory_is_refused) {
  RawFile raw;
  raw.header(0, 1).scalar<std::uint16_t>("split.count", ValueType::kU16, 2);
  EXPECT_NE(File::from_bytes(raw.bytes(), "x").status().message().find("one part of a split model"),
            std::string::npos);
}

}  // namespace
}  // namespace minfer::gguf

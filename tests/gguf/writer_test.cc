// What the writer writes, the reader reads back; what no reader would take is refused.
#include "gguf/writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gguf/file.h"

namespace minfer::gguf {
namespace {

namespace fs = std::filesystem;

const std::vector<std::byte> kZeros(4096);

Writer every_kind() {
  Writer writer;
  writer.add_u8("u8", 255);
  writer.add_i8("i8", -128);
  writer.add_u16("u16", 65535);
  writer.add_i16("i16", -32768);
  writer.add_u32("u32", 0xffffffff);
  writer.add_i32("i32", -2147483647 - 1);
  writer.add_u64("u64", ~0ULL);
  writer.add_i64("i64", -(1LL << 62));
  writer.add_f32("f32", 0.1f);
  writer.add_f64("f64", 0.1);
  writer.add_bool("yes", true);
  writer.add_bool("no", false);
  writer.add_string("text", "caf\xc3\xa9\n");
  writer.add_u8_array("u8s", std::vector<std::uint8_t>{1, 2});
  writer.add_i32_array("i32s", std::vector<std::int32_t>{-1, 2});
  writer.add_u32_array("u32s", std::vector<std::uint32_t>{1, 4'000'000'000});
  writer.add_i64_array("i64s", std::vector<std::int64_t>{-1, 1LL << 40});
  writer.add_u64_array("u64s", std::vector<std::uint64_t>{1, 1ULL << 63});
  writer.add_f32_array("f32s", std::vector<float>{0.5f, -1.0f});
  writer.add_f64_array("f64s", std::vector<double>{0.25});
  writer.add_bool_array("bools", {true, false, true});
  writer.add_string_array("strings", std::vector<std::string>{"a", "", "ccc"});
  writer.add_string_array("views", std::vector<std::string_view>{});
  writer.add_tensor("w", DType::kQ4_K, {3, 256}, std::span(kZeros).first(3 * 144));
  writer.add_tensor("b", DType::kF32, {3}, [](const Writer::Sink& sink) -> Status {
    for (const float value : {1.0f, 2.0f, 3.0f}) {
      MINFER_RETURN_IF_ERROR(sink(std::as_bytes(std::span(&value, 1))));
    }
    return ok_status();
  });
  return writer;
}

void check_every_kind(const File& file) {
  EXPECT_EQ(file.metadata().size(), 23u);
  EXPECT_EQ(file.u64("u8").value(), 255u);
  EXPECT_EQ(file.i64("i8").value(), -128);
  EXPECT_EQ(file.u64("u16").value(), 65535u);
  EXPECT_EQ(file.i64("i16").value(), -32768);
  EXPECT_EQ(file.u64("u32").value(), 0xffffffffu);
  EXPECT_EQ(file.i64("i32").value(), -2147483648LL);
  EXPECT_EQ(file.u64("u64").value(), ~0ULL);
  EXPECT_EQ(file.i64("i64").value(), -(1LL << 62));
  EXPECT_EQ(file.f64("f32").value(), static_cast<double>(0.1f));
  EXPECT_EQ(file.f64("f64").value(), 0.1);
  EXPECT_TRUE(file.boolean("yes").value());
  EXPECT_FALSE(file.boolean("no").value());
  EXPECT_EQ(file.string("text").value(), "caf\xc3\xa9\n");
  EXPECT_EQ(*file.numbers<std::int32_t>("u8s"), (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(*file.numbers<std::int32_t>("i32s"), (std::vector<std::int32_t>{-1, 2}));
  EXPECT_EQ(*file.numbers<std::uint32_t>("u32s"), (std::vector<std::uint32_t>{1, 4'000'000'000}));
  EXPECT_EQ(*file.numbers<std::int64_t>("i64s"), (std::vector<std::int64_t>{-1, 1LL << 40}));
  EXPECT_EQ(*file.numbers<std::uint64_t>("u64s"), (std::vector<std::uint64_t>{1, 1ULL << 63}));
  EXPECT_EQ(*file.numbers<float>("f32s"), (std::vector<float>{0.5f, -1.0f}));
  EXPECT_EQ(*file.numbers<double>("f64s"), (std::vector<double>{0.25}));
  EXPECT_EQ(*file.numbers<std::int32_t>("bools"), (std::vector<std::int32_t>{1, 0, 1}));
  EXPECT_EQ(file.strings("strings")->to_vector(), (std::vector<std::string_view>{"a", "", "ccc"}));
  EXPECT_EQ(file.strings("views")->size(), 0u);
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.tensors()[0].shape, (Shape{3, 256}));
  EXPECT_EQ(file.tensors()[0].dtype, DType::kQ4_K);
  const TensorInfo* b = file.find_tensor("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(load_le<float>(b->data.data() + 8), 3.0f);
}

TEST(Writer, reads_back_as_written) {
  const Result<std::vector<std::byte>> bytes = every_kind().to_bytes();
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  const Result<File> file = File::from_bytes(*bytes, "memory");
  ASSERT_TRUE(file.ok()) << file.status().message();
  check_every_kind(*file);
}

TEST(Writer, a_copy_through_add_value_is_byte_identical) {
  const Result<std::vector<std::byte>> bytes = every_kind().to_bytes();
  ASSERT_TRUE(bytes.ok());
  const Result<File> file = File::from_bytes(*bytes, "memory");
  ASSERT_TRUE(file.ok());
  Writer copy;
  for (const Entry& entry : file->metadata()) copy.add_value(std::string(entry.key), entry.value);
  for (const TensorInfo& tensor : file->tensors()) {
    copy.add_tensor(std::string(tensor.name), tensor.dtype, tensor.shape, tensor.data);
  }
  const Result<std::vector<std::byte>> again = copy.to_bytes();
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(*again == *bytes);
}

class WriterOnDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "minfer-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    path_ = (folder_ / "m.gguf").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
  std::string path_;
};

TEST_F(WriterOnDisk, writes_and_replaces_whole_files) {
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(every_kind().write(path_).ok());
    const Result<File> file = File::open(path_);
    ASSERT_TRUE(file.ok()) << file.status().message();
    check_every_kind(*file);
    EXPECT_EQ(files(), 1u);
  }
  const Status refused = every_kind().write(path_, {.overwrite = false});
  EXPECT_EQ(refused.message(), "[gguf] " + path_ + ": is there already");
  EXPECT_EQ(files(), 1u);
  fs::remove(path_);
  EXPECT_TRUE(every_kind().write(path_, {.overwrite = false}).ok());
  EXPECT_EQ(files(), 1u);
}

TEST_F(WriterOnDisk, an_error_leaves_the_old_file_and_nothing_else) {
  std::ofstream(path_) << "old";
  Writer writer = every_kind();
  writer.add_tensor("fails", DType::kF32, {8}, [](const Writer::Sink&) -> Status {
    return numeric_error("no numbers today");
  });
  EXPECT_EQ(writer.write(path_).message(), "no numbers today");
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(fs::file_size(path_), 3u);
  EXPECT_EQ(every_kind().write((folder_ / "none" / "m.gguf").string()).code(), StatusCode::kIo);
}

TEST(Writer, refuses_what_no_reader_takes) {
  const auto refused = [](auto change) {
    Writer writer;
    writer.add_u32("n", 1);
    writer.add_tensor("w", DType::kF32, {8}, std::span(kZeros).first(32));
    change(writer);
    const Result<std::vector<std::byte>> bytes = writer.to_bytes();
    EXPECT_FALSE(bytes.ok());
    return bytes.ok() ? std::string() : bytes.status().message();
  };
  const auto add_w = [](std::string name, DType dtype, Shape shape, std::size_t size) {
    return [=](Writer& w) { w.add_tensor(name, dtype, shape, std::span(kZeros).first(size)); };
  };
  EXPECT_NE(refused([](Writer& w) { w.add_u8("n", 2); }).find("key \"n\" is added twice"),
            std::string::npos);
  EXPECT_NE(refused([](Writer& w) { w.add_u8("", 2); }).find("key \"\""), std::string::npos);
  EXPECT_NE(refused(add_w("w", DType::kF32, {8}, 32)).find("\"w\" is added twice"),
            std::string::npos);
  EXPECT_NE(refused(add_w(std::string(65, 'n'), DType::kF32, {8}, 32)).find("64 bytes"),
            std::string::npos);
  EXPECT_NE(refused(add_w("v", DType::kQ8_0, {33}, 34)).find("Q8_0"), std::string::npos);
  EXPECT_NE(refused(add_w("v", DType::kQ8A, {32}, 34)).find("no file"), std::string::npos);
  EXPECT_NE(refused(add_w("v", DType::kF32, {0, 8}, 0)).find("empty"), std::string::npos);
  EXPECT_NE(refused(add_w("v", DType::kF32, {1LL << 40, 1LL << 40}, 0)).find("too large"),
            std::string::npos);
  EXPECT_NE(refused(add_w("v", DType::kF32, Shape(), 0)).find("no dimension"), std::string::npos);
  EXPECT_NE(refused(add_w("v", DType::kF32, {8}, 31)).find("31 bytes were given"),
            std::string::npos);
  EXPECT_NE(refused(add_w("v", DType::kF32, {8}, 33)).find("33 bytes were given"),
            std::string::npos);
}

}  // namespace
}  // namespace minfer::gguf

// Mapped and copied files, whole files as strings, and their errors.
#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace minfer {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "minfer-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    path_ = (folder_ / "a {} %s \xc3\xa9.bin").string();
    std::ofstream(path_) << "hello";
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  std::string path_;
};

TEST_F(Files, mapped_and_copied_bytes_are_the_file) {
  for (const bool copy : {false, true}) {
    Result<MappedFile> opened = MappedFile::open(path_, {.will_need = true, .copy = copy});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    const std::byte* address = opened->bytes().data();
    MappedFile moved = std::move(opened).value();
    EXPECT_EQ(moved.bytes().data(), address);
    EXPECT_EQ(as_text(moved.bytes()), "hello");
    EXPECT_EQ(moved.path(), path_);
    MappedFile target;
    EXPECT_EQ(target.path(), "");
    target = std::move(moved);
    EXPECT_EQ(as_text(target.bytes()), "hello");
    EXPECT_TRUE(moved.bytes().empty());  // NOLINT: a moved-from object is empty by contract
  }
}

TEST_F(Files, a_copy_does_not_see_later_changes) {
  const Result<MappedFile> copy = MappedFile::open(path_, {.copy = true});
  ASSERT_TRUE(copy.ok());
  ASSERT_EQ(::truncate(path_.c_str(), 0), 0);
  EXPECT_EQ(as_text(copy->bytes()), "hello");
}

TEST_F(Files, more_mappings_than_the_table_of_watched_ranges_holds) {
  std::vector<MappedFile> files;
  for (int i = 0; i < 1100; ++i) {
    Result<MappedFile> file = MappedFile::open(path_);
    ASSERT_TRUE(file.ok()) << file.status().message();
    files.push_back(std::move(file).value());
  }
  EXPECT_EQ(as_text(files.back().bytes()), "hello");
}

TEST_F(Files, empty_file) {
  ASSERT_EQ(::truncate(path_.c_str(), 0), 0);
  const Result<MappedFile> file = MappedFile::open(path_);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->bytes().empty());
  EXPECT_EQ(read_file(path_).value(), "");
}

TEST_F(Files, errors_hold_the_path_as_given) {
  const std::string none = (folder_ / "none {} %d").string();
  EXPECT_EQ(MappedFile::open(none).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(MappedFile::open(none).status().message(), none + ": no such file");
  EXPECT_EQ(read_file(none).status().message(), none + ": no such file");
  EXPECT_EQ(MappedFile::open(path_ + "/x").status().code(), StatusCode::kNotFound);

  const std::string folder = folder_.string();
  EXPECT_EQ(MappedFile::open(folder).status().code(), StatusCode::kIo);
  EXPECT_EQ(read_file(folder).status().message(), folder + ": is a directory, not a file");
  EXPECT_EQ(MappedFile::open("/dev/null").status().code(), StatusCode::kIo);
  EXPECT_EQ(MappedFile::open(std::string("a\0b", 3)).status().code(), StatusCode::kInvalidArgument);
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::open(pipe).status().code(), StatusCode::kIo);  // and at once
  if (::geteuid() != 0) {
    ASSERT_EQ(::chmod(path_.c_str(), 0), 0);
    EXPECT_EQ(MappedFile::open(path_).status().code(), StatusCode::kIo);
  }
}

TEST_F(Files, read_file_has_a_limit) {
  EXPECT_EQ(read_file(path_).value(), "hello");
  EXPECT_EQ(read_file(path_, 5).value(), "hello");
  EXPECT_EQ(read_file(path_, 4).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(read_file("/dev/zero", 1 << 20).status().code(), StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace minfer

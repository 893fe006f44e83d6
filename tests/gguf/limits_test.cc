// What a file can cost: memory under a hard limit, time for huge vocabularies and many names, and a
// file that shrinks while it is read.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "gguf/file.h"
#include "gguf/writer.h"
#include "tests/gguf/raw_file.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MINFER_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MINFER_SANITIZED 1
#endif
#endif
#ifndef MINFER_SANITIZED
#define MINFER_SANITIZED 0
#endif

namespace minfer::gguf {
namespace {

namespace fs = std::filesystem;

// This thread's processor time so far, in milliseconds.
double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

// The best of several runs, in milliseconds of processor time: other work on the machine must not
// fail the test.
double best_ms(const std::function<void()>& work) {
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    const double start = cpu_ms();
    work();
    best = std::min(best, cpu_ms() - start);
  }
  return best;
}

struct ChildResult {
  int exit_status = -1;  // -1: ended by a signal
  std::string output;    // stderr
};

ChildResult run_child(const std::function<int()>& work) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::_exit(work());
  }
  ::close(ends[1]);
  ChildResult result;
  char buffer[512];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    result.output.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) result.exit_status = WEXITSTATUS(status);
  return result;
}

std::vector<RawFile> claims() {
  constexpr std::uint64_t kHuge[] = {1ULL << 31, 1ULL << 32, 1ULL << 48, 1ULL << 63, ~0ULL};
  std::vector<RawFile> files;
  for (const std::uint64_t n : kHuge) {
    files.push_back(RawFile().header(n, 0).data(4096));
    files.push_back(RawFile().header(0, n).data(4096));
    files.push_back(RawFile().header(0, 1).put(n).data(4096));
    files.push_back(RawFile().header(0, 1).key("s", ValueType::kString).put(n).data(4096));
    for (const ValueType type : {ValueType::kU8, ValueType::kF64, ValueType::kString}) {
      files.push_back(RawFile().header(0, 1).array("a", type, n).data(4096));
    }
    files.push_back(RawFile().header(1, 0).put(n).data(4096));
    files.push_back(RawFile().header(1, 0).tensor("w", {n}, 0, 0).data(4096));
    files.push_back(RawFile().header(1, 0).tensor("w", {32}, 0, n & ~31ULL).data(4096));
  }
  return files;
}

TEST(Limits, claims_cost_no_memory) {
  if (MINFER_SANITIZED) GTEST_SKIP() << "a sanitizer needs address space of its own";
  const std::vector<RawFile> files = claims();
  const ChildResult child = run_child([&] {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t limit = pages * static_cast<std::size_t>(::getpagesize()) + (8u << 20);
    const rlimit bound{limit, limit};
    if (::setrlimit(RLIMIT_AS, &bound) != 0) return 9;
    for (const RawFile& raw : files) {
      if (File::from_bytes(raw.bytes(), "claims").ok()) return 2;
    }
    return 0;
  });
  EXPECT_EQ(child.exit_status, 0) << child.output;
}

TEST(Limits, claims_cost_no_time) {
  if (MINFER_SANITIZED) GTEST_SKIP() << "times mean nothing under a sanitizer";
  for (const RawFile& raw : claims()) {
    EXPECT_LT(best_ms([&] { EXPECT_FALSE(File::from_bytes(raw.bytes(), "claims").ok()); }), 10);
  }
}

TEST(Limits, a_quarter_of_a_million_strings_open_in_milliseconds) {
  if (MINFER_SANITIZED) GTEST_SKIP() << "times mean nothing under a sanitizer";
  constexpr std::size_t kPieces = 262144;
  RawFile raw;
  raw.header(0, 1).array("tokens", ValueType::kString, kPieces);
  for (std::size_t i = 0; i < kPieces; ++i) raw.string("piece" + std::to_string(i));
  std::size_t n = 0;
  EXPECT_LT(best_ms([&] {
              const Result<File> file = File::from_bytes(raw.bytes(), "vocab");
              ASSERT_TRUE(file.ok());
              n = file->strings("tokens")->size();
            }),
            10);
  EXPECT_EQ(n, kPieces);
}

TEST(Limits, many_names_are_compared_in_no_time) {
  if (MINFER_SANITIZED) GTEST_SKIP() << "times mean nothing under a sanitizer";
  constexpr std::uint64_t kKeys = 65536;
  constexpr std::uint64_t kTensors = 262144;
  RawFile raw;
  raw.header(kTensors, kKeys);
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    raw.scalar<std::uint8_t>("key." + std::to_string(i), ValueType::kU8, 1);
  }
  for (std::uint64_t i = 0; i < kTensors; ++i) {
    raw.tensor("blk." + std::to_string(i) + ".w", {8}, 0, 32 * i);
  }
  raw.data(32 * kTensors);
  EXPECT_LT(best_ms([&] { EXPECT_TRUE(File::from_bytes(raw.bytes(), "many").ok()); }), 1500);
}

TEST(Limits, a_file_that_shrinks_ends_the_run_with_one_line) {
  std::string folder = (fs::temp_directory_path() / "minfer-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/my model.gguf";
  const std::vector<std::byte> zeros(1 << 20);
  Writer writer;
  writer.add_tensor("w", DType::kF32, {1 << 18}, zeros);
  ASSERT_TRUE(writer.write(path).ok());
  const ChildResult child = run_child([&] {
    const Result<File> file = File::open(path);
    if (!file.ok() || ::truncate(path.c_str(), 8192) != 0) return 2;
    return std::to_integer<int>(file->tensors()[0].data.back()) + 3;
  });
  EXPECT_EQ(child.exit_status, 1);
  EXPECT_EQ(child.output,
            "minfer: " + path + ": the file changed or shrank while it was being read\n");

  // A bus error from elsewhere keeps its meaning.
  ASSERT_TRUE(writer.write(path).ok());
  const ChildResult foreign = run_child([&] {
    const Result<File> file = File::open(path);
    ::raise(SIGBUS);
    return file.ok() ? 3 : 4;
  });
  EXPECT_NE(foreign.exit_status, 3) << foreign.output;
  EXPECT_EQ(foreign.output.find("shrank"), std::string::npos) << foreign.output;
  fs::remove_all(folder);
}

}  // namespace
}  // namespace minfer::gguf

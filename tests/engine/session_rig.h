// Rows of KV without a model, and the files that sessions are tested on.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "engine/session_file.h"

namespace minfer::tests {

/// Rows that tell their position and all tokens up to it, as those of a model do.
class FakeRows final : public plan::KvRows {
 public:
  explicit FakeRows(std::uint64_t row_bytes = 48, std::int32_t capacity = 4096)
      : row_bytes_(row_bytes), capacity_(capacity) {}

  [[nodiscard]] std::uint64_t row_bytes() const override { return row_bytes_; }
  [[nodiscard]] std::int32_t length() const override {
    return static_cast<std::int32_t>(rows_.size());
  }
  [[nodiscard]] std::int32_t capacity() const override { return capacity_; }
  Status read(std::int32_t begin, std::int32_t n, std::span<std::byte> to) override {
    EXPECT_EQ(n, plan::rows_in_page(begin, begin + n));
    EXPECT_EQ(to.size(), static_cast<std::size_t>(n) * row_bytes_);
    EXPECT_LE(begin + n, length());
    for (std::int32_t i = 0; i < n; ++i) {
      const std::string& row = rows_[static_cast<std::size_t>(begin + i)];
      std::memcpy(&to[static_cast<std::size_t>(i) * row_bytes_], row.data(), row.size());
    }
    return ok_status();
  }
  Status append(std::int32_t n, std::int32_t n_packed, std::span<const std::byte> from) override {
    EXPECT_EQ(from.size(), static_cast<std::size_t>(n_packed) * row_bytes_);
    EXPECT_EQ(n, plan::rows_in_page(length(), length() + n));
    for (std::int32_t i = 0; i < n; ++i) {
      const auto* at = reinterpret_cast<const char*>(from.data()) + i * std::int64_t(row_bytes_);
      rows_.emplace_back(at, row_bytes_);
    }
    return ok_status();
  }

  /// What a model would make of the stream.
  void run(std::span<const engine::TokenId> stream) {
    rows_.clear();
    std::uint64_t hash = 1;
    for (const engine::TokenId token : stream) {
      std::string row;
      for (std::uint64_t i = 0; i < row_bytes_; ++i) {
        hash = (hash + static_cast<std::uint64_t>(token) + 1) * 6364136223846793005ULL + 1;
        row += static_cast<char>(hash >> 56);
      }
      rows_.push_back(row);
    }
  }
  [[nodiscard]] const std::vector<std::string>& rows() const { return rows_; }

 private:
  std::uint64_t row_bytes_;
  std::int32_t capacity_;
  std::vector<std::string> rows_;
};

inline engine::SessionIdentity fake_identity(std::uint64_t row_bytes = 48) {
  engine::SessionIdentity identity;
  identity.lines = {{"arithmetic version", "1"}, {"model", "Fake"}, {"KV type", "f16"}};
  identity.row_bytes = row_bytes;
  identity.n_vocab = 1000;
  return identity;
}

/// An empty folder that goes with the test.
class Folder {
 public:
  Folder() : path_(testing::TempDir() + "minfer_session_" + std::to_string(getpid())) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file(const std::string& name = "s.kv") const {
    return path_ + "/" + name;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }

 private:
  std::string path_;
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void set_bytes(const std::string& path, const std::string& bytes) {
  // Some file systems write a file out at once that was cut to nothing and filled again.
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::vector<engine::TokenId> tokens(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<engine::TokenId> ids(n);
  for (engine::TokenId& id : ids) id = static_cast<engine::TokenId>(rng() % 1000);
  return ids;
}

inline void add_turn(engine::SessionState& state, std::size_t n, unsigned seed) {
  const auto ids = tokens(n, seed);
  state.stream.insert(state.stream.end(), ids.begin(), ids.end());
  state.pending = tokens(1 + seed % 2, seed + 100);
  state.messages.push_back("user " + std::to_string(seed));
  state.messages.push_back("assistant " + std::to_string(seed));
  state.extra = "attempt " + std::to_string(seed);
}

inline std::unique_ptr<engine::SessionFile> opened(
    const std::string& path, const engine::SessionIdentity& identity = fake_identity(),
    engine::SessionFile::Mode mode = engine::SessionFile::Mode::kSession) {
  auto file = engine::SessionFile::open(path, identity, mode);
  EXPECT_TRUE(file.ok()) << file.status().message();
  return file.ok() ? std::move(*file) : nullptr;
}

inline Status refusal(const std::string& path,
                      engine::SessionFile::Mode mode = engine::SessionFile::Mode::kSession) {
  auto file = engine::SessionFile::open(path, fake_identity(), mode);
  EXPECT_FALSE(file.ok());
  return file.ok() ? ok_status() : file.status();
}

inline Status commit(engine::SessionFile& file, const engine::SessionState& state,
                     std::uint64_t row_bytes = 48) {
  FakeRows rows(row_bytes);
  rows.run(state.stream);
  return file.commit(state, rows);
}

/// The file holds exactly `state`, rows included.
inline void expect_holds(engine::SessionFile& file, const engine::SessionState& state,
                         std::uint64_t row_bytes = 48) {
  EXPECT_EQ(file.refusal(), "");
  EXPECT_EQ(file.state(), state);
  FakeRows rows(row_bytes), wanted(row_bytes);
  const auto n = file.restore_rows(rows, INT32_MAX);
  ASSERT_TRUE(n.ok()) << n.status().message();
  EXPECT_EQ(static_cast<std::size_t>(*n), state.stream.size());
  wanted.run(state.stream);
  EXPECT_EQ(rows.rows(), wanted.rows());
}

}  // namespace minfer::tests

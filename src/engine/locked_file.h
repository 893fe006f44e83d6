// LockedFile: an open file that is read and written at offsets, and put in another's place.
//
// Owns: a descriptor and with it the lock of the file.
// Invariants: only regular files are opened. Messages do not name the path: the caller does.
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "engine/session_scan.h"

namespace minfer::engine {

class LockedFile final : public ByteSource {
 public:
  LockedFile() = default;
  LockedFile(LockedFile&& other) noexcept;
  LockedFile& operator=(LockedFile&& other) noexcept;
  ~LockedFile() override;

  /// For reading, without a lock.
  static Result<LockedFile> open_to_read(const std::string& path);
  /// For reading and writing, locked; made (mode 0600) where there is none, which `created` says.
  /// kIo "is in use": another process has it.
  static Result<LockedFile> open_to_write(const std::string& path, bool& created);
  /// An empty one (mode 0600), locked, in place of what an earlier process left there.
  static Result<LockedFile> create(const std::string& path);

  [[nodiscard]] std::uint64_t size() const override;
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::byte> to) const override;
  Status write(std::uint64_t offset, std::string_view bytes);
  Status truncate(std::uint64_t size_bytes);
  Status sync();
  /// Whether `path` leads to this file: 1, to another: 0, to none: -1.
  [[nodiscard]] int is_at(const std::string& path) const;

 private:
  explicit LockedFile(int fd) : fd_(fd) {}
  int fd_ = -1;
};

/// Makes `from` the file called `to` and syncs their folder.
Status replace_file(const std::string& from, const std::string& to);

}  // namespace minfer::engine

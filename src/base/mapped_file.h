// MappedFile: the bytes of a file, read-only, for as long as the object lives.
//
// Owns: one mapping (or, on request, one private copy) and its entry in the process-wide table of
// mappings that the SIGBUS handler reads.
// Invariants: bytes() stays at the same page-aligned address when the object is moved. A file that
// shrinks while it is mapped ends the process with the line
// "minfer: FILE: the file changed or shrank while it was being read" and exit status 1; a SIGBUS
// from anywhere else is handed to whoever handled it before.
// Thread-safety: open and destruction may run on any thread; bytes() is read-only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"

namespace minfer {

struct MapOptions {
  /// Ask the system to start reading the whole file at once (MADV_WILLNEED).
  bool will_need = false;
  /// Read the file into private memory in place of a mapping (`--no-mmap`).
  bool copy = false;
};

class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// Maps `path`, a regular file. kNotFound where there is none, kIo for anything else that the
  /// system refuses, kInvalidArgument for a directory, a pipe or a device; each message holds the
  /// path as given. An empty file has empty bytes().
  static Result<MappedFile> open(const std::string& path, MapOptions options = {});

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// The path as given to open(); empty in a default-constructed or moved-from object.
  [[nodiscard]] const std::string& path() const;

 private:
  void release();

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int slot_ = -1;                      // entry in the SIGBUS table; -1: none
  std::unique_ptr<std::string> path_;  // at a fixed address: the handler prints it
};

/// The whole of `path` as a string; "-" is not special. Works for pipes and devices too, and stops
/// with kOutOfRange once more than `max_bytes` have come.
Result<std::string> read_file(const std::string& path, std::uint64_t max_bytes = 1ULL << 32);

}  // namespace minfer

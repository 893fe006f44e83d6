// MemoryBlock: large zeroed memory from the operating system that is committed as it is touched.
//
// Invariants: starts at a page border; owns its mapping. Debug builds (MINFER_DEBUG) fill it with
// NaN where poison() is called.
// Thread-safety: a value; distinct blocks are independent.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace minfer::cpu {

class MemoryBlock {
 public:
  MemoryBlock() = default;
  MemoryBlock(MemoryBlock&& other) noexcept;
  MemoryBlock& operator=(MemoryBlock&& other) noexcept;
  MemoryBlock(const MemoryBlock&) = delete;
  MemoryBlock& operator=(const MemoryBlock&) = delete;
  ~MemoryBlock();

  /// kOutOfMemory where the system has no room (ulimit -v). Zero bytes give an empty block.
  static Result<MemoryBlock> create(std::uint64_t size_bytes);

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }

  /// Asks for large pages: quicker to touch and to stream through, for blocks that are used whole.
  void prefer_large_pages();
  /// Fills the block with quiet NaNs: what is read before it is written shows itself.
  void poison();

 private:
  std::byte* data_ = nullptr;
  std::uint64_t size_bytes_ = 0;
};

}  // namespace minfer::cpu

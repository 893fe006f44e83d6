#include "cpu/memory_block.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>
#include <utility>

namespace minfer::cpu {

MemoryBlock::MemoryBlock(MemoryBlock&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

MemoryBlock& MemoryBlock::operator=(MemoryBlock&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

MemoryBlock::~MemoryBlock() {
  if (data_ != nullptr) munmap(data_, size_bytes_);
}

Result<MemoryBlock> MemoryBlock::create(std::uint64_t size_bytes) {
  MemoryBlock block;
  if (size_bytes == 0) return block;
  void* data = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return out_of_memory(fmt::format("[memory] the system has no {} bytes to give", size_bytes));
  }
  block.data_ = static_cast<std::byte*>(data);
  block.size_bytes_ = size_bytes;
  return block;
}

void MemoryBlock::prefer_large_pages() {
  // A refusal only means ordinary pages.
  if (size_bytes_ > 0) (void)madvise(data_, size_bytes_, MADV_HUGEPAGE);
}

void MemoryBlock::poison() {
  // 0x7fffffff is a NaN as F32; as int8 and f16 it is no number either.
  constexpr std::uint32_t kNan = 0x7fffffff;
  for (std::uint64_t i = 0; i + sizeof kNan <= size_bytes_; i += sizeof kNan) {
    std::memcpy(data_ + i, &kNan, sizeof kNan);
  }
}

}  // namespace minfer::cpu

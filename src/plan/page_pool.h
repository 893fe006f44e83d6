// PagePool: the pages of one layer group, with their owners counted.
//
// Owns: one buffer reserved at full size, a reference count a page.
// Invariants: a page is free exactly when nobody refers to it. A page's strips lie apart: strip s
// of all pages in one run, after those of the strips before it, so that a sequence whose pages
// follow one another is walked without a gap. Equal histories give equal pages. Thread-safety: one
// thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "base/status.h"

namespace minfer::plan {

/// Copies `size_bytes` inside one buffer, through `scratch` where the host cannot see it.
Status copy_within(backend::Backend& backend, backend::Buffer& buffer, std::uint64_t from,
                   std::uint64_t to, std::uint64_t size_bytes, std::vector<std::byte>& scratch);
/// Sets `size_bytes` of a buffer to `value`.
Status fill(backend::Backend& backend, backend::Buffer& buffer, std::uint64_t offset,
            std::uint64_t size_bytes, std::byte value, std::vector<std::byte>& scratch);

class PagePool {
 public:
  /// `poison`: pages are filled with NaN (all bits set: a NaN in f16 and f32) when they are handed
  /// out and when they are freed.
  static Result<PagePool> create(backend::Backend& backend, std::vector<std::uint64_t> strip_bytes,
                                 std::int32_t n_pages, bool poison);

  [[nodiscard]] std::int32_t n_pages() const { return static_cast<std::int32_t>(refs_.size()); }
  [[nodiscard]] std::int32_t n_free() const { return n_free_; }
  [[nodiscard]] std::int32_t refs(std::int32_t page) const {
    return refs_[static_cast<std::size_t>(page)];
  }
  /// Start of the buffer in the backend's address space.
  [[nodiscard]] std::byte* base() { return buffer_->device_data(); }
  [[nodiscard]] std::uint64_t page_bytes() const { return page_bytes_; }

  /// A page with one owner: the first free one from `wanted` on, after the last the first. Requires
  /// n_free() > 0.
  std::int32_t take(std::int32_t wanted);
  void add_ref(std::int32_t page);
  /// One owner fewer; the last one frees the page.
  void release(std::int32_t page);
  /// Copies the contents of page `from` to page `to`.
  Status copy(std::int32_t from, std::int32_t to);

 private:
  PagePool(backend::Backend& backend, std::unique_ptr<backend::Buffer> buffer,
           std::vector<std::uint64_t> strip_bytes, std::int32_t n_pages, bool poison);
  /// Bytes from the start of the buffer to a page's strip, given the bytes of the strips before it.
  [[nodiscard]] std::uint64_t offset(std::uint64_t before, std::uint64_t strip_bytes,
                                     std::int32_t page) const {
    return before * refs_.size() + strip_bytes * static_cast<std::uint64_t>(page);
  }
  void poison(std::int32_t page);

  backend::Backend* backend_;
  std::unique_ptr<backend::Buffer> buffer_;
  std::vector<std::uint64_t> strip_bytes_;
  std::uint64_t page_bytes_ = 0;
  std::vector<std::int32_t> refs_;
  std::int32_t n_free_;
  std::vector<std::byte> scratch_;  // one strip, only where the host cannot see the buffer
  bool poison_;
};

}  // namespace minfer::plan

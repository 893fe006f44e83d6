// PagePool: the pages of one layer group, with their owners counted.
//
// Owns: one buffer reserved at full size, a reference count a page, the list of free pages.
// Invariants: a page is free exactly when nobody refers to it; free pages are handed out lowest
// first after creation and last-freed first later, so that equal histories give equal pages.
// Thread-safety: one thread at a time.
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
  static Result<PagePool> create(backend::Backend& backend, std::uint64_t page_bytes,
                                 std::int32_t n_pages, bool poison);

  [[nodiscard]] std::int32_t n_pages() const { return static_cast<std::int32_t>(refs_.size()); }
  [[nodiscard]] std::int32_t n_free() const { return static_cast<std::int32_t>(free_.size()); }
  [[nodiscard]] std::int32_t refs(std::int32_t page) const {
    return refs_[static_cast<std::size_t>(page)];
  }
  /// Start of page 0 in the backend's address space.
  [[nodiscard]] std::byte* base() { return buffer_->device_data(); }
  [[nodiscard]] std::uint64_t page_bytes() const { return page_bytes_; }

  /// A page with one owner. Requires n_free() > 0.
  std::int32_t take();
  void add_ref(std::int32_t page);
  /// One owner fewer; the last one frees the page.
  void release(std::int32_t page);
  /// Copies the contents of page `from` to page `to`.
  Status copy(std::int32_t from, std::int32_t to);

 private:
  PagePool(backend::Backend& backend, std::unique_ptr<backend::Buffer> buffer,
           std::uint64_t page_bytes, std::int32_t n_pages, bool poison);
  void poison(std::int32_t page);

  backend::Backend* backend_;
  std::unique_ptr<backend::Buffer> buffer_;
  std::uint64_t page_bytes_;
  std::vector<std::int32_t> refs_;
  std::vector<std::int32_t> free_;  // the last is handed out next
  std::vector<std::byte> scratch_;  // one page, only where the host cannot see the buffer
  bool poison_;
};

}  // namespace minfer::plan

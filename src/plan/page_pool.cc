#include "plan/page_pool.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.h"

namespace minfer::plan {
namespace {

constexpr std::byte kPoison{0xFF};

}  // namespace

Status copy_within(backend::Backend& backend, backend::Buffer& buffer, std::uint64_t from,
                   std::uint64_t to, std::uint64_t size_bytes, std::vector<std::byte>& scratch) {
  if (std::byte* data = buffer.host_data()) {
    std::memmove(data + to, data + from, size_bytes);
    return ok_status();
  }
  scratch.resize(std::max<std::size_t>(scratch.size(), size_bytes));
  const std::span<std::byte> bytes(scratch.data(), size_bytes);
  MINFER_RETURN_IF_ERROR(backend.copy_to_host(bytes, buffer, from));
  return backend.copy_from_host(buffer, to, bytes);
}

Status fill(backend::Backend& backend, backend::Buffer& buffer, std::uint64_t offset,
            std::uint64_t size_bytes, std::byte value, std::vector<std::byte>& scratch) {
  if (std::byte* data = buffer.host_data()) {
    std::memset(data + offset, std::to_integer<int>(value), size_bytes);
    return ok_status();
  }
  scratch.resize(std::max<std::size_t>(scratch.size(), size_bytes));
  std::fill_n(scratch.begin(), size_bytes, value);
  return backend.copy_from_host(buffer, offset, {scratch.data(), size_bytes});
}

Result<PagePool> PagePool::create(backend::Backend& backend, std::uint64_t page_bytes,
                                  std::int32_t n_pages, bool poison) {
  const auto total = checked_mul<std::uint64_t>(page_bytes, static_cast<std::uint64_t>(n_pages));
  if (!total) return out_of_memory("the KV would be larger than any memory");
  MINFER_ASSIGN_OR_RETURN(auto buffer, backend.allocate(*total));
  return PagePool(backend, std::move(buffer), page_bytes, n_pages, poison);
}

PagePool::PagePool(backend::Backend& backend, std::unique_ptr<backend::Buffer> buffer,
                   std::uint64_t page_bytes, std::int32_t n_pages, bool poison)
    : backend_(&backend),
      buffer_(std::move(buffer)),
      page_bytes_(page_bytes),
      refs_(static_cast<std::size_t>(n_pages), 0),
      poison_(poison) {
  free_.reserve(refs_.size());
  for (std::int32_t page = n_pages - 1; page >= 0; --page) free_.push_back(page);
  if (buffer_->host_data() == nullptr) scratch_.resize(page_bytes);
}

std::int32_t PagePool::take() {
  MINFER_CHECK(!free_.empty());
  const std::int32_t page = free_.back();
  free_.pop_back();
  refs_[static_cast<std::size_t>(page)] = 1;
  poison(page);
  return page;
}

void PagePool::add_ref(std::int32_t page) {
  MINFER_CHECK(refs(page) > 0);
  ++refs_[static_cast<std::size_t>(page)];
}

void PagePool::release(std::int32_t page) {
  MINFER_CHECK(refs(page) > 0);
  if (--refs_[static_cast<std::size_t>(page)] > 0) return;
  free_.push_back(page);
  poison(page);
}

Status PagePool::copy(std::int32_t from, std::int32_t to) {
  return copy_within(*backend_, *buffer_, static_cast<std::uint64_t>(from) * page_bytes_,
                     static_cast<std::uint64_t>(to) * page_bytes_, page_bytes_, scratch_);
}

void PagePool::poison(std::int32_t page) {
  if (!poison_) return;
  // A failure to poison hides no wrong result: the page is written before it is read.
  const Status ignored = fill(*backend_, *buffer_, static_cast<std::uint64_t>(page) * page_bytes_,
                              page_bytes_, kPoison, scratch_);
  static_cast<void>(ignored);
}

}  // namespace minfer::plan

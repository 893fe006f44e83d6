#include "plan/page_pool.h"

#include <algorithm>
#include <cstring>
#include <numeric>
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

Result<PagePool> PagePool::create(backend::Backend& backend, std::vector<std::uint64_t> strip_bytes,
                                  std::int32_t n_pages, bool poison) {
  const std::uint64_t page_bytes =
      std::accumulate(strip_bytes.begin(), strip_bytes.end(), std::uint64_t{0});
  const auto total = checked_mul<std::uint64_t>(page_bytes, static_cast<std::uint64_t>(n_pages));
  if (!total) return out_of_memory("the KV would be larger than any memory");
  MINFER_ASSIGN_OR_RETURN(auto buffer, backend.allocate(*total));
  return PagePool(backend, std::move(buffer), std::move(strip_bytes), n_pages, poison);
}

PagePool::PagePool(backend::Backend& backend, std::unique_ptr<backend::Buffer> buffer,
                   std::vector<std::uint64_t> strip_bytes, std::int32_t n_pages, bool poison)
    : backend_(&backend),
      buffer_(std::move(buffer)),
      strip_bytes_(std::move(strip_bytes)),
      page_bytes_(std::accumulate(strip_bytes_.begin(), strip_bytes_.end(), std::uint64_t{0})),
      refs_(static_cast<std::size_t>(n_pages), 0),
      n_free_(n_pages),
      poison_(poison) {
  if (buffer_->host_data() != nullptr || strip_bytes_.empty()) return;
  scratch_.resize(*std::max_element(strip_bytes_.begin(), strip_bytes_.end()));
}

std::int32_t PagePool::take(std::int32_t wanted) {
  MINFER_CHECK(n_free_ > 0 && wanted >= 0);
  std::int32_t page = wanted % n_pages();
  while (refs(page) > 0) page = (page + 1) % n_pages();
  refs_[static_cast<std::size_t>(page)] = 1;
  --n_free_;
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
  ++n_free_;
  poison(page);
}

Status PagePool::copy(std::int32_t from, std::int32_t to) {
  std::uint64_t before = 0;
  for (const std::uint64_t bytes : strip_bytes_) {
    MINFER_RETURN_IF_ERROR(copy_within(*backend_, *buffer_, offset(before, bytes, from),
                                       offset(before, bytes, to), bytes, scratch_));
    before += bytes;
  }
  return ok_status();
}

void PagePool::poison(std::int32_t page) {
  if (!poison_) return;
  std::uint64_t before = 0;
  for (const std::uint64_t bytes : strip_bytes_) {
    // A failure to poison hides no wrong result: the page is written before it is read.
    static_cast<void>(
        fill(*backend_, *buffer_, offset(before, bytes, page), bytes, kPoison, scratch_));
    before += bytes;
  }
}

}  // namespace minfer::plan

#include "plan/kv_rows.h"

#include <fmt/format.h>

namespace minfer::plan {
namespace {

std::uint64_t layer_bytes(const backend::KvGeometry& geometry, const backend::KvLayer& layer) {
  return backend::packed_kv_row_bytes(geometry.format, layer.n_head_kv, layer.head_dim);
}

}  // namespace

std::uint64_t packed_row_bytes(const backend::KvGeometry& geometry) {
  std::uint64_t bytes = 0;
  for (const backend::KvLayer& layer : geometry.layers) bytes += layer_bytes(geometry, layer);
  return bytes;
}

SequenceRows::SequenceRows(KvStore& kv, SequenceId sequence)
    : kv_(kv), sequence_(sequence), row_bytes_(packed_row_bytes(kv.geometry())) {}

Status SequenceRows::check_supported() {
  if (kv_.access({&sequence_, 1}).state_read.empty()) return ok_status();
  return unsupported("the state of recurrent layers cannot be kept in a file yet");
}

Status SequenceRows::read(std::int32_t begin, std::int32_t n, std::span<std::byte> to) {
  MINFER_CHECK(begin >= 0 && n > 0 && n == rows_in_page(begin, begin + n));
  MINFER_CHECK(begin + n <= length() && to.size() == static_cast<std::uint64_t>(n) * row_bytes_);
  MINFER_RETURN_IF_ERROR(check_supported());
  const backend::KvGeometry& geometry = kv_.geometry();
  for (const backend::KvLayer& layer : geometry.layers) {
    if (layer.n_head_kv == 0) continue;
    const std::int32_t page =
        kv_.pages(sequence_, layer.group)[static_cast<std::size_t>(begin / backend::kPageRows)];
    if (page < 0) {
      return unsupported(fmt::format(
          "positions {} to {} are no longer kept: they lie before the window of some layers", begin,
          begin + n - 1));
    }
    const auto bytes = static_cast<std::size_t>(n) * layer_bytes(geometry, layer);
    MINFER_RETURN_IF_ERROR(kv_.backend().pack_kv_rows(geometry, layer, kv_.group_data(layer.group),
                                                      page, begin % backend::kPageRows, n,
                                                      to.first(bytes)));
    to = to.subspan(bytes);
  }
  return ok_status();
}

Status SequenceRows::append(std::int32_t n, std::int32_t n_packed,
                            std::span<const std::byte> from) {
  const std::int32_t begin = length();
  MINFER_CHECK(n > 0 && n <= n_packed && n == rows_in_page(begin, begin + n));
  MINFER_CHECK(from.size() == static_cast<std::uint64_t>(n_packed) * row_bytes_);
  MINFER_RETURN_IF_ERROR(check_supported());
  MINFER_RETURN_IF_ERROR(kv_.prepare_rows(sequence_, n));
  const backend::KvGeometry& geometry = kv_.geometry();
  const backend::KvAccess access = kv_.access({&sequence_, 1});
  for (const backend::KvLayer& layer : geometry.layers) {
    if (layer.n_head_kv == 0) continue;
    const std::int32_t page =
        kv_.pages(sequence_, layer.group)[static_cast<std::size_t>(begin / backend::kPageRows)];
    const auto bytes = static_cast<std::size_t>(n_packed) * layer_bytes(geometry, layer);
    const Status unpacked = kv_.backend().unpack_kv_rows(
        geometry, layer, access.group_base[static_cast<std::size_t>(layer.group)], page,
        begin % backend::kPageRows, n, n_packed, from.first(bytes));
    if (!unpacked.ok()) {
      kv_.abandon_rows(sequence_);
      return unpacked;
    }
    from = from.subspan(bytes);
  }
  kv_.commit_rows(sequence_, n);
  return ok_status();
}

}  // namespace minfer::plan

// kv_rows: rows of the KV of one sequence as plain bytes, for files.
//
// Owns: nothing. KvRows is what a file needs of a KV; SequenceRows is that of a KvStore, tests have
// one of their own.
// Invariants: a row is the K and V of one position over all layers, in order; its bytes are the
// same whatever page it lies in. The rows of one call lie in one page and are packed together,
// layer after layer (backend::Backend::pack_kv_rows). Thread-safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "plan/kv_store.h"

namespace minfer::plan {

class KvRows {
 public:
  virtual ~KvRows() = default;

  /// Bytes of one position.
  [[nodiscard]] virtual std::uint64_t row_bytes() const = 0;
  /// Positions that are valid, and how many there may be.
  [[nodiscard]] virtual std::int32_t length() const = 0;
  [[nodiscard]] virtual std::int32_t capacity() const = 0;

  /// Packs the rows of positions [begin, begin + n), which lie in one page, into `to`
  /// (n * row_bytes() long). kUnsupported: they are not kept (a window has passed them), or the
  /// model has state beside its rows.
  virtual Status read(std::int32_t begin, std::int32_t n, std::span<std::byte> to) = 0;
  /// Appends, at length(), the first n of the `n_packed` rows in `from`; they lie in one page.
  /// Nothing has changed on error.
  virtual Status append(std::int32_t n, std::int32_t n_packed, std::span<const std::byte> from) = 0;
};

/// Rows at the beginning of [begin, end) that lie in one page.
constexpr std::int32_t rows_in_page(std::int32_t begin, std::int32_t end) {
  const std::int32_t left = backend::kPageRows - begin % backend::kPageRows;
  return end - begin < left ? end - begin : left;
}

class SequenceRows final : public KvRows {
 public:
  /// Both must outlive it; the sequence must be open.
  SequenceRows(KvStore& kv, SequenceId sequence);

  [[nodiscard]] std::uint64_t row_bytes() const override { return row_bytes_; }
  [[nodiscard]] std::int32_t length() const override { return kv_.length(sequence_); }
  [[nodiscard]] std::int32_t capacity() const override { return kv_.geometry().n_ctx; }
  Status read(std::int32_t begin, std::int32_t n, std::span<std::byte> to) override;
  Status append(std::int32_t n, std::int32_t n_packed, std::span<const std::byte> from) override;

 private:
  [[nodiscard]] Status check_supported();

  KvStore& kv_;
  SequenceId sequence_;
  std::uint64_t row_bytes_ = 0;
};

/// Bytes of one position over all layers, packed.
std::uint64_t packed_row_bytes(const backend::KvGeometry& geometry);

}  // namespace minfer::plan

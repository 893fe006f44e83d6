#include "cpu/kv_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/half.h"
#include "cpu/kernels/kv/kv.h"
#include "cpu/kernels/lanes/lanes.h"

namespace minfer::cpu {
namespace {

using backend::KvFormat;
constexpr std::int32_t kRows = backend::kPageRows;
constexpr std::int32_t kBlock = 32;

std::uint64_t align64(std::uint64_t n) { return (n + 63) / 64 * 64; }

std::uint64_t element_bytes(KvFormat format) {
  switch (format) {
    case KvFormat::kF32:
      return 4;
    case KvFormat::kF16:
      return 2;
    case KvFormat::kQ8_0:
      break;
  }
  return 1;
}

/// The whole number nearest to x, ties to even, for |x| < 2^22.
float round_half_even(float x) { return (x + 12582912.0F) - 12582912.0F; }

/// One block of 32 of q8_0 (docs/arithmetic.md); returns the scale as f16.
std::uint16_t quantize_q8_0(const float* x, std::int8_t* q) {
  std::uint32_t largest = 0;
  for (int i = 0; i < kBlock; ++i) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffU);
  }
  const std::uint16_t scale = f32_to_f16(std::bit_cast<float>(largest) / 127.0F);
  const std::uint16_t exponent = scale & 0x7c00U;
  if (scale == 0 || exponent == 0x7c00U) {
    std::memset(q, 0, kBlock);
    return scale;
  }
  const float inverse = 1.0F / f16_to_f32(scale);
  for (int i = 0; i < kBlock; ++i) {
    const float rounded = round_half_even(std::clamp(x[i] * inverse, -127.0F, 127.0F));
    q[i] = static_cast<std::int8_t>(rounded);
  }
  return scale;
}

/// Strides of K (d to d) and of V (row to row), in elements.
struct Part {
  std::byte* data;
  std::byte* scales;
  std::int64_t start, step;  // element d of the row is at start + d * step
  std::int64_t scale_start, scale_step;
};

Part k_part(const KvHeadLayout& layout, std::byte* head, std::int32_t row) {
  return {head, head + layout.k_scales, row, kRows, row, kRows};
}
Part v_part(const KvHeadLayout& layout, std::byte* head, std::int32_t row) {
  const std::int64_t n_scales = layout.head_dim / kBlock;
  return {head + layout.v,
          head + layout.v_scales,
          std::int64_t{row} * layout.v_stride,
          1,
          row * n_scales,
          1};
}

void store_part(Isa isa, const KvHeadLayout& layout, const Part& part, const float* x) {
  const std::int32_t n = layout.head_dim;
  switch (layout.format) {
    case KvFormat::kF32: {
      auto* to = reinterpret_cast<float*>(part.data) + part.start;
      for (std::int32_t d = 0; d < n; ++d) to[d * part.step] = x[d];
      return;
    }
    case KvFormat::kF16: {
      auto* to = reinterpret_cast<std::uint16_t*>(part.data) + part.start;
      std::uint16_t half[kBlock];
      for (std::int32_t from = 0; from < n; from += kBlock) {
        const std::int32_t count = std::min(kBlock, n - from);
        kv_kernels(isa).narrow_f16(x + from, half, count);
        for (std::int32_t i = 0; i < count; ++i) to[(from + i) * part.step] = half[i];
      }
      return;
    }
    case KvFormat::kQ8_0: {
      auto* to = reinterpret_cast<std::int8_t*>(part.data) + part.start;
      auto* scales = reinterpret_cast<std::uint16_t*>(part.scales) + part.scale_start;
      std::int8_t q[kBlock];
      for (std::int32_t from = 0; from < n; from += kBlock) {
        scales[from / kBlock * part.scale_step] = quantize_q8_0(x + from, q);
        for (std::int32_t i = 0; i < kBlock; ++i) to[(from + i) * part.step] = q[i];
      }
      return;
    }
  }
}

void read_part(const KvHeadLayout& layout, const Part& part, float* to) {
  for (std::int32_t d = 0; d < layout.head_dim; ++d) {
    const std::int64_t at = part.start + d * part.step;
    switch (layout.format) {
      case KvFormat::kF32:
        to[d] = reinterpret_cast<const float*>(part.data)[at];
        break;
      case KvFormat::kF16:
        to[d] = f16_to_f32(reinterpret_cast<const std::uint16_t*>(part.data)[at]);
        break;
      case KvFormat::kQ8_0: {
        const auto* scales = reinterpret_cast<const std::uint16_t*>(part.scales);
        const float scale = f16_to_f32(scales[part.scale_start + d / kBlock * part.scale_step]);
        to[d] = scale * static_cast<float>(reinterpret_cast<const std::int8_t*>(part.data)[at]);
        break;
      }
    }
  }
}

/// A matrix inside a head that rows of KV take part of: `lines` runs of memory, `stride` bytes from
/// one to the next, `line` bytes of each being wanted from `offset` on. In the packed form they are
/// `packed` bytes apart.
struct Lines {
  std::uint64_t offset;
  std::int64_t lines;
  std::uint64_t line, stride, packed;
};

/// The four matrices of rows [row, row + n), in packed order; those of scales are empty but for
/// q8_0.
std::array<Lines, 4> row_lines(const KvHeadLayout& layout, std::int32_t row, std::int32_t n,
                               std::int32_t n_packed) {
  const std::uint64_t element = element_bytes(layout.format);
  const auto first = static_cast<std::uint64_t>(row);
  const auto rows = static_cast<std::uint64_t>(n);
  const auto packed = static_cast<std::uint64_t>(n_packed);
  const auto dim = static_cast<std::uint64_t>(layout.head_dim);
  const std::int64_t blocks = layout.format == KvFormat::kQ8_0 ? layout.head_dim / kBlock : 0;
  const auto v_line = dim * element;
  const auto v_stride = static_cast<std::uint64_t>(layout.v_stride) * element;
  const auto scale_line = static_cast<std::uint64_t>(blocks) * 2;
  return {{{first * element, layout.head_dim, rows * element, kRows * element, packed * element},
           {layout.k_scales + first * 2, blocks, rows * 2, kRows * 2, packed * 2},
           {layout.v + first * v_stride, n, v_line, v_stride, v_line},
           {layout.v_scales + first * scale_line, n, scale_line, scale_line, scale_line}}};
}

/// Bytes that a matrix of `n_packed` rows takes when packed.
std::uint64_t packed_bytes(const Lines& m, std::size_t index, std::int32_t n_packed) {
  const bool by_rows = index >= 2;
  return m.packed * static_cast<std::uint64_t>(by_rows ? n_packed : m.lines);
}

}  // namespace

KvHeadLayout kv_head_layout(KvFormat format, std::int32_t head_dim) {
  const std::uint64_t element = element_bytes(format);
  const auto n = static_cast<std::uint64_t>(head_dim);
  const std::uint64_t scale_bytes = format == KvFormat::kQ8_0 ? align64(n / kBlock * kRows * 2) : 0;
  KvHeadLayout layout{.format = format, .head_dim = head_dim};
  layout.v_stride = (head_dim + kLanes - 1) / kLanes * kLanes;
  layout.k_scales = align64(n * kRows * element);
  layout.v = layout.k_scales + scale_bytes;
  layout.v_scales =
      layout.v + align64(static_cast<std::uint64_t>(layout.v_stride) * kRows * element);
  layout.bytes = layout.v_scales + scale_bytes;
  return layout;
}

Status check_kv_format(KvFormat format, std::int32_t head_dim) {
  if (format == KvFormat::kQ8_0 && head_dim % kBlock != 0) {
    return unsupported(
        fmt::format("a q8_0 KV cache needs heads of a multiple of 32 elements, not {}; use f16 or "
                    "f32",
                    head_dim));
  }
  return ok_status();
}

void kv_store_head(Isa isa, const KvHeadLayout& layout, std::byte* head, std::int32_t row,
                   const float* k, const float* v) {
  store_part(isa, layout, k_part(layout, head, row), k);
  store_part(isa, layout, v_part(layout, head, row), v);
}

void kv_read_head(const KvHeadLayout& layout, const std::byte* head, std::int32_t row, float* k,
                  float* v) {
  auto* bytes = const_cast<std::byte*>(head);  // Part serves readers and writers
  read_part(layout, k_part(layout, bytes, row), k);
  read_part(layout, v_part(layout, bytes, row), v);
}

std::byte* kv_pack_head(const KvHeadLayout& layout, const std::byte* head, std::int32_t row,
                        std::int32_t n, std::byte* to) {
  for (const Lines& m : row_lines(layout, row, n, n)) {
    const std::byte* from = head + m.offset;
    for (std::int64_t i = 0; i < m.lines; ++i, from += m.stride, to += m.packed) {
      std::memcpy(to, from, m.line);
    }
  }
  return to;
}

const std::byte* kv_unpack_head(const KvHeadLayout& layout, std::byte* head, std::int32_t row,
                                std::int32_t n, std::int32_t n_packed, const std::byte* from) {
  const std::array<Lines, 4> matrices = row_lines(layout, row, n, n_packed);
  for (std::size_t index = 0; index < matrices.size(); ++index) {
    const Lines& m = matrices[index];
    std::byte* to = head + m.offset;
    const std::byte* line = from;
    for (std::int64_t i = 0; i < m.lines; ++i, to += m.stride, line += m.packed) {
      std::memcpy(to, line, m.line);
    }
    from += packed_bytes(m, index, n_packed);
  }
  return from;
}

void kv_widen_head(Isa isa, const KvHeadLayout& layout, const std::byte* head, std::int32_t begin,
                   std::int32_t end, float* k_to, float* v_to) {
  const std::int32_t k_begin = begin / kLanes * kLanes;
  const std::int32_t k_count = (end - k_begin + kLanes - 1) / kLanes * kLanes;
  const std::int64_t v_begin = std::int64_t{begin} * layout.v_stride;
  const std::byte* v_head = head + layout.v;
  const KvKernels& kernels = kv_kernels(isa);
  k_to += k_begin;
  v_to += v_begin;
  switch (layout.format) {
    case KvFormat::kF32: {
      const auto* k = reinterpret_cast<const float*>(head) + k_begin;
      for (std::int32_t d = 0; d < layout.head_dim; ++d) {
        std::copy_n(k + d * kRows, k_count, k_to + d * kRows);
      }
      const auto* v = reinterpret_cast<const float*>(v_head) + v_begin;
      std::copy_n(v, std::int64_t{end - begin} * layout.v_stride, v_to);
      return;
    }
    case KvFormat::kF16: {
      const auto* k = reinterpret_cast<const std::uint16_t*>(head) + k_begin;
      const auto* v = reinterpret_cast<const std::uint16_t*>(v_head) + v_begin;
      kernels.widen_f16(k, kRows, k_to, kRows, layout.head_dim, k_count);
      kernels.widen_f16(v, layout.v_stride, v_to, layout.v_stride, end - begin, layout.v_stride);
      return;
    }
    case KvFormat::kQ8_0: {
      const auto* k_scales = reinterpret_cast<const std::uint16_t*>(head + layout.k_scales);
      const auto* v_scales = reinterpret_cast<const std::uint16_t*>(head + layout.v_scales);
      kernels.widen_q8_k(reinterpret_cast<const std::int8_t*>(head) + k_begin, k_scales + k_begin,
                         k_to, layout.head_dim, k_count);
      kernels.widen_q8_v(reinterpret_cast<const std::int8_t*>(v_head) + v_begin,
                         v_scales + std::int64_t{begin} * (layout.head_dim / kBlock), v_to,
                         layout.v_stride, end - begin, layout.head_dim);
      return;
    }
  }
}

}  // namespace minfer::cpu

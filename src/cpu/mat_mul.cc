#include "cpu/mat_mul.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "cpu/kernels/mat_mul/interleave.h"
#include "cpu/kernels/mat_mul/kernels.h"
#include "cpu/kernels/mat_mul/layout.h"
#include "cpu/kernels/quantize/quantize.h"
#include "quant/codec.h"

namespace minfer::cpu {
namespace {

constexpr MatMulEntry kKernels[] = {
#define MINFER_MAT_MUL(dtype, isa, layout, function) \
  {DType::dtype, Isa::isa, WeightLayout::layout, function, #function},
#include "cpu/kernels/mat_mul/kernels.inc"
#undef MINFER_MAT_MUL
};

constexpr std::size_t kMaxTypes = 64;  // above the number of every type with a kernel

/// kernels.inc by [instruction set][layout][type].
struct KernelTable {
  MatMulKernel of[kIsaCount][2][kMaxTypes] = {};
};

constexpr KernelTable make_table() {
  KernelTable table;
  for (const MatMulEntry& entry : kKernels) {
    for (std::size_t isa = 0; isa < kIsaCount; ++isa) {
      if (!isa_includes(static_cast<Isa>(isa), entry.isa)) continue;
      table.of[isa][static_cast<std::size_t>(entry.layout)][static_cast<std::size_t>(entry.dtype)] =
          entry.kernel;
    }
  }
  return table;
}
constexpr KernelTable kTable = make_table();

MatMulKernel find_kernel(DType type, Isa isa, WeightLayout layout) {
  const auto index = static_cast<std::size_t>(type);
  if (index >= kMaxTypes) return nullptr;
  return kTable.of[static_cast<std::size_t>(isa)][static_cast<std::size_t>(layout)][index];
}

}  // namespace

std::span<const MatMulEntry> mat_mul_kernels() { return kKernels; }

bool takes_quantized_rows(DType weight_type) { return is_block_quantized(weight_type); }

bool can_mat_mul(DType type) {
  return find_kernel(type, Isa::kScalar, WeightLayout::kPlain) != nullptr;
}

bool can_interleave(DType type, Isa isa) {
  return interleaver(type) != nullptr &&
         find_kernel(type, isa, WeightLayout::kInterleaved) != nullptr;
}

std::uint64_t interleaved_bytes(DType type, std::int64_t n_rows, std::int64_t n_cols) {
  const Interleaver* by = interleaver(type);
  MINFER_CHECK(by != nullptr && n_cols % by->block_elements == 0);
  const std::int64_t n_tiles = (n_rows + kTileRows - 1) / kTileRows;
  return static_cast<std::uint64_t>(n_tiles * (n_cols / by->block_elements) * by->tile_block_bytes);
}

void interleave(DType type, const std::byte* plain, std::int64_t n_rows, std::int64_t n_cols,
                std::byte* to, std::int64_t tile_begin, std::int64_t tile_end) {
  const Interleaver* by = interleaver(type);
  MINFER_CHECK(by != nullptr && n_cols % by->block_elements == 0);
  const std::int64_t n_blocks = n_cols / by->block_elements;
  const std::int64_t row_bytes = n_blocks * by->plain_bytes;
  to += tile_begin * n_blocks * by->tile_block_bytes;
  for (std::int64_t tile = tile_begin; tile < tile_end; ++tile) {
    const std::byte* rows[kTileRows];
    for (std::int64_t lane = 0; lane < kTileRows; ++lane) {
      const std::int64_t row = tile * kTileRows + lane;
      rows[lane] = row < n_rows ? plain + row * row_bytes : nullptr;
    }
    for (std::int64_t block = 0; block < n_blocks; ++block) {
      by->pack(rows, to);
      to += by->tile_block_bytes;
      for (const std::byte*& row : rows) {
        if (row != nullptr) row += by->plain_bytes;
      }
    }
  }
}

PackedWeight plain_weight(DType type, const std::byte* data, std::int64_t n_rows,
                          std::int64_t n_cols, std::int64_t n_matrices) {
  const auto row_bytes =
      static_cast<std::int64_t>(row_size_bytes(type, static_cast<std::uint64_t>(n_cols)));
  return {.dtype = type,
          .interleaved = false,
          .data = data,
          .n_rows = n_rows,
          .n_cols = n_cols,
          .n_matrices = n_matrices,
          .matrix_stride = n_rows * row_bytes,
          .tile_stride = kTileRows * row_bytes};
}

PackedWeight interleaved_weight(DType type, const std::byte* data, std::int64_t n_rows,
                                std::int64_t n_cols, std::int64_t n_matrices) {
  return {.dtype = type,
          .interleaved = true,
          .data = data,
          .n_rows = n_rows,
          .n_cols = n_cols,
          .n_matrices = n_matrices,
          .matrix_stride = static_cast<std::int64_t>(interleaved_bytes(type, n_rows, n_cols)),
          .tile_stride = static_cast<std::int64_t>(interleaved_bytes(type, kTileRows, n_cols))};
}

std::uint64_t q8a_row_bytes(std::int64_t n) {
  constexpr std::uint64_t kAlignment = 64;
  const auto size = static_cast<std::uint64_t>(n / kBlockElements) * sizeof(Q8ABlock);
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

void quantize_row(Isa isa, const float* x, std::int64_t n, std::byte* to) {
  quantize_kernel(isa)(x, n / kBlockElements, reinterpret_cast<Q8ABlock*>(to));
}

void quantize_block(Isa isa, const float* x32, std::int64_t block, std::int64_t /*n*/,
                    std::byte* to) {
  quantize_row(isa, x32, kBlockElements, to + block * static_cast<std::int64_t>(sizeof(Q8ABlock)));
}

namespace {

/// As many as the kernels for many rows take side by side.
constexpr std::int64_t kTilesInScratch = 2;

/// A plain matrix through the kernel for tiles, which are made on the way.
void mat_mul_tile_by_tile(MatMulKernel kernel, const MatMulArgs& args, std::int64_t tile_begin,
                          std::int64_t tile_end) {
  const PackedWeight& plain = *args.weight;
  MINFER_CHECK(args.tile != nullptr);
  const std::byte* rows = plain.data + args.matrix * plain.matrix_stride;
  for (std::int64_t tile = tile_begin; tile < tile_end; tile += kTilesInScratch) {
    const std::int64_t end = std::min(tile + kTilesInScratch, tile_end);
    const std::int64_t first_row = tile * kTileRows;
    const std::int64_t n_rows = std::min(end * kTileRows, plain.n_rows) - first_row;
    interleave(plain.dtype, rows + tile * plain.tile_stride, n_rows, plain.n_cols, args.tile, 0,
               end - tile);
    const PackedWeight part = interleaved_weight(plain.dtype, args.tile, n_rows, plain.n_cols);
    MatMulArgs part_args = args;
    part_args.weight = &part;
    part_args.matrix = 0;
    part_args.column_base = args.column_base - first_row;
    kernel(part_args, 0, end - tile);
  }
}

}  // namespace

std::uint64_t tile_scratch_bytes(const PackedWeight& weight, Isa isa) {
  if (weight.interleaved || !can_interleave(weight.dtype, isa)) return 0;
  return interleaved_bytes(weight.dtype, kTilesInScratch * kTileRows, weight.n_cols);
}

void mat_mul(Isa isa, const MatMulArgs& args, std::int64_t tile_begin, std::int64_t tile_end) {
  const PackedWeight& weight = *args.weight;
  if (!weight.interleaved && can_interleave(weight.dtype, isa)) {
    const MatMulKernel kernel = find_kernel(weight.dtype, isa, WeightLayout::kInterleaved);
    return mat_mul_tile_by_tile(kernel, args, tile_begin, tile_end);
  }
  const MatMulKernel kernel = find_kernel(
      weight.dtype, isa, weight.interleaved ? WeightLayout::kInterleaved : WeightLayout::kPlain);
  MINFER_CHECK(kernel != nullptr);
  kernel(args, tile_begin, tile_end);
}

void decode_row(const PackedWeight& weight, std::int64_t row, float* to) {
  const quant::Codec* codec = quant::codec(weight.dtype);
  MINFER_CHECK(codec != nullptr);
  if (!weight.interleaved) {
    const std::int64_t row_bytes = weight.tile_stride / kTileRows;
    codec->decode_row(weight.data + row * row_bytes, to, weight.n_cols);
    return;
  }
  const Interleaver* by = interleaver(weight.dtype);
  MINFER_CHECK(by != nullptr);
  constexpr std::int64_t kMostBlockBytes = 256;
  std::byte block[kMostBlockBytes];
  MINFER_CHECK(by->plain_bytes <= kMostBlockBytes);
  const std::byte* from = weight.data + row / kTileRows * weight.tile_stride;
  for (std::int64_t k = 0; k < weight.n_cols; k += by->block_elements) {
    by->extract(from, static_cast<int>(row % kTileRows), block);
    codec->decode_row(block, to + k, by->block_elements);
    from += by->tile_block_bytes;
  }
}

}  // namespace minfer::cpu

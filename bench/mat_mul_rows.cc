// Matrix products, a benchmark a row of kernels.inc: one row of x (a decode step), 8 (sequences
// together) and 64 (prefill); quantising x; interleaving weights.
#include <fmt/format.h>

#include <memory>

#include "bench/kernel_bench.h"
#include "cpu/kernels/mat_mul/interleave.h"
#include "cpu/kernels/mat_mul/kernels.h"
#include "quant/codec.h"

namespace minfer::bench {
namespace {

using cpu::MatMulEntry;
using cpu::WeightLayout;

constexpr std::int64_t kColumns = 1024;
constexpr std::int64_t kManyRows = 48 << 10;  // of weights: from memory
constexpr std::int64_t kFewRows = 1024;       // of weights: from a cache

std::vector<std::byte> some_weights(DType type, std::int64_t n_rows) {
  std::vector<std::byte> bytes(row_size_bytes(type, static_cast<std::uint64_t>(n_rows * kColumns)));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>((i * 2654435761U >> 7) & 0x3B);
  }
  // An exponent in place of an f16: scales as small as the rest, and no subnormal sums.
  for (std::size_t i = 0; type == DType::kMXFP4 && i < bytes.size(); i += 17) {
    bytes[i] = std::byte{120};
  }
  return bytes;
}

/// The operands of one product.
struct Product {
  Product(const MatMulEntry& entry, std::int64_t n_rows, std::int64_t n_x)
      : plain(some_weights(entry.dtype, n_rows)),
        x(static_cast<std::size_t>(n_x * kColumns)),
        y(static_cast<std::size_t>(n_x * n_rows)) {
    weight = cpu::plain_weight(entry.dtype, plain.data(), n_rows, kColumns);
    if (entry.layout == WeightLayout::kInterleaved) {
      packed.resize(cpu::interleaved_bytes(entry.dtype, n_rows, kColumns));
      cpu::interleave(entry.dtype, plain.data(), n_rows, kColumns, packed.data(), 0,
                      n_rows / cpu::kTileRows);
      weight = cpu::interleaved_weight(entry.dtype, packed.data(), n_rows, kColumns);
    }
    args = {.weight = &weight,
            .x = reinterpret_cast<const std::byte*>(x.data()),
            .x_stride = kColumns * static_cast<std::int64_t>(sizeof(float)),
            .n_x = n_x,
            .y = y.data(),
            .y_stride = n_rows};
    if (cpu::takes_quantized_rows(entry.dtype)) {
      // Q8A rows take less than the floats: quantised in place, row by row, over their start.
      for (std::int64_t i = 0; i < n_x; ++i) {
        std::vector<float> row(x.data() + i * kColumns, x.data() + (i + 1) * kColumns);
        cpu::quantize_row(cpu::Isa::kScalar, row.data(), kColumns,
                          reinterpret_cast<std::byte*>(x.data() + i * kColumns));
      }
    }
  }

  std::vector<std::byte> plain;
  std::vector<std::byte> packed;
  Floats x;
  Floats y;
  cpu::PackedWeight weight;
  cpu::MatMulArgs args;
};

void add_product(const MatMulEntry& entry, std::int64_t n_rows, std::int64_t n_x) {
  const std::uint64_t weight_bytes =
      row_size_bytes(entry.dtype, static_cast<std::uint64_t>(n_rows * kColumns));
  const double flops = 2.0 * static_cast<double>(n_rows * kColumns * n_x);
  const bool quantized = cpu::takes_quantized_rows(entry.dtype);
  const Work work = {.bytes = static_cast<double>(weight_bytes),
                     .int8_flops = quantized ? flops : 0,
                     .float_flops = quantized ? 0 : flops};
  const auto name =
      fmt::format("mat_mul/{}/{}/x{}", dtype_name(entry.dtype),
                  entry.layout == WeightLayout::kPlain ? "plain" : "interleaved", n_x);
  add(name, entry.isa, work, [=] {
    const auto product = std::make_shared<Product>(entry, n_rows, n_x);
    return [=] { entry.kernel(product->args, 0, n_rows / cpu::kTileRows); };
  });
}

void add_interleave(DType type) {
  const std::uint64_t bytes =
      row_size_bytes(type, static_cast<std::uint64_t>(kManyRows * kColumns)) +
      cpu::interleaved_bytes(type, kManyRows, kColumns);
  add(fmt::format("interleave/{}", dtype_name(type)), cpu::Isa::kScalar,
      {.bytes = static_cast<double>(bytes)}, [=] {
        const auto from = std::make_shared<std::vector<std::byte>>(some_weights(type, kManyRows));
        const auto to = std::make_shared<std::vector<std::byte>>(
            cpu::interleaved_bytes(type, kManyRows, kColumns));
        return [=] {
          cpu::interleave(type, from->data(), kManyRows, kColumns, to->data(), 0,
                          kManyRows / cpu::kTileRows);
        };
      });
}

void add_quantize(cpu::Isa isa) {
  constexpr std::int64_t kFloats = 4096;
  const double bytes = kFloats * 4.0 + static_cast<double>(cpu::q8a_row_bytes(kFloats));
  add("quantize/f32_q8a", isa, {.bytes = bytes}, [=] {
    const auto x = std::make_shared<Floats>(kFloats);
    const auto to = std::make_shared<Floats>(kFloats);
    return [=] {
      cpu::quantize_row(isa, x->data(), kFloats, reinterpret_cast<std::byte*>(to->data()));
    };
  });
}

}  // namespace

void add_mat_mul_rows() {
  for (const MatMulEntry& entry : cpu::mat_mul_kernels()) {
    // Scalar kernels compute: a few rows tell as much.
    add_product(entry, entry.isa == cpu::Isa::kScalar ? kFewRows : kManyRows, 1);
    add_product(entry, kFewRows, 8);
    add_product(entry, kFewRows, 64);
  }
  for (const quant::Codec& codec : quant::all_codecs()) {
    if (cpu::interleaver(codec.dtype) != nullptr) add_interleave(codec.dtype);
  }
  for (const cpu::Isa isa : {cpu::Isa::kScalar, cpu::Isa::kAvx2}) add_quantize(isa);
}

}  // namespace minfer::bench

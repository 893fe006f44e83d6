#include "cpu/weights.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <utility>

#include "cpu/runtime.h"
#include "quant/codec.h"

namespace minfer::cpu {
namespace {

/// The address ranges that map a file read-only: only there may pages be dropped and read again.
class ReadOnlyMappings {
 public:
  ReadOnlyMappings() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      unsigned long long begin = 0;
      unsigned long long end = 0;
      unsigned long long inode = 0;
      char access[5] = {};
      if (std::sscanf(line.c_str(), "%llx-%llx %4s %*s %*s %llu", &begin, &end, access, &inode) ==
              4 &&
          inode != 0 && access[1] == '-') {
        ranges_.push_back({begin, end});
      }
    }
  }

  /// Gives back the whole pages inside [data, data + size), if one such mapping holds them.
  void drop(const std::byte* data, std::uint64_t size) const {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const auto address = reinterpret_cast<std::uint64_t>(data);
    const std::uint64_t begin = (address + page - 1) / page * page;
    const std::uint64_t end = (address + size) / page * page;
    if (begin >= end) return;
    for (const auto& [from, to] : ranges_) {
      if (from <= begin && end <= to) {
        // A refusal only means that the pages stay resident.
        (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
        return;
      }
    }
  }

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;
};

PackedWeight plain_matrix(const TensorView& view) {
  const std::int64_t n_cols = view.shape.inner();
  const std::int64_t n_rows = view.shape.rank() > 1 ? view.shape[view.shape.rank() - 2] : 1;
  const std::int64_t n_matrices =
      view.shape.elements() / std::max<std::int64_t>(n_rows * n_cols, 1);
  return plain_weight(view.dtype, view.data, n_rows, n_cols, n_matrices);
}

/// Interleaves every matrix of `plain` into `to` and describes the copy.
PackedWeight interleave_all(Runtime& runtime, const PackedWeight& plain, std::byte* to) {
  const PackedWeight w =
      interleaved_weight(plain.dtype, to, plain.n_rows, plain.n_cols, plain.n_matrices);
  const std::int64_t tiles = (plain.n_rows + kTileRows - 1) / kTileRows;
  constexpr std::int64_t kTilesAtOnce = 16;
  const std::int64_t chunks = (tiles + kTilesAtOnce - 1) / kTilesAtOnce;
  std::atomic<std::int64_t> next{0};
  runtime.pool().run([&](int) {
    for (std::int64_t i = next.fetch_add(1); i < chunks * plain.n_matrices; i = next.fetch_add(1)) {
      const std::int64_t matrix = i / chunks;
      const std::int64_t begin = i % chunks * kTilesAtOnce;
      interleave(plain.dtype, plain.data + matrix * plain.matrix_stride, plain.n_rows, plain.n_cols,
                 to + matrix * w.matrix_stride, begin, std::min(begin + kTilesAtOnce, tiles));
    }
  });
  return w;
}

}  // namespace

Result<std::unique_ptr<CpuWeights>> CpuWeights::load(Runtime& runtime,
                                                     std::span<const backend::WeightSource> sources,
                                                     bool repack) {
  auto weights = std::make_unique<CpuWeights>();
  const ReadOnlyMappings mappings;
  weights->entries_.reserve(sources.size());
  for (const backend::WeightSource& source : sources) {
    Entry& entry = weights->entries_.emplace_back();
    entry.name = source.name;
    const TensorView& view = source.view;
    if ((source.uses & backend::kUseElementwise) != 0) {
      const quant::Codec* codec = quant::codec(view.dtype);
      if (codec == nullptr) {
        return unsupported(fmt::format("[cpu] tensor \"{}\": elements of type {} are not supported",
                                       source.name, dtype_name(view.dtype)));
      }
      entry.floats.resize(static_cast<std::size_t>(view.shape.elements()));
      codec->decode_row(view.data, entry.floats.data(), view.shape.elements());
      weights->extra_bytes_ += entry.floats.size() * sizeof(float);
    }
    if ((source.uses & (backend::kUseMatMul | backend::kUseRowLookup)) == 0) continue;
    entry.matrix = plain_matrix(view);
    if (!repack || (source.uses & backend::kUseMatMul) == 0 ||
        !can_interleave(view.dtype, runtime.isa())) {
      continue;
    }
    const PackedWeight plain = entry.matrix;
    const std::uint64_t bytes = static_cast<std::uint64_t>(plain.n_matrices) *
                                interleaved_bytes(plain.dtype, plain.n_rows, plain.n_cols);
    MINFER_ASSIGN_OR_RETURN(entry.copy, MemoryBlock::create(bytes));
    entry.copy.prefer_large_pages();
    entry.matrix = interleave_all(runtime, plain, entry.copy.data());
    weights->extra_bytes_ += bytes;
    mappings.drop(plain.data, static_cast<std::uint64_t>(plain.n_matrices * plain.matrix_stride));
  }
  return weights;
}

}  // namespace minfer::cpu

#include "cpu/weights.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <utility>

#include "cpu/phase.h"
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

/// The share of the bytes of all tensors that lie before the one at work.
class Progress {
 public:
  Progress(std::span<const backend::WeightSource> sources,
           const std::function<void(double)>& callback)
      : callback_(callback) {
    for (const backend::WeightSource& source : sources) total_ += bytes_of(source);
  }
  void next(const backend::WeightSource& source) {
    if (callback_) callback_(done_ / total_);
    done_ += bytes_of(source);
  }

 private:
  static double bytes_of(const backend::WeightSource& source) {
    const auto elements = static_cast<std::uint64_t>(source.view.shape.elements());
    return static_cast<double>(row_size_bytes(source.view.dtype, elements));
  }

  const std::function<void(double)>& callback_;
  double done_ = 0;
  double total_ = 0;
};

PackedWeight plain_matrix(const TensorView& view) {
  const std::int64_t n_cols = view.shape.inner();
  const std::int64_t n_rows = view.shape.rank() > 1 ? view.shape[view.shape.rank() - 2] : 1;
  const std::int64_t n_matrices =
      view.shape.elements() / std::max<std::int64_t>(n_rows * n_cols, 1);
  return plain_weight(view.dtype, view.data, n_rows, n_cols, n_matrices);
}

/// Interleaves every matrix of `plain` into `to` and describes the copy. The source is given back
/// part by part, so that no large matrix is ever resident twice.
PackedWeight interleave_all(Runtime& runtime, const ReadOnlyMappings& mappings,
                            const PackedWeight& plain, std::byte* to) {
  const PackedWeight w =
      interleaved_weight(plain.dtype, to, plain.n_rows, plain.n_cols, plain.n_matrices);
  const std::int64_t tiles = (plain.n_rows + kTileRows - 1) / kTileRows;
  constexpr std::int64_t kTilesAtOnce = 32;
  const std::int64_t chunks = (tiles + kTilesAtOnce - 1) / kTilesAtOnce;
  std::atomic<std::int64_t> next{0};
  runtime.pool().run([&](int) {
    for (std::int64_t i = next.fetch_add(1); i < chunks * plain.n_matrices; i = next.fetch_add(1)) {
      const std::int64_t matrix = i / chunks;
      const std::int64_t begin = i % chunks * kTilesAtOnce;
      const std::int64_t end = std::min(begin + kTilesAtOnce, tiles);
      const std::byte* from = plain.data + matrix * plain.matrix_stride;
      interleave(plain.dtype, from, plain.n_rows, plain.n_cols, to + matrix * w.matrix_stride,
                 begin, end);
      const std::int64_t stop = std::min(end * plain.tile_stride, plain.matrix_stride);
      mappings.drop(from + begin * plain.tile_stride,
                    static_cast<std::uint64_t>(stop - begin * plain.tile_stride));
    }
  });
  mappings.drop(plain.data, static_cast<std::uint64_t>(plain.n_matrices * plain.matrix_stride));
  return w;
}

/// Bytes of the interleaved copy of a matrix that is used as `uses` say; 0: it stays as it is.
std::uint64_t copy_bytes(const PackedWeight& plain, std::uint8_t uses, Isa isa) {
  if ((uses & backend::kUseMatMul) == 0 || !can_interleave(plain.dtype, isa)) return 0;
  return static_cast<std::uint64_t>(plain.n_matrices) *
         aligned(interleaved_bytes(plain.dtype, plain.n_rows, plain.n_cols));
}

Result<std::vector<float>> decode(const backend::WeightSource& source) {
  const quant::Codec* codec = quant::codec(source.view.dtype);
  if (codec == nullptr) {
    return unsupported(fmt::format("[cpu] tensor \"{}\": elements of type {} are not supported",
                                   source.name, dtype_name(source.view.dtype)));
  }
  std::vector<float> values(static_cast<std::size_t>(source.view.shape.elements()));
  codec->decode_row(source.view.data, values.data(), source.view.shape.elements());
  return values;
}

}  // namespace

Result<std::unique_ptr<CpuWeights>> CpuWeights::load(Runtime& runtime,
                                                     std::span<const backend::WeightSource> sources,
                                                     const Repack& how,
                                                     const std::function<void(double)>& progress) {
  auto weights = std::make_unique<CpuWeights>();
  weights->entries_.reserve(sources.size());
  std::uint64_t total = 0;
  for (const backend::WeightSource& source : sources) {
    Entry& entry = weights->entries_.emplace_back();
    entry.name = source.name;
    if ((source.uses & backend::kUseElementwise) != 0) {
      MINFER_ASSIGN_OR_RETURN(entry.floats, decode(source));
      weights->extra_bytes_ += entry.floats.size() * sizeof(float);
    }
    if ((source.uses & (backend::kUseMatMul | backend::kUseRowLookup)) == 0) continue;
    entry.matrix = plain_matrix(source.view);
    if (how.repack) total += copy_bytes(entry.matrix, source.uses, runtime.isa());
  }
  if (total == 0 || (how.may_copy && !how.may_copy(total))) return weights;

  MINFER_ASSIGN_OR_RETURN(weights->copies_, MemoryBlock::create(total));
  weights->copies_.prefer_large_pages();
  weights->extra_bytes_ += total;
  const ReadOnlyMappings mappings;
  Progress shown(sources, progress);
  std::byte* to = weights->copies_.data();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    shown.next(sources[i]);
    const PackedWeight plain = weights->entries_[i].matrix;
    if (plain.data == nullptr) continue;
    const std::uint64_t bytes = copy_bytes(plain, sources[i].uses, runtime.isa());
    if (bytes == 0) continue;
    weights->entries_[i].matrix = interleave_all(runtime, mappings, plain, to);
    to += bytes;
  }
  return weights;
}

}  // namespace minfer::cpu

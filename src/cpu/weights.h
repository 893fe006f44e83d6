// CpuWeights: the weights of one model as the CPU's kernels read them.
//
// Owns: interleaved copies of matrices and F32 copies of norms, biases and factors. Everything else
// points into the caller's mapped file, which must outlive this.
// Invariants: a matrix has one resident copy: the pages of an interleaved matrix's source are given
// back where they belong to a read-only file mapping.
// Thread-safety: const after loading.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "cpu/mat_mul.h"
#include "cpu/memory_block.h"

namespace minfer::cpu {

class Runtime;

class CpuWeights final : public backend::Weights {
 public:
  struct Repack {
    bool repack = true;
    std::function<bool(std::uint64_t copy_bytes)> may_copy = {};  // see CpuOptions
  };
  /// Interleaves with all threads of `runtime` as `how` allows. `progress`, if not empty, is called
  /// before each tensor with the share of the bytes done. Errors name the tensor.
  static Result<std::unique_ptr<CpuWeights>> load(Runtime& runtime,
                                                  std::span<const backend::WeightSource> sources,
                                                  const Repack& how,
                                                  const std::function<void(double)>& progress = {});

  [[nodiscard]] std::uint64_t extra_bytes() const override { return extra_bytes_; }

  /// Weight `index` as a matrix; data is null if it was loaded for elementwise use alone.
  [[nodiscard]] const PackedWeight& matrix(std::int32_t index) const {
    return entries_[static_cast<std::size_t>(index)].matrix;
  }
  /// Weight `index` as F32; empty unless it was loaded for elementwise use.
  [[nodiscard]] std::span<const float> floats(std::int32_t index) const {
    return entries_[static_cast<std::size_t>(index)].floats;
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] const std::string& name(std::int32_t index) const {
    return entries_[static_cast<std::size_t>(index)].name;
  }

 private:
  struct Entry {
    std::string name;
    PackedWeight matrix;
    std::vector<float> floats;
  };

  std::vector<Entry> entries_;
  MemoryBlock copies_;  // all interleaved matrices
  std::uint64_t extra_bytes_ = 0;
};

}  // namespace minfer::cpu

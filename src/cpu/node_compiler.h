// NodeCompiler: what an op's driver is given to turn one node into phases.
//
// Owns: nothing; it looks things up in the request and appends phases to the program.
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "backend/backend.h"
#include "cpu/kv_layout.h"
#include "cpu/phase.h"
#include "cpu/runtime.h"
#include "cpu/weights.h"

namespace minfer::cpu {

/// A layer's K and V in the pages of a step.
struct KvLayerRef {
  KvHeadLayout layout;
  std::int32_t n_head_kv = 0;
  std::int32_t group = 0;
  std::uint64_t first_strip = 0;   // bytes from the group's memory to page 0 of KV head 0
  std::uint64_t strip_stride = 0;  // to the same page of the next head

  /// The bytes of KV head `head` in page `page`.
  [[nodiscard]] std::byte* head(const backend::StepContext& step, std::int32_t page,
                                std::int64_t head) const {
    return step.kv.group_base[static_cast<std::size_t>(group)] + first_strip +
           static_cast<std::uint64_t>(head) * strip_stride +
           static_cast<std::uint64_t>(page) * layout.bytes;
  }
};

/// Stores one token's K and V, n_head_kv * head_dim floats each, at `position` of the sequence with
/// page table `pages`.
void kv_store_row(const PhaseContext& c, const KvLayerRef& kv, std::int32_t position,
                  const std::int32_t* pages, const float* k, const float* v);

class NodeCompiler {
 public:
  NodeCompiler(Runtime& runtime, const backend::CompileRequest& request, ir::NodeId node,
               std::vector<std::unique_ptr<Phase>>& phases);

  [[nodiscard]] const ir::Node& node() const { return node_; }
  template <class T>
  [[nodiscard]] const T& attrs() const {
    return std::get<T>(node_.attrs);
  }
  Runtime& runtime() { return runtime_; }

  /// Input or output `i` in the arena; an absent value gives placed = false.
  [[nodiscard]] ValueRef input(int i) const { return value(node_.inputs[i]); }
  [[nodiscard]] ValueRef output(int i) const { return value(node_.outputs[i]); }
  /// Input `i`, a weight, as a matrix (with room for its tiles) or as F32.
  [[nodiscard]] Result<const PackedWeight*> matrix(int i);
  [[nodiscard]] Result<std::span<const float>> floats(int i) const;
  [[nodiscard]] Result<KvLayerRef> kv_layer(std::int32_t layer) const;
  /// The table for `rope` with the factors of input `factors` (-1: none).
  Result<RopeTable*> rope_table(const ir::RopeAttrs& rope, int factors);

  /// Shared scratch of this node: `rows` rows of row_bytes. Lasts from its first phase to its last.
  RowsRef shared_rows(std::int64_t rows, std::uint64_t row_bytes);
  /// At least so many bytes of scratch for each thread while a phase of this node runs.
  void need_thread_scratch(std::uint64_t bytes) { thread_bytes_ = std::max(thread_bytes_, bytes); }

  void add(std::unique_ptr<Phase> phase) { phases_.push_back(std::move(phase)); }
  template <class Body>
  void add_rows(const ValueRef& rows, std::int64_t cost_per_row, Body body) {
    add(std::make_unique<RowPhase<Body>>(rows, cost_per_row, std::move(body)));
  }
  /// Rows for a product with `weight`: `x` itself, or its quantised copy in the shared scratch
  /// (with the phase that makes it) where the weight takes Q8A and x is F32.
  Result<RowsRef> product_rows(const ValueRef& x, const PackedWeight& weight);

  [[nodiscard]] std::uint64_t thread_bytes() const { return thread_bytes_; }
  [[nodiscard]] std::uint64_t tile_bytes() const { return tile_bytes_; }
  [[nodiscard]] std::uint64_t shared_bytes() const { return shared_bytes_; }

 private:
  [[nodiscard]] ValueRef value(ir::ValueId id) const;

  Runtime& runtime_;
  const backend::CompileRequest& request_;
  const ir::Node& node_;
  const CpuWeights* weights_;
  std::vector<std::unique_ptr<Phase>>& phases_;
  std::uint64_t thread_bytes_ = 0;
  std::uint64_t tile_bytes_ = 0;
  std::uint64_t shared_bytes_ = 0;
};

/// Turns a node into phases. Everything that can be wrong with it is found here.
using OpDriver = Status (*)(NodeCompiler& compiler);

/// The driver of `op`: ops/<name>.cc.
OpDriver op_driver(ir::OpKind op);

}  // namespace minfer::cpu

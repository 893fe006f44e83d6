// GraphRig: one small graph with its weights and KV, run on any backend.
//
// Rows of numbers come into a graph through embed: rows() makes a table of random rows and looks
// them up by id. Every value has bytes of its own, poisoned with NaN before each run, so that what
// is read before it is written shows itself.
// Thread-safety: one thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "cpu/cpu_backend.h"
#include "ir/builder.h"

namespace minfer::tests {

/// The live rows of one step. Row i of the inputs belongs to token i.
struct RigStep {
  std::int32_t n_tokens = 0;
  std::int32_t n_out = 0;
  std::vector<std::int32_t> ids, positions, sequence, out_rows;
  std::vector<std::vector<std::int32_t>> pages;  // by sequence
  std::vector<std::int32_t> bounds;              // first, last of each token
};

class GraphRig {
 public:
  /// Graphs for up to `capacity` rows.
  explicit GraphRig(std::int32_t capacity, std::uint32_t seed = 1);

  // Parts of a graph. `ids`, `positions` and the others are inputs made once.
  ir::Builder builder;
  ir::ValueId ids, positions, sequence, out_rows;
  ir::KvInputs kv_inputs;

  /// F32 rows of n elements, different for every id below kIds and every call.
  ir::ValueId rows(std::int64_t n);
  /// A random weight; a vector (shape of rank 1) is around 1.
  ir::ValueId weight(DType dtype, Shape shape);
  /// Declares the KV of one more layer.
  void add_kv_layer(std::int32_t n_head_kv, std::int32_t head_dim);
  /// Ends building.
  void finish(ir::ValueId output);
  /// Ends building with more than one output.
  void finish(std::initializer_list<ir::ValueId> outputs);

  static constexpr std::int32_t kIds = 40;
  static constexpr std::int32_t kPages = 12;          // that the KV memory has
  static constexpr std::int32_t kPagesASequence = 6;  // that a page table has

  backend::KvFormat kv_format = backend::KvFormat::kF32;

  struct Options {
    bool fuse = false;     // run all passes first
    bool keep_kv = false;  // else the KV starts poisoned with NaN
    const std::atomic<bool>* cancel = nullptr;
  };
  /// The live rows of all outputs, end to end. The KV stays for read_kv.
  std::vector<float> run(backend::Backend& backend, const RigStep& step, Options options);
  std::vector<float> run(backend::Backend& backend, const RigStep& step) {
    return run(backend, step, {});
  }
  /// The status of the last run.
  [[nodiscard]] const Status& status() const { return status_; }
  /// The graph as it was run last, and the program's barriers for one token.
  [[nodiscard]] const ir::Graph& last_graph() const { return run_graph_; }
  [[nodiscard]] std::int32_t barriers() const { return barriers_; }
  backend::KvGeometry geometry(const backend::Backend& backend) const;
  [[nodiscard]] const std::byte* kv_memory() const { return kv_memory_.data(); }

  /// Takes over the KV that another rig of the same geometry left behind.
  void take_kv(const GraphRig& other) { kv_memory_ = other.kv_memory_; }
  void fill_kv(std::byte value) { std::fill(kv_memory_.begin(), kv_memory_.end(), value); }

  /// A step of n tokens of sequence 0 from position `past` on, with pages 3, 7, 1, ...
  static RigStep plain_step(std::int32_t n, std::int32_t past = 0);

 private:
  struct Weight {
    std::string name;
    DType dtype;
    Shape shape;
    std::vector<std::byte> bytes;
  };

  std::int32_t capacity_;
  std::mt19937 random_;
  std::vector<Weight> weights_;
  std::vector<backend::KvLayer> layers_;
  ir::Graph graph_, run_graph_;
  Status status_;
  std::int32_t barriers_ = 0;
  std::vector<std::byte> kv_memory_;
};

/// A CPU backend; serial_cost 0 shares out every phase.
std::unique_ptr<backend::Backend> make_cpu(int n_threads, cpu::Isa isa, std::int64_t serial_cost,
                                           bool repack = true);
/// The sets that this machine has.
std::vector<cpu::Isa> all_isas();

/// Bit patterns, so that EXPECT_EQ tells NaN and -0 apart.
std::vector<std::uint32_t> bits(const std::vector<float>& values);

}  // namespace minfer::tests

// PlanRig: a tiny transformer on the tests' backends, with everything that a forward needs.
//
// Memory is always poisoned and every reuse verified, in release builds too.
// Thread-safety: one thread, but for Forward::request_cancel.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan/forward.h"
#include "tests/support/poison_backend.h"
#include "tests/support/reference_backend.h"
#include "tests/support/tiny_graph.h"

namespace minfer::tests {

struct PlanRigOptions {
  TinyOptions tiny = {};
  backend::KvFormat format = backend::KvFormat::kF32;
  bool with_device = false;   // the poison backend first, the reference backend second
  bool kv_on_device = false;  // whose memory the KV is in
  plan::KvStoreOptions kv{.max_sequences = 4, .pages_per_group = 24, .poison = true};
  plan::GraphCacheOptions cache{.verify_reuse = true};
  std::int32_t max_batch = 128;
  bool trace_graph = false;
  std::string dump_dir = {};
};

class PlanRig {
 public:
  explicit PlanRig(PlanRigOptions options = {});

  /// Rows of `sequence` for `tokens` from its present length on; the last, or all, want an output.
  std::vector<plan::Row> rows(plan::SequenceId sequence, std::span<const std::int32_t> tokens,
                              bool all_outputs = false) const;
  /// Runs rows and copies the logits.
  Result<std::vector<float>> run(const std::vector<plan::Row>& rows);
  /// Runs tokens in chunks and gives the logits of all of them.
  std::vector<float> run_all(plan::SequenceId sequence, std::span<const std::int32_t> tokens,
                             std::size_t chunk);
  plan::SequenceId open();
  plan::KvStore& kv() { return forward->kv(); }
  const plan::GraphCacheStats& stats() { return forward->cache().stats(); }

  PlanRigOptions options;
  TinyTransformer model;
  ReferenceBackend host;
  std::unique_ptr<PoisonBackend> device;
  std::vector<std::unique_ptr<backend::Weights>> weights;
  /// Called in place of the model's own build function if set.
  plan::BuildFunction build_override;
  std::unique_ptr<plan::Forward> forward;
};

/// `n` token ids from a seed.
std::vector<std::int32_t> random_tokens(std::size_t n, std::uint32_t seed);

}  // namespace minfer::tests

// GraphParams: the only identity of a graph.
//
// The topology, assignment and plan of a graph are a deterministic function of these fields and
// nothing else. What is not here (past length, positions, ids, page tables, the number of
// sequences) is data that is filled in before each step.
#pragma once

#include <cstdint>
#include <string>

#include "backend/backend.h"

namespace minfer::plan {

/// What a forward yields.
enum class OutputKind : std::uint8_t {
  kLogits,
  kHidden,  // the final normalised rows [n_out, n_embd]; no head is built
};

struct GraphParams {
  std::int32_t n_tokens = 0;  // row capacity, see token_capacity()
  std::int32_t n_out = 0;     // capacity of rows that get an output: 0, 1, sequences, or n_tokens
  OutputKind output = OutputKind::kLogits;
  std::int32_t n_ctx = 0;
  backend::KvFormat kv_format = backend::KvFormat::kF16;
  float rope_base = 0.0F;         // 0: the model's own
  float rope_scale = 0.0F;        // 0: the model's own
  std::uint32_t backend_set = 1;  // bit i: backend i of the priority list takes part
  std::int32_t gpu_layers = 0;
  bool fuse_qkv = true;
  bool fuse_ffn = true;
  std::uint32_t weights_version = 0;

  friend bool operator==(const GraphParams&, const GraphParams&) = default;
};

/// "n_tokens 1 -> 512, n_out 1 -> 0": the fields in which `b` differs from `a`, for the rebuild
/// trace.
std::string describe_difference(const GraphParams& a, const GraphParams& b);

/// The row capacity for `n` live rows: exact up to 16, above that the next of 32, 64, ...,
/// limited to `max_batch`. Requires 1 <= n <= max_batch.
std::int32_t token_capacity(std::int32_t n, std::int32_t max_batch);

/// The capacity for `n_out` live output rows of `n_tokens` live rows and capacity
/// `n_tokens_capacity`: 0, 1, all, or the token capacity of n_out.
std::int32_t out_capacity(std::int32_t n_out, std::int32_t n_tokens,
                          std::int32_t n_tokens_capacity);

}  // namespace minfer::plan

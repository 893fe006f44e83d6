// trace: what MINFER_GRAPH_TRACE and MINFER_REBUILD_TRACE print on stderr.
//
// Invariants: reads finished graphs only; each line set reaches stderr in one write.
// Thread-safety: pure functions, but for the write.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "backend/backend.h"
#include "plan/compiled_graph.h"

namespace minfer::plan {

/// "prefill" or "decode": a word for people, not identity.
std::string_view step_label(bool decode);

/// `graph uid=2 decode rows=1 out=1 splits=1`, then a line a split:
/// `  split 0 cpu nodes=393 staged=0: mat_mul 60 fused_norm 60 ...`, by count, then by name.
std::string describe_step(const CompiledGraph& graph, std::span<backend::Backend* const> backends,
                          bool decode, std::int32_t n_rows, std::int32_t n_out);

/// `rebuild uid=2 n_tokens=1 n_out=1 (n_tokens 512 -> 1): build 0.110 ms, ...`. `recent`: the
/// parameters of the most recently used graph, or null.
std::string describe_rebuild(const CompiledGraph& graph, const GraphParams* recent);

void write_to_stderr(std::string_view text);

}  // namespace minfer::plan

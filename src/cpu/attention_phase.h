// AttentionPhase: how attention is shared out among threads.
//
// Many rows: an item is a block of rows of one KV head; it walks the pages of its rows in order and
// keeps the running result. Few rows: an item is one row of one KV head over some of its pages; the
// pieces' results are kept apart, and whoever ends the last item of a row merges them from left to
// right. Either way a piece is one page and the merges have one order, so the bits are the same.
// Only pages between a row's bounds are touched.
#pragma once

#include <memory>

#include "cpu/node_compiler.h"

namespace minfer::cpu {

/// Inputs: q, KV token, bounds, sequence, pages.
std::unique_ptr<Phase> attention_phase(NodeCompiler& compiler, const ir::AttentionAttrs& attrs,
                                       const KvLayerRef& kv);

}  // namespace minfer::cpu

#include "plan/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <utility>
#include <vector>

namespace minfer::plan {
namespace {

constexpr std::size_t kOps = 256;

/// "mat_mul 60 fused_norm 60": operations of a split, most frequent first.
std::string census(const ir::Graph& graph, const Split& split) {
  std::array<std::int32_t, kOps> counts{};
  for (ir::NodeId id : split.nodes) ++counts[static_cast<std::size_t>(graph.node(id).op)];
  std::vector<std::pair<std::string_view, std::int32_t>> ops;
  for (std::size_t op = 0; op < kOps; ++op) {
    if (counts[op] > 0) ops.emplace_back(ir::op_name(static_cast<ir::OpKind>(op)), counts[op]);
  }
  std::sort(ops.begin(), ops.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::string text;
  for (const auto& [name, count] : ops)
    fmt::format_to(std::back_inserter(text), " {} {}", name, count);
  return text;
}

double ms(double seconds) { return seconds * 1e3; }

}  // namespace

std::string_view step_label(bool decode) { return decode ? "decode" : "prefill"; }

std::string describe_step(const CompiledGraph& graph, std::span<backend::Backend* const> backends,
                          bool decode, std::int32_t n_rows, std::int32_t n_out) {
  std::string text = fmt::format("graph uid={} {} rows={} out={} splits={}\n", graph.uid,
                                 step_label(decode), n_rows, n_out, graph.splits.size());
  for (std::size_t i = 0; i < graph.splits.size(); ++i) {
    const Split& split = graph.splits[i];
    fmt::format_to(std::back_inserter(text), "  split {} {} nodes={} staged={}:{}\n", i,
                   backends[static_cast<std::size_t>(split.backend)]->name(), split.nodes.size(),
                   split.staged.size(), census(graph.graph, split));
  }
  return text;
}

std::string describe_rebuild(const CompiledGraph& graph, const GraphParams* recent) {
  const BuildTimes& t = graph.times;
  return fmt::format(
      "rebuild uid={} n_tokens={} n_out={} ({}): build {:.3f} ms, assign {:.3f} ms, fuse {:.3f} "
      "ms, "
      "plan {:.3f} ms, compile {:.3f} ms\n",
      graph.uid, graph.params.n_tokens, graph.params.n_out,
      recent == nullptr ? "the first graph" : describe_difference(*recent, graph.params),
      ms(t.build), ms(t.assign), ms(t.fuse), ms(t.plan), ms(t.compile));
}

void write_to_stderr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace minfer::plan

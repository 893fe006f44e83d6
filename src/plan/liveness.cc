#include "plan/liveness.h"

#include <algorithm>

#include "ir/op.h"
#include "plan/splits.h"

namespace minfer::plan {
namespace {

constexpr ir::NodeId kNever = -1;

/// The life of one value on one backend while it is being found.
struct Life {
  ir::NodeId first = kNever;
  ir::NodeId last = kNever;

  void extend(ir::NodeId from, ir::NodeId to) {
    first = first == kNever ? from : std::min(first, from);
    last = std::max(last, to);
  }
};

std::uint64_t row_bytes(const backend::Backend& backend, const ir::Value& value) {
  // Ids, positions and the like are dense lists of integers.
  if (value.shape.rank() == 1) return row_size_bytes(value.dtype, 1);
  return backend.row_bytes(value.dtype, value.shape.row_elements());
}

std::uint64_t size_bytes(const ir::Value& value, std::uint64_t bytes_a_row) {
  const std::int64_t rows = value.shape.rank() == 1 ? value.shape[0] : value.shape.rows();
  const std::uint64_t bytes = static_cast<std::uint64_t>(rows) * bytes_a_row;
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

/// Finds the lives on one backend.
class LifeFinder {
 public:
  LifeFinder(const ir::Graph& graph, const backend::Backend& backend, std::int32_t index,
             std::int32_t host, std::span<const std::uint8_t> live, std::span<const Split> splits)
      : graph_(graph),
        backend_(backend),
        index_(index),
        host_(host),
        live_(live),
        splits_(splits),
        lives_(graph.values().size()),
        readers_(graph.values().size(), 0),
        is_output_(graph.values().size(), 0) {}

  Lives find() {
    for (ir::ValueId id : graph_.outputs()) is_output_[static_cast<std::size_t>(id)] = 1;
    count_readers();
    for (const Split& split : splits_) walk(split);
    for (ir::ValueId id : graph_.outputs()) {
      if (lives_[static_cast<std::size_t>(id)].first != kNever) whole_step(id);
    }
    return merge_aliases();
  }

 private:
  Life& life(ir::ValueId id) { return lives_[static_cast<std::size_t>(id)]; }
  void whole_step(ir::ValueId id) {
    life(id).extend(0, static_cast<ir::NodeId>(graph_.nodes().size()));
  }

  void count_readers() {
    for (const Split& split : splits_) {
      for (ir::NodeId node : split.nodes) {
        for (ir::ValueId id : graph_.node(node).inputs) ++readers_[static_cast<std::size_t>(id)];
      }
    }
  }

  static bool has_bytes(const ir::Value& value) {
    return value.kind == ir::ValueKind::kInput || value.kind == ir::ValueKind::kTransient;
  }

  void walk(const Split& split) {
    const ir::NodeId start = split.nodes.front();
    for (ir::NodeId node_id : split.nodes) {
      const ir::Node& node = graph_.node(node_id);
      for (ir::ValueId id : node.inputs) {
        const ir::Value& value = graph_.value(id);
        if (!has_bytes(value)) continue;
        const bool made_here = home_backend(graph_, value, host_) == index_;
        if (made_here && value.kind == ir::ValueKind::kInput) whole_step(id);
        if (split.backend == index_) {
          // A staged copy is made before the split runs.
          life(id).extend(made_here ? node_id : start, node_id);
        } else if (made_here) {
          life(id).extend(start, start);
        }
      }
      if (split.backend != index_) continue;
      for (ir::ValueId id : node.outputs) {
        if (has_bytes(graph_.value(id))) life(id).extend(node_id, node_id);
      }
    }
  }

  /// The value whose bytes the node's first output takes over, or kNoValue.
  ir::ValueId in_place_source(const ir::Node& node) const {
    const int input = ir::in_place_input(node.op);
    if (input < 0 || node.backend != index_) return ir::kNoValue;
    const ir::ValueId id = node.inputs[input];
    const ir::Value& source = graph_.value(id);
    const ir::Value& output = graph_.value(node.outputs[0]);
    const bool may = source.kind == ir::ValueKind::kTransient &&
                     graph_.node(source.producer).backend == index_ &&
                     readers_[static_cast<std::size_t>(id)] == 1 &&
                     is_output_[static_cast<std::size_t>(id)] == 0 && source.rows == output.rows &&
                     source.shape.rows() == output.shape.rows() &&
                     row_bytes(backend_, source) == row_bytes(backend_, output);
    return may ? id : ir::kNoValue;
  }

  Lives merge_aliases() {
    Lives result;
    result.storage.assign(lives_.size(), ir::kNoValue);
    for (std::size_t v = 0; v < lives_.size(); ++v) {
      if (lives_[v].first != kNever) result.storage[v] = static_cast<ir::ValueId>(v);
    }
    for (std::size_t i = 0; i < live_.size(); ++i) {
      if (live_[i] == 0) continue;
      const ir::Node& node = graph_.nodes()[i];
      const ir::ValueId source = in_place_source(node);
      if (source == ir::kNoValue) continue;
      const auto alias = static_cast<std::size_t>(node.outputs[0]);
      const ir::ValueId root = result.storage[static_cast<std::size_t>(source)];
      result.storage[alias] = root;
      life(root).extend(lives_[alias].first, lives_[alias].last);
    }
    for (std::size_t v = 0; v < lives_.size(); ++v) {
      if (result.storage[v] != static_cast<ir::ValueId>(v)) continue;
      const ir::Value& value = graph_.values()[v];
      const std::uint64_t row = row_bytes(backend_, value);
      result.intervals.push_back({.value = static_cast<ir::ValueId>(v),
                                  .first = lives_[v].first,
                                  .last = lives_[v].last,
                                  .size_bytes = size_bytes(value, row),
                                  .row_bytes = row,
                                  .offset = 0});
    }
    std::sort(result.intervals.begin(), result.intervals.end(),
              [](const Interval& a, const Interval& b) {
                return a.first != b.first ? a.first < b.first : a.value < b.value;
              });
    return result;
  }

  const ir::Graph& graph_;
  const backend::Backend& backend_;
  const std::int32_t index_;
  const std::int32_t host_;
  std::span<const std::uint8_t> live_;
  std::span<const Split> splits_;
  std::vector<Life> lives_;            // by value
  std::vector<std::int32_t> readers_;  // by value: how often live nodes read it
  std::vector<std::uint8_t> is_output_;
};

/// The smallest gap between `active` (by offset) that holds `size`, else the end of the last.
std::uint64_t best_gap(std::span<const Interval* const> active, std::uint64_t size) {
  std::uint64_t best_offset = 0;
  std::uint64_t best_size = UINT64_MAX;
  std::uint64_t end = 0;
  for (const Interval* taken : active) {
    const std::uint64_t gap = taken->offset - end;
    if (gap >= size && gap < best_size) {
      best_size = gap;
      best_offset = end;
    }
    end = taken->offset + taken->size_bytes;
  }
  return best_size == UINT64_MAX ? end : best_offset;
}

}  // namespace

Lives find_lives(const ir::Graph& graph, const backend::Backend& backend, std::int32_t index,
                 std::int32_t host_backend, std::span<const std::uint8_t> live,
                 std::span<const Split> splits) {
  return LifeFinder(graph, backend, index, host_backend, live, splits).find();
}

std::uint64_t assign_offsets(std::span<Interval> intervals) {
  std::vector<const Interval*> active;  // by offset
  std::uint64_t arena_bytes = 0;
  for (Interval& interval : intervals) {
    std::erase_if(active, [&](const Interval* i) { return i->last < interval.first; });
    interval.offset = best_gap(active, interval.size_bytes);
    arena_bytes = std::max(arena_bytes, interval.offset + interval.size_bytes);
    const auto position = std::upper_bound(
        active.begin(), active.end(), interval.offset,
        [](std::uint64_t offset, const Interval* i) { return offset < i->offset; });
    active.insert(position, &interval);
  }
  return arena_bytes;
}

MemoryPlan plan_memory(const ir::Graph& graph, std::span<backend::Backend* const> backends,
                       std::span<const std::uint8_t> live, std::span<Split> splits) {
  MemoryPlan plan;
  plan.places.resize(backends.size());
  plan.arena_bytes.resize(backends.size(), 0);
  const auto host = static_cast<std::int32_t>(backends.size() - 1);
  for (std::size_t b = 0; b < backends.size(); ++b) {
    std::vector<backend::ValuePlace>& places = plan.places[b];
    places.resize(graph.values().size());
    Lives lives = find_lives(graph, *backends[b], static_cast<std::int32_t>(b), host, live, splits);
    plan.arena_bytes[b] = assign_offsets(lives.intervals);
    for (const Interval& interval : lives.intervals) {
      places[static_cast<std::size_t>(interval.value)] = {
          .offset = interval.offset, .row_bytes = interval.row_bytes, .placed = true};
    }
    for (std::size_t v = 0; v < places.size(); ++v) {
      if (lives.storage[v] != ir::kNoValue) {
        places[v] = places[static_cast<std::size_t>(lives.storage[v])];
      }
    }
  }
  for (Split& split : splits) {
    for (Split::Staged& staged : split.staged) {
      staged.place = plan.places[static_cast<std::size_t>(split.backend)]
                                [static_cast<std::size_t>(staged.value)];
    }
  }
  return plan;
}

}  // namespace minfer::plan

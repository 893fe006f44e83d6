// What the fusion passes share: finding the members of a pattern and putting one node in their
// place.
//
// Invariants: a node is a member of one match at most; all members of a match are on one backend.
// The node list is rebuilt once, by apply().
// Thread-safety: one thread.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "passes/pass.h"
#include "passes/uses.h"

namespace minfer::passes {

/// The nodes of one match.
class Members {
 public:
  explicit Members(std::int8_t backend) : backend_(backend) {}
  void add(ir::NodeId id) {
    MINFER_CHECK(count_ < kCapacity);
    ids_[count_++] = id;
  }
  [[nodiscard]] std::span<const ir::NodeId> ids() const { return std::span(ids_).first(count_); }
  [[nodiscard]] std::int8_t backend() const { return backend_; }

 private:
  static constexpr std::size_t kCapacity = 16;
  std::array<ir::NodeId, kCapacity> ids_{};
  std::size_t count_ = 0;
  std::int8_t backend_;
};

/// x * weight (+ bias).
struct Projection {
  ir::ValueId x = ir::kNoValue;
  ir::ValueId weight = ir::kNoValue;
  ir::ValueId bias = ir::kNoValue;
};

class Fusion {
 public:
  Fusion(ir::Graph& graph, const PassContext& context)
      : graph_(graph), context_(context), uses_(graph), state_(graph.nodes().size(), kKept) {}

  [[nodiscard]] const Uses& uses() const { return uses_; }
  /// True if the backend makes nodes of `fused`.
  [[nodiscard]] bool allowed(std::int8_t backend, ir::OpKind fused) const;
  /// True if `id` is an `op` on the members' backend that no other match has taken.
  [[nodiscard]] bool is(ir::NodeId id, ir::OpKind op, const Members& members) const;
  /// The node that makes `value`, if is() holds for it, else kNoNode.
  [[nodiscard]] ir::NodeId maker(ir::ValueId value, ir::OpKind op, const Members& members) const;
  /// The projection that makes `value`, which must be read once; its nodes become members.
  std::optional<Projection> match_projection(ir::ValueId value, Members& members) const;

  /// Puts `fused` at the place of `at`, one of the members, and takes the others away; false, with
  /// nothing changed, if the backend cannot run it.
  bool replace(const Members& members, ir::NodeId at, const ir::Node& fused);
  void apply();

 private:
  enum State : std::uint8_t { kKept, kReplaced, kRemoved };

  ir::Graph& graph_;
  const PassContext& context_;
  Uses uses_;
  std::vector<State> state_;  // by NodeId
  bool changed_ = false;
};

}  // namespace minfer::passes

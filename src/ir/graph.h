// Graph: the computation of one forward as a list of nodes over values, in build order.
//
// Owns: nodes, values, and nothing of the memory they will use.
// Invariants: every value has one producer (a node, or it is an input or a weight); a node's inputs
// stand before it; build order is execution order. A graph is a deterministic function of the
// parameters it was built from: no clock, environment, address or hash order is read.
// Thread-safety: const access from any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/attrs.h"
#include "tensor/shape.h"

namespace minfer::ir {

using ValueId = std::int32_t;
using NodeId = std::int32_t;
inline constexpr ValueId kNoValue = -1;
inline constexpr NodeId kNoNode = -1;

enum class OpKind : std::uint8_t {
#define MINFER_OP(enumerator, name, attributes, in_place) enumerator,
#include "ir/ops.def"
#undef MINFER_OP
};

/// The name of `op` in ops.def: "mat_mul".
std::string_view op_name(OpKind op);

/// The input whose buffer the first output may take over, or -1.
int in_place_input(OpKind op);

enum class ValueKind : std::uint8_t {
  kInput,      // filled by the caller before each step
  kWeight,     // a tensor of the model
  kKvToken,    // orders the readers of a layer's KV behind its writer; holds no bytes
  kTransient,  // produced by a node
};

/// What the first extent of a value counts. The extent is a capacity; how many rows are live is
/// data of the step, and kernels touch live rows only.
enum class RowDomain : std::uint8_t { kFixed, kTokens, kOut };

/// The inputs that a step can fill.
enum class InputKind : std::uint8_t {
  kIds,        // I32 [n_tokens]: token ids
  kPositions,  // I32 [n_tokens]: position in its sequence
  kSequence,   // I32 [n_tokens]: row of the page tables that belongs to the token
  kKvPages,    // I32 [n_tokens, n_pages], one a layer group: page ids by position / 64, -1: none
  kKvBounds,   // I32 [n_tokens, 2], one a layer group: first and last position that is read
  kOutRows,    // I32 [n_out]: the rows that get logits
};

std::string_view input_kind_name(InputKind kind);

struct Value {
  ValueKind kind = ValueKind::kTransient;
  DType dtype = DType::kF32;
  RowDomain rows = RowDomain::kFixed;
  Shape shape;
  NodeId producer = kNoNode;  // kTransient, kKvToken
  std::int32_t weight = -1;   // kWeight: index in the model's weight table
  InputKind input{};          // kInput
  std::int32_t group = 0;     // kInput kKvPages and kKvBounds: the layer group
  std::int32_t layer = -1;    // -1: belongs to no layer
  std::string_view label;     // static text: "ffn_up"; with `layer` it names the value
};

/// A short list of values with inline storage: graphs are built without an allocation a node.
class ValueList {
 public:
  static constexpr int kCapacity = 14;

  ValueList() = default;
  ValueList(std::initializer_list<ValueId> ids) {
    for (ValueId id : ids) push_back(id);
  }
  void push_back(ValueId id) {
    MINFER_CHECK(size_ < kCapacity);
    ids_[static_cast<std::size_t>(size_++)] = id;
  }
  [[nodiscard]] int size() const { return size_; }
  ValueId& operator[](int i) { return ids_[static_cast<std::size_t>(i)]; }
  ValueId operator[](int i) const { return ids_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const ValueId* begin() const { return ids_.data(); }
  [[nodiscard]] const ValueId* end() const { return ids_.data() + size_; }
  ValueId* begin() { return ids_.data(); }
  ValueId* end() { return ids_.data() + size_; }
  friend bool operator==(const ValueList& a, const ValueList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<ValueId, kCapacity> ids_{};
  int size_ = 0;
};

struct Node {
  OpKind op{};
  Attrs attrs;
  ValueList inputs;
  ValueList outputs;
  std::int32_t layer = -1;
  std::int8_t backend = 0;  // index in the backend list, set by the assignment pass
};

class Graph {
 public:
  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  [[nodiscard]] std::span<const Value> values() const { return values_; }
  [[nodiscard]] const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Value& value(ValueId id) const {
    return values_[static_cast<std::size_t>(id)];
  }
  /// Values that must hold their result at the end of the step (the logits), in order.
  [[nodiscard]] std::span<const ValueId> outputs() const { return outputs_; }

  Node& mutable_node(NodeId id) { return nodes_[static_cast<std::size_t>(id)]; }
  Value& mutable_value(ValueId id) { return values_[static_cast<std::size_t>(id)]; }
  ValueId add_value(const Value& value);
  /// Appends a node; its outputs must be values added before, which it becomes the producer of.
  NodeId add_node(const Node& node);
  void add_output(ValueId id) { outputs_.push_back(id); }
  /// Replaces the whole node list (a pass's rewrite) and sets every producer anew. Values that lost
  /// their producer stay in the table, unread.
  void replace_nodes(std::vector<Node> nodes);
  void reserve(std::size_t n_nodes);

  /// "blk.3.ffn_up" or "logits": the label with its layer.
  [[nodiscard]] std::string value_name(ValueId id) const;
  /// "blk.3.ffn_up (mat_mul)": the first output with the operation, for messages.
  [[nodiscard]] std::string node_name(NodeId id) const;
  [[nodiscard]] std::string node_name(const Node& node) const;

 private:
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<ValueId> outputs_;
};

/// The first difference between two graphs (op, attributes, shape, type, inputs, outputs, backend),
/// naming the node; OK when they are equal.
Status compare_graphs(const Graph& a, const Graph& b);

}  // namespace minfer::ir

#include <fmt/format.h>

#include "ir/op.h"

namespace minfer::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), written_(graph.values().size(), false) {}

  Status run() {
    MINFER_RETURN_IF_ERROR(check_inputs());
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      const auto id = static_cast<NodeId>(i);
      if (Status status = check_node(id); !status.ok()) {
        return status.with_context(fmt::format("node {} {}", id, graph_.node_name(id)));
      }
    }
    MINFER_RETURN_IF_ERROR(check_producers());
    return check_outputs();
  }

 private:
  [[nodiscard]] bool in_range(ValueId id) const { return id >= 0 && index(id) < written_.size(); }
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

  // Two inputs of one kind could not be told apart when a step fills them.
  Status check_inputs() const {
    std::vector<const Value*> seen;
    for (const Value& value : graph_.values()) {
      if (value.kind != ValueKind::kInput) continue;
      for (const Value* other : seen) {
        if (other->input == value.input && other->group == value.group) {
          return internal_error(fmt::format("input \"{}\" of group {} stands twice",
                                            input_kind_name(value.input), value.group));
        }
      }
      seen.push_back(&value);
    }
    return ok_status();
  }

  Status check_node(NodeId id) {
    const Node& node = graph_.node(id);
    if (!attrs_match(node.op, node.attrs)) {
      return internal_error("the attributes are those of another operation");
    }
    if (node.backend < 0) return internal_error("the backend is negative");
    for (ValueId input : node.inputs) MINFER_RETURN_IF_ERROR(check_read(input));
    const Result<OutputSpecs> specs = shape_rule(node.op)(graph_, node.attrs, node.inputs);
    if (!specs.ok()) return specs.status();
    if (specs->count != node.outputs.size()) {
      return internal_error(
          fmt::format("{} outputs, but {} are made", node.outputs.size(), specs->count));
    }
    for (int i = 0; i < specs->count; ++i) {
      MINFER_RETURN_IF_ERROR(
          check_output(id, node.outputs[i], specs->spec[static_cast<std::size_t>(i)]));
    }
    return ok_status();
  }

  Status check_read(ValueId id) const {
    if (!in_range(id)) return internal_error(fmt::format("input {} does not exist", id));
    const ValueKind kind = graph_.value(id).kind;
    if (kind == ValueKind::kInput || kind == ValueKind::kWeight || written_[index(id)]) {
      return ok_status();
    }
    return internal_error(fmt::format("\"{}\" is read before it is made", graph_.value_name(id)));
  }

  Status check_output(NodeId node, ValueId id, const OutputSpec& spec) {
    if (!in_range(id)) return internal_error(fmt::format("output {} does not exist", id));
    const Value& value = graph_.value(id);
    if (written_[index(id)]) {
      return internal_error(fmt::format("\"{}\" is made twice", graph_.value_name(id)));
    }
    if (value.producer != node) {
      return internal_error(fmt::format("\"{}\" names another producer", graph_.value_name(id)));
    }
    written_[index(id)] = true;
    if (value.kind != spec.kind) return internal_error("the output is of another kind");
    if (value.dtype != spec.dtype || value.shape != spec.shape || value.rows != spec.rows) {
      return internal_error(fmt::format("the output must be {} {}, but is {} {}",
                                        dtype_name(spec.dtype), spec.shape.to_string(),
                                        dtype_name(value.dtype), value.shape.to_string()));
    }
    return spec.kind == ValueKind::kKvToken ? check_kv_writer(value, spec.layer) : ok_status();
  }

  // Two writers of one layer in a step would make the order of its readers ambiguous.
  Status check_kv_writer(const Value& value, std::int32_t layer) {
    if (value.layer != layer) return internal_error("the KV token names another layer");
    if (index(layer) >= kv_written_.size()) kv_written_.resize(index(layer) + 1, false);
    if (kv_written_[index(layer)]) {
      return internal_error(fmt::format("the KV of layer {} is written twice", layer));
    }
    kv_written_[index(layer)] = true;
    return ok_status();
  }

  Status check_producers() const {
    for (std::size_t i = 0; i < written_.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      if (!written_[i] && graph_.value(id).producer != kNoNode) {
        return internal_error(
            fmt::format("\"{}\" names a producer that does not make it", graph_.value_name(id)));
      }
    }
    return ok_status();
  }

  Status check_outputs() const {
    if (graph_.outputs().empty() && graph_.nodes().empty()) {
      return internal_error("the graph is empty");
    }
    for (ValueId id : graph_.outputs()) {
      if (!in_range(id) || !written_[index(id)] || graph_.value(id).kind != ValueKind::kTransient) {
        return internal_error(
            fmt::format("output \"{}\" is made by no node", graph_.value_name(id)));
      }
    }
    return ok_status();
  }

  const Graph& graph_;
  std::vector<bool> written_;     // by ValueId
  std::vector<bool> kv_written_;  // by layer
};

}  // namespace

Status verify(const Graph& graph) { return Verifier(graph).run().with_context("graph"); }

}  // namespace minfer::ir

#include <fmt/format.h>

#include <cmath>
#include <concepts>

#include "ir/attr_fields.h"
#include "ir/print_common.h"

namespace minfer::ir {
namespace {

/// Writes JSON text piece by piece; it knows where commas go, the caller nests rightly.
class JsonWriter {
 public:
  void open(char bracket) {
    separate();
    out_ += bracket;
    first_ = true;
  }
  void close(char bracket) {
    out_ += bracket;
    first_ = false;
  }
  void key(std::string_view name) {
    separate();
    append_string(name);
    out_ += ':';
    first_ = true;
  }
  void value(std::string_view text) {
    separate();
    append_string(text);
  }
  void value(bool flag) {
    separate();
    out_ += flag ? "true" : "false";
  }
  void value(float number) {
    separate();
    // The shortest digits that read back to the same float; JSON has no infinities.
    out_ += std::isfinite(number) ? fmt::format("{}", number) : "null";
  }
  template <std::integral T>
  void value(T number) {
    separate();
    out_ += fmt::format("{}", number);
  }
  template <class T>
  void field(std::string_view name, const T& v) {
    key(name);
    value(v);
  }
  template <class Range>
  void list(std::string_view name, const Range& items) {
    key(name);
    open('[');
    for (const auto& item : items) value(item);
    close(']');
  }
  void newline() {
    separate();
    out_ += '\n';
    first_ = true;
  }
  std::string take() { return std::move(out_); }

 private:
  void separate() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  void append_string(std::string_view text) {
    out_ += '"';
    for (char c : text) {
      if (c == '"' || c == '\\') {
        out_ += '\\';
        out_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        out_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      } else {
        out_ += c;
      }
    }
    out_ += '"';
  }

  std::string out_;
  bool first_ = true;
};

void write_node(JsonWriter& json, const Graph& graph, const PrintContext& context, NodeId id) {
  const Node& node = graph.node(id);
  json.newline();
  json.open('{');
  json.field("id", id);
  json.field("op", op_name(node.op));
  json.field("layer", node.layer);
  json.field("backend", std::string_view(backend_name(context, node)));
  json.key("attrs");
  json.open('{');
  for_each_field(node.attrs,
                 [&](std::string_view name, const auto& value) { json.field(name, value); });
  json.close('}');
  json.list("inputs", node.inputs);
  json.list("outputs", node.outputs);
  json.close('}');
}

void write_value(JsonWriter& json, const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  json.newline();
  json.open('{');
  json.field("id", id);
  json.field("name", std::string_view(graph.value_name(id)));
  json.field("kind", value_kind_name(value.kind));
  json.field("dtype", dtype_name(value.dtype));
  json.key("shape");
  json.open('[');
  for (int axis = 0; axis < value.shape.rank(); ++axis) json.value(value.shape[axis]);
  json.close(']');
  json.field("rows", row_domain_name(value.rows));
  json.close('}');
}

}  // namespace

std::string to_json(const Graph& graph, const PrintContext& context) {
  JsonWriter json;
  json.open('{');
  json.key("nodes");
  json.open('[');
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    write_node(json, graph, context, static_cast<NodeId>(i));
  }
  json.close(']');
  json.key("values");
  json.open('[');
  for (std::size_t i = 0; i < graph.values().size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (!is_dead(graph.value(id))) write_value(json, graph, id);
  }
  json.close(']');
  json.list("outputs", graph.outputs());
  json.close('}');
  return json.take() + "\n";
}

}  // namespace minfer::ir

// What the shape rules share: reading the inputs of a node in order, with a check each.
//
// Invariants: the first failed check sticks; later reads give an empty value, so that a rule may
// read all its inputs before it asks finish(). Nothing is allocated while the checks hold.
// Thread-safety: one thread.
#pragma once

#include <string_view>

#include "ir/op.h"
#include "ir/ops/rules.h"

namespace minfer::ir::ops {

/// What a row of activations may be made of.
enum class RowType : std::uint8_t { kF32, kF32OrQ8A };

class InputReader {
 public:
  InputReader(const Graph& graph, const ValueList& inputs) : graph_(graph), inputs_(inputs) {}

  [[nodiscard]] int remaining() const { return inputs_.size() - next_; }

  /// Activations [R, n].
  const Value& rows(std::string_view name, RowType type = RowType::kF32);
  /// Activations F32 [R, n] with R of `like`.
  const Value& rows_like(std::string_view name, const Value& like, std::int64_t n);
  /// I32 [R], with R of `like` where it is given.
  const Value& index(std::string_view name, const Value* like = nullptr);
  /// I32 [R, columns] with R of `like`.
  const Value& index_rows(std::string_view name, const Value& like, std::int64_t columns);
  /// The page tables of a layer group: I32 [any, n_pages].
  const Value& page_tables(std::string_view name);
  /// A weight [n, inner]; inner 0: any.
  const Value& matrix(std::string_view name, std::int64_t inner);
  /// The weights of all experts: [n_expert, n, k].
  const Value& experts(std::string_view name);
  /// A weight [n] that is read element by element. Its type is the file's: a backend holds it as
  /// F32.
  const Value& vector(std::string_view name, std::int64_t n);
  /// The KV token of `layer`.
  const Value& kv_token(std::string_view name, std::int32_t layer);

  /// A condition on attributes or between inputs; `what` says what must hold.
  void require(bool condition, std::string_view what);

  /// The first failure, also if inputs are left over.
  Status finish();

 private:
  const Value& next(std::string_view name);
  void expect(bool condition, std::string_view name, const Value& got, std::string_view wanted);

  const Graph& graph_;
  const ValueList& inputs_;
  int next_ = 0;
  Status status_;
};

template <class T>
const T& attrs_as(const Attrs& attrs) {
  const T* typed = std::get_if<T>(&attrs);
  MINFER_CHECK(typed != nullptr);
  return *typed;
}

/// One output [R, n] with R of `like`.
OutputSpec rows_of(const Value& like, std::int64_t n, DType dtype = DType::kF32);
/// The output of an operation that works element by element.
inline OutputSpec same_as(const Value& x) { return rows_of(x, x.shape[1]); }
/// The KV token of `layer`: no type, no shape.
OutputSpec kv_token_of(std::int32_t layer);
OutputSpecs one(const OutputSpec& spec);

/// The demands of RoPE on its attributes.
void check_rope(InputReader& in, const RopeAttrs& rope);

}  // namespace minfer::ir::ops

#include "ir/ops/common.h"

#include <fmt/format.h>

namespace minfer::ir::ops {
namespace {

const Value kEmpty{};

std::string_view row_domain_name(RowDomain rows) {
  switch (rows) {
    case RowDomain::kTokens:
      return " of tokens";
    case RowDomain::kOut:
      return " of outputs";
    case RowDomain::kFixed:
      break;
  }
  return "";
}

std::string describe(const Value& v) {
  if (v.kind == ValueKind::kKvToken) return fmt::format("the KV token of layer {}", v.layer);
  return fmt::format("{} {}{}", dtype_name(v.dtype), v.shape.to_string(), row_domain_name(v.rows));
}

bool same_rows(const Value& a, const Value& b) {
  return a.shape[0] == b.shape[0] && a.rows == b.rows;
}

bool holds_rows(const Value& v) {
  return v.kind == ValueKind::kTransient || v.kind == ValueKind::kInput;
}

std::string rows_text(const Value& like) {
  return fmt::format("{}{}", like.shape[0], row_domain_name(like.rows));
}

}  // namespace

const Value& InputReader::next(std::string_view name) {
  if (!status_.ok()) return kEmpty;
  const ValueId id = next_ < inputs_.size() ? inputs_[next_] : kNoValue;
  ++next_;
  if (id < 0 || static_cast<std::size_t>(id) >= graph_.values().size()) {
    status_ = internal_error(fmt::format("input \"{}\" is missing", name));
    return kEmpty;
  }
  return graph_.value(id);
}

void InputReader::expect(bool condition, std::string_view name, const Value& got,
                         std::string_view wanted) {
  if (condition || !status_.ok()) return;
  status_ = internal_error(
      fmt::format("input \"{}\" must be {}, but is {}", name, wanted, describe(got)));
}

const Value& InputReader::rows(std::string_view name, RowType type) {
  const Value& v = next(name);
  const bool type_ok =
      v.dtype == DType::kF32 || (type == RowType::kF32OrQ8A && v.dtype == DType::kQ8A);
  const bool ok =
      holds_rows(v) && type_ok && v.shape.rank() == 2 && v.shape[0] > 0 && v.shape[1] > 0;
  if (!ok) expect(false, name, v, type == RowType::kF32 ? "F32 [R, n]" : "F32 or Q8A [R, n]");
  return v;
}

const Value& InputReader::rows_like(std::string_view name, const Value& like, std::int64_t n) {
  const Value& v = next(name);
  const bool ok = holds_rows(v) && v.dtype == DType::kF32 && v.shape.rank() == 2 &&
                  same_rows(v, like) && v.shape[1] == n;
  if (!ok && status_.ok()) {
    expect(false, name, v, fmt::format("F32 with {} rows of {}", rows_text(like), n));
  }
  return v;
}

const Value& InputReader::index(std::string_view name, const Value* like) {
  const Value& v = next(name);
  const bool ok = holds_rows(v) && v.dtype == DType::kI32 && v.shape.rank() == 1 &&
                  (like == nullptr || same_rows(v, *like));
  if (!ok && status_.ok()) {
    const std::string wanted =
        like == nullptr ? "I32 [R]" : fmt::format("I32 with {} rows", rows_text(*like));
    expect(false, name, v, wanted);
  }
  return v;
}

const Value& InputReader::index_rows(std::string_view name, const Value& like,
                                     std::int64_t columns) {
  const Value& v = next(name);
  const bool ok = holds_rows(v) && v.dtype == DType::kI32 && v.shape.rank() == 2 &&
                  same_rows(v, like) && v.shape[1] == columns;
  if (!ok && status_.ok()) {
    expect(false, name, v, fmt::format("I32 with {} rows of {}", rows_text(like), columns));
  }
  return v;
}

const Value& InputReader::page_tables(std::string_view name) {
  const Value& v = next(name);
  const bool ok = v.kind == ValueKind::kInput && v.input == InputKind::kKvPages &&
                  v.dtype == DType::kI32 && v.shape.rank() == 2;
  expect(ok, name, v, "the page tables I32 [n_tokens, n_pages]");
  return v;
}

const Value& InputReader::matrix(std::string_view name, std::int64_t inner) {
  const Value& v = next(name);
  const bool ok =
      v.kind == ValueKind::kWeight && v.shape.rank() == 2 && (inner == 0 || v.shape[1] == inner);
  if (!ok && status_.ok()) {
    expect(false, name, v,
           inner == 0 ? std::string("a weight [n, k]") : fmt::format("a weight [n, {}]", inner));
  }
  return v;
}

const Value& InputReader::experts(std::string_view name) {
  const Value& v = next(name);
  expect(v.kind == ValueKind::kWeight && v.shape.rank() == 3, name, v, "a weight [n_expert, n, k]");
  return v;
}

const Value& InputReader::vector(std::string_view name, std::int64_t n) {
  const Value& v = next(name);
  const bool ok = v.kind == ValueKind::kWeight && v.shape.rank() == 1 && v.shape[0] == n;
  if (!ok && status_.ok()) expect(false, name, v, fmt::format("a weight [{}]", n));
  return v;
}

const Value& InputReader::kv_token(std::string_view name, std::int32_t layer) {
  const Value& v = next(name);
  const bool ok = v.kind == ValueKind::kKvToken && v.layer == layer;
  if (!ok && status_.ok()) {
    expect(false, name, v, fmt::format("the KV token of layer {}", layer));
  }
  return v;
}

void InputReader::require(bool condition, std::string_view what) {
  if (!condition && status_.ok()) status_ = internal_error(std::string(what));
}

Status InputReader::finish() {
  if (status_.ok() && next_ != inputs_.size()) {
    status_ = internal_error(fmt::format("{} inputs, but {} are wanted", inputs_.size(), next_));
  }
  return std::move(status_);
}

OutputSpec rows_of(const Value& like, std::int64_t n, DType dtype) {
  return {ValueKind::kTransient, dtype, like.rows, Shape{like.shape[0], n}, -1};
}

OutputSpec kv_token_of(std::int32_t layer) {
  return {ValueKind::kKvToken, DType::kI32, RowDomain::kFixed, Shape{}, layer};
}

OutputSpecs one(const OutputSpec& spec) {
  OutputSpecs specs;
  specs.push_back(spec);
  return specs;
}

void check_rope(InputReader& in, const RopeAttrs& rope) {
  in.require(rope.n_head > 0 && rope.head_dim > 0, "n_head and head_dim must be positive");
  in.require(rope.n_rot > 0 && rope.n_rot <= rope.head_dim && rope.n_rot % 2 == 0,
             "n_rot must be even, positive and at most head_dim");
  in.require(rope.base > 0.0F && rope.freq_scale > 0.0F,
             "the base and the frequency scale must be positive");
}

}  // namespace minfer::ir::ops

#include "ir/op.h"

#include "ir/ops/rules.h"

namespace minfer::ir {
namespace {

template <class T, class... Alternatives>
constexpr std::size_t alternative_index(const std::variant<Alternatives...>*) {
  std::size_t index = 0;
  const bool found = ((std::is_same_v<T, Alternatives> || (++index, false)) || ...);
  return found ? index : std::variant_npos;
}

struct OpInfo {
  std::string_view name;
  std::size_t attrs_index;
  int in_place_input;
  ShapeRule rule;
};

constexpr OpInfo kOps[] = {
#define MINFER_OP(enumerator, name, attributes, in_place)                              \
  {#name, alternative_index<attributes>(static_cast<const Attrs*>(nullptr)), in_place, \
   &ops::name##_rule},
#include "ir/ops.def"
#undef MINFER_OP
};

const OpInfo& info(OpKind op) { return kOps[static_cast<std::size_t>(op)]; }

}  // namespace

std::string_view op_name(OpKind op) { return info(op).name; }

int in_place_input(OpKind op) { return info(op).in_place_input; }

ShapeRule shape_rule(OpKind op) { return info(op).rule; }

bool attrs_match(OpKind op, const Attrs& attrs) { return attrs.index() == info(op).attrs_index; }

bool has_side_effect(OpKind op) {
  return op == OpKind::kKvStore || op == OpKind::kFusedQkv || op == OpKind::kScan;
}

}  // namespace minfer::ir

#include "sampling/json_schema/emitter.h"

namespace minfer::sampling::schema {

Result<RuleSet> Emitter::run() {
  Goal goal;
  add_to(goal, {&document_.root(), false});
  value(goal);
  while (!todo_.empty() && status_.ok()) {
    const auto [next, rule] = std::move(todo_.back());
    todo_.pop_back();
    fill(next, rule);
    if (rules_.size() > kMaxRules) too_complex();
  }
  if (!status_.ok()) return status_;
  if (!rules_.prune()) return invalid_argument("JSON schema, #: no value fits the schema");
  return std::move(rules_);
}

void Emitter::refuse(const JsonValue& schema, std::string_view keyword, std::string_view what) {
  if (status_.ok()) status_ = unsupported(document_.at(schema, keyword, what));
}

void Emitter::too_complex() {
  refuse(current_ != nullptr ? *current_ : document_.root(), "",
         "too complex: this takes too many rules");
}

RuleId Emitter::value(const Goal& goal) {
  const auto known = goals_.find(goal);
  if (known != goals_.end()) return known->second;
  const RuleId rule = rules_.add("value");
  goals_.emplace(goal, rule);
  todo_.emplace_back(goal, rule);
  return rule;
}

void Emitter::fill(const Goal& goal, RuleId rule) {
  current_ = goal.empty() ? nullptr : goal.front().schema;
  for (int t = 0; t < kTypes && status_.ok(); ++t) {
    Result<std::vector<Shape>> shapes = expander_.expand(goal, static_cast<Type>(t));
    if (!shapes.ok()) {
      status_ = shapes.status();
      return;
    }
    for (const Shape& shape : *shapes) {
      if (status_.ok()) emit(shape, rule);
    }
  }
}

void Emitter::emit(const Shape& shape, RuleId rule) {
  switch (shape.type) {
    case Type::kNull:
      rules_.add_alternative(rule, {literal_symbol("null")});
      return;
    case Type::kBoolean:
      if (shape.can_be[1]) rules_.add_alternative(rule, {literal_symbol("true")});
      if (shape.can_be[0]) rules_.add_alternative(rule, {literal_symbol("false")});
      return;
    case Type::kNumber:
      emit_number(shape, rule);
      return;
    case Type::kString:
      emit_string(shape, rule);
      return;
    case Type::kArray:
      emit_array(shape, rule);
      return;
    case Type::kObject:
      emit_object(shape, rule);
      return;
  }
}

}  // namespace minfer::sampling::schema

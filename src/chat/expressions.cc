#include <fmt/format.h>

#include "chat/ast.h"

namespace minfer::chat {
namespace {

class FunctionObject final : public Object {
 public:
  explicit FunctionObject(Function function) : function_(function) {}
  [[nodiscard]] std::string_view type_name() const override { return "function"; }
  [[nodiscard]] bool callable() const override { return true; }
  Value call(Run& run, const Args& args) override { return function_(run, args); }

 private:
  Function function_;
};

class Literal final : public Expr {
 public:
  Literal(Position at, Value value) : Expr(at), value_(std::move(value)) {}

 private:
  Value compute(Run&) const override { return value_; }
  Value value_;
};

class Name final : public Expr {
 public:
  Name(Position at, std::string name)
      : Expr(at), name_(std::move(name)), function_(find_function(name_)) {}
  [[nodiscard]] const std::string* name() const override { return &name_; }

 private:
  Value compute(Run& run) const override {
    Value value = run.lookup(name_);
    if (value.is_undefined() && function_ != nullptr)
      return Value(std::make_shared<FunctionObject>(function_));
    return value;
  }
  std::string name_;
  Function function_;
};

/// An expression given as a function over its parts.
template <class Compute>
class Computed final : public Expr {
 public:
  Computed(Position at, Compute compute) : Expr(at), compute_(std::move(compute)) {}

 private:
  Value compute(Run& run) const override { return compute_(run, at()); }
  Compute compute_;
};

template <class Compute>
ExprPtr computed(Position at, Compute compute) {
  return std::make_unique<Computed<Compute>>(at, std::move(compute));
}

Value eval_or_none(const ExprPtr& expr, Run& run) { return expr ? expr->eval(run) : Value(); }

bool compare(Run& run, const std::string& op, const Value& a, const Value& b) {
  if (op == "==") return equal(a, b);
  if (op == "!=") return !equal(a, b);
  if (op == "in") return contains(run, b, a);
  if (op == "not in") return !contains(run, b, a);
  if (op == "<") return less(a, b);
  if (op == ">") return less(b, a);
  if (op == "<=") return less(a, b) || equal(a, b);
  return less(b, a) || equal(a, b);
}

}  // namespace

Args ArgExprs::eval(Run& run) const {
  Args args;
  for (const ExprPtr& expr : positional) args.positional.push_back(expr->eval(run));
  for (const auto& [name, expr] : named) args.named.emplace_back(name, expr->eval(run));
  if (star) {
    for (Value& value : iterate(star->eval(run))) args.positional.push_back(std::move(value));
  }
  if (star_star) {
    const Value value = star_star->eval(run);
    if (value.dict() == nullptr) fail("** needs a mapping");
    for (const auto& [key, item] : value.dict()->items())
      args.named.emplace_back(key.str().bytes(), item);
  }
  return args;
}

ExprPtr make_literal(Position at, Value value) {
  return std::make_unique<Literal>(at, std::move(value));
}

ExprPtr make_name(Position at, std::string name) {
  return std::make_unique<Name>(at, std::move(name));
}

ExprPtr make_attribute(Position at, ExprPtr base, std::string name) {
  return computed(at, [base = std::move(base), name = std::move(name)](Run& run, Position pos) {
    const Value value = base->eval(run);
    run.at = pos;
    return get_attribute(run, value, name);
  });
}

ExprPtr make_item(Position at, ExprPtr base, ExprPtr key) {
  return computed(at, [base = std::move(base), key = std::move(key)](Run& run, Position pos) {
    const Value value = base->eval(run);
    const Value index = key->eval(run);
    run.at = pos;
    return get_item(run, value, index);
  });
}

ExprPtr make_slice(Position at, ExprPtr base, ExprPtr from, ExprPtr to, ExprPtr by) {
  return computed(at, [base = std::move(base), from = std::move(from), to = std::move(to),
                       by = std::move(by)](Run& run, Position pos) {
    const Value value = base->eval(run);
    const Value a = eval_or_none(from, run);
    const Value b = eval_or_none(to, run);
    const Value c = eval_or_none(by, run);
    run.at = pos;
    return get_slice(run, value, a, b, c);
  });
}

ExprPtr make_call(Position at, ExprPtr callee, ArgExprs args) {
  return computed(at, [callee = std::move(callee), args = std::move(args)](Run& run, Position pos) {
    const Value function = callee->eval(run);
    const Args values = args.eval(run);
    run.at = pos;
    return call_value(run, function, values);
  });
}

ExprPtr make_filter(Position at, ExprPtr base, std::string name, ArgExprs args) {
  return computed(at, [base = std::move(base), filter = find_filter(name), name,
                       args = std::move(args)](Run& run, Position pos) {
    if (filter == nullptr) fail(fmt::format("there is no filter named '{}'", name));
    const Value value = base ? base->eval(run) : run.lookup("");
    const Args values = args.eval(run);
    run.at = pos;
    return filter(run, value, values);
  });
}

ExprPtr make_test(Position at, ExprPtr base, std::string name, ArgExprs args) {
  return computed(at, [base = std::move(base), test = find_test(name), name,
                       args = std::move(args)](Run& run, Position pos) {
    if (test == nullptr) fail(fmt::format("there is no test named '{}'", name));
    const Value value = base->eval(run);
    const Args values = args.eval(run);
    run.at = pos;
    return Value(test(run, value, values));
  });
}

ExprPtr make_not(Position at, ExprPtr operand) {
  return computed(at, [operand = std::move(operand)](Run& run, Position) {
    return Value(!operand->eval(run).truth());
  });
}

ExprPtr make_sign(Position at, ExprPtr operand, bool negative) {
  return computed(at, [operand = std::move(operand), negative](Run& run, Position pos) {
    const Value value = operand->eval(run);
    run.at = pos;
    const Value zero(std::int64_t{0});
    return binary_operation(run, negative ? "-" : "+", zero, value);
  });
}

ExprPtr make_binary(Position at, std::string op, ExprPtr left, ExprPtr right) {
  return computed(at, [op = std::move(op), left = std::move(left), right = std::move(right)](
                          Run& run, Position pos) {
    const Value a = left->eval(run);
    const Value b = right->eval(run);
    run.at = pos;
    return binary_operation(run, op, a, b);
  });
}

ExprPtr make_concat(Position at, std::vector<ExprPtr> parts) {
  return computed(at, [parts = std::move(parts)](Run& run, Position pos) {
    Text out;
    for (const ExprPtr& part : parts) {
      const Value value = part->eval(run);
      run.at = pos;
      out.append(to_text(run, value));
    }
    return Value(std::move(out));
  });
}

ExprPtr make_compare(Position at, ExprPtr first,
                     std::vector<std::pair<std::string, ExprPtr>> rest) {
  return computed(at, [first = std::move(first), rest = std::move(rest)](Run& run, Position pos) {
    Value left = first->eval(run);
    for (const auto& [op, expr] : rest) {
      Value right = expr->eval(run);
      run.at = pos;
      if (!compare(run, op, left, right)) return Value(false);
      left = std::move(right);
    }
    return Value(true);
  });
}

ExprPtr make_logic(Position at, bool is_and, ExprPtr left, ExprPtr right) {
  return computed(at,
                  [is_and, left = std::move(left), right = std::move(right)](Run& run, Position) {
                    Value value = left->eval(run);
                    return value.truth() == is_and ? right->eval(run) : value;
                  });
}

ExprPtr make_conditional(Position at, ExprPtr condition, ExprPtr yes, ExprPtr no) {
  return computed(at, [condition = std::move(condition), yes = std::move(yes), no = std::move(no)](
                          Run& run, Position) {
    if (condition->eval(run).truth()) return yes->eval(run);
    if (no) return no->eval(run);
    return Value::undefined("the inline if has no else, and its condition is false");
  });
}

ExprPtr make_list(Position at, std::vector<ExprPtr> items, bool tuple) {
  return computed(at, [items = std::move(items), tuple](Run& run, Position) {
    std::vector<Value> values;
    for (const ExprPtr& item : items) values.push_back(item->eval(run));
    return Value::list(std::move(values), tuple);
  });
}

ExprPtr make_dict(Position at, std::vector<std::pair<ExprPtr, ExprPtr>> items) {
  return computed(at, [items = std::move(items)](Run& run, Position) {
    Dict dict;
    for (const auto& [key, value] : items) {
      Value k = key->eval(run);
      dict.set(std::move(k), value->eval(run));
    }
    return Value::dict(std::move(dict));
  });
}

}  // namespace minfer::chat

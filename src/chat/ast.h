// The tree of a template: expressions that evaluate themselves, statements that run themselves.
//
// Invariants: immutable after parsing; depth is bounded by the parser.
// Thread-safety: const; any number of renderings may walk one tree.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat/frame_names.h"
#include "chat/run.h"

namespace minfer::chat {

class Expr {
 public:
  explicit Expr(Position at) : at_(at) {}
  virtual ~Expr() = default;
  /// The value; charges a step and a level, leaves run.at at this place.
  Value eval(Run& run) const {
    const Nested nested(run);
    run.at = at_;
    return compute(run);
  }
  [[nodiscard]] Position at() const { return at_; }
  /// The name, for a plain variable.
  [[nodiscard]] virtual const std::string* name() const { return nullptr; }

 protected:
  virtual Value compute(Run& run) const = 0;

 private:
  Position at_;
};
using ExprPtr = std::unique_ptr<Expr>;

struct ArgExprs {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr star;       // *args
  ExprPtr star_star;  // **kwargs
  [[nodiscard]] Args eval(Run& run) const;
};

ExprPtr make_literal(Position at, Value value);
ExprPtr make_name(Position at, std::string name);
ExprPtr make_attribute(Position at, ExprPtr base, std::string name);
ExprPtr make_item(Position at, ExprPtr base, ExprPtr key);
/// base[from:to:by]; each may be null.
ExprPtr make_slice(Position at, ExprPtr base, ExprPtr from, ExprPtr to, ExprPtr by);
ExprPtr make_call(Position at, ExprPtr callee, ArgExprs args);
/// A null base stands for the text of a filter block: it is the variable "" of the scope.
ExprPtr make_filter(Position at, ExprPtr base, std::string name, ArgExprs args);
ExprPtr make_test(Position at, ExprPtr base, std::string name, ArgExprs args);
ExprPtr make_not(Position at, ExprPtr operand);
ExprPtr make_sign(Position at, ExprPtr operand, bool negative);
ExprPtr make_binary(Position at, std::string op, ExprPtr left, ExprPtr right);
ExprPtr make_concat(Position at, std::vector<ExprPtr> parts);
/// a < b <= c: each operator with what is right of it. "in" and "not in" too.
ExprPtr make_compare(Position at, ExprPtr first, std::vector<std::pair<std::string, ExprPtr>> rest);
ExprPtr make_logic(Position at, bool is_and, ExprPtr left, ExprPtr right);
ExprPtr make_conditional(Position at, ExprPtr condition, ExprPtr yes, ExprPtr no);
ExprPtr make_list(Position at, std::vector<ExprPtr> items, bool tuple);
ExprPtr make_dict(Position at, std::vector<std::pair<ExprPtr, ExprPtr>> items);

class Stmt {
 public:
  explicit Stmt(Position at) : at_(at) {}
  virtual ~Stmt() = default;
  Flow run(Run& run) const {
    const Nested nested(run);
    run.at = at_;
    return execute(run);
  }

 protected:
  virtual Flow execute(Run& run) const = 0;
  [[nodiscard]] Position at() const { return at_; }

 private:
  Position at_;
};
using StmtPtr = std::unique_ptr<Stmt>;
using Block = std::vector<StmtPtr>;

Flow run_block(Run& run, const Block& block);
/// A frame begins, in a scope of its own.
void hide(Run& run, const HiddenNames& names);

/// Where a value goes: a name, namespace.attribute, or a list of targets.
struct Target {
  std::string name;
  std::string attribute;
  std::vector<Target> parts;
};
void assign(Run& run, const Target& target, const Value& value);

struct MacroCode {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<ExprPtr> defaults;  // of the last parameters
  Block body;
  HiddenNames hidden;
  bool takes_more = false;   // the body asks for varargs
  bool takes_named = false;  // ... for kwargs
};

struct IfBranch {
  ExprPtr condition;  // null: else
  Block body;
};

StmtPtr make_data(Position at, std::string text);
StmtPtr make_output(Position at, ExprPtr value);
StmtPtr make_if(Position at, std::vector<IfBranch> branches);
struct ForParts {
  Target target;
  ExprPtr items;
  ExprPtr filter;
  Block body;
  Block otherwise;
  HiddenNames hidden;            // of the body
  HiddenNames hidden_otherwise;  // null where there is no else
  bool recursive = false;
};
StmtPtr make_for(Position at, ForParts parts);
StmtPtr make_set(Position at, Target target, ExprPtr value);
/// {% set x | filter %}...{% endset %}; `filter` may be null.
StmtPtr make_set_block(Position at, Target target, ExprPtr filter, Block body, HiddenNames hidden);
StmtPtr make_filter_block(Position at, ExprPtr filter, Block body, HiddenNames hidden);
StmtPtr make_macro(Position at, std::shared_ptr<const MacroCode> code);
StmtPtr make_call_block(Position at, ExprPtr call, std::shared_ptr<const MacroCode> caller);
StmtPtr make_with(Position at, std::vector<std::pair<Target, ExprPtr>> names, Block body,
                  HiddenNames hidden);
StmtPtr make_flow(Position at, Flow flow);

/// The macro as a value, closed over the current scope.
Value make_macro_value(Run& run, std::shared_ptr<const MacroCode> code);

}  // namespace minfer::chat

#include <fmt/format.h>

#include <algorithm>

#include "chat/ast.h"

namespace minfer::chat {
namespace {

template <class Execute>
class Executed final : public Stmt {
 public:
  Executed(Position at, Execute execute) : Stmt(at), execute_(std::move(execute)) {}

 private:
  Flow execute(Run& run) const override { return execute_(run, at()); }
  Execute execute_;
};

template <class Execute>
StmtPtr executed(Position at, Execute execute) {
  return std::make_unique<Executed<Execute>>(at, std::move(execute));
}

Value index_value(std::size_t i) { return Value(static_cast<std::int64_t>(i)); }

class ForStmt;

/// The variable `loop`.
class Loop final : public Object {
 public:
  Loop(const ForStmt& statement, Scope* scope, std::vector<Value> items, std::size_t depth)
      : statement_(statement), scope_(scope), items_(std::move(items)), depth_(depth) {}

  [[nodiscard]] std::string_view type_name() const override { return "loop"; }
  Value attribute(const std::string& name) override;
  [[nodiscard]] bool callable() const override { return true; }
  Value call(Run& run, const Args& args) override;
  void clear() override { last_changed_ = {}; }

  [[nodiscard]] const std::vector<Value>& items() const { return items_; }
  std::size_t index = 0;

 private:
  class Method;
  const ForStmt& statement_;
  Scope* scope_;
  std::vector<Value> items_;
  std::size_t depth_;
  std::vector<Value> last_changed_;
  bool has_changed_ = false;
};

class ForStmt final : public Stmt {
 public:
  ForStmt(Position at, ForParts parts) : Stmt(at), parts_(std::move(parts)) {}

  void iterate_over(Run& run, const Value& value) const {
    run.at = at();
    std::vector<Value> items = iterate(value);
    run.step(items.size());
    if (parts_.filter) items = filtered(run, std::move(items));
    const auto loop = std::make_shared<Loop>(*this, run.scope, std::move(items), run.loop_depth);
    run.keep(loop);
    if (loop->items().empty()) {
      const ScopeGuard guard(run);
      hide(run, parts_.hidden_otherwise);
      run_block(run, parts_.otherwise);
      return;
    }
    ++run.loop_depth;
    for (; loop->index < loop->items().size(); ++loop->index) {
      const ScopeGuard guard(run);
      hide(run, parts_.hidden);
      run.step();
      run.at = at();
      assign(run, parts_.target, loop->items()[loop->index]);
      run.set("loop", Value(loop));
      if (run_block(run, parts_.body) == Flow::kBreak) break;
    }
    --run.loop_depth;
  }
  [[nodiscard]] bool recursive() const { return parts_.recursive; }

 private:
  Flow execute(Run& run) const override {
    iterate_over(run, parts_.items->eval(run));
    return Flow::kNext;
  }

  std::vector<Value> filtered(Run& run, std::vector<Value> items) const {
    std::vector<Value> kept;
    for (Value& item : items) {
      const ScopeGuard guard(run);
      assign(run, parts_.target, item);
      if (parts_.filter->eval(run).truth()) kept.push_back(std::move(item));
    }
    return kept;
  }

  ForParts parts_;
};

class Loop::Method final : public Object {
 public:
  Method(std::shared_ptr<Loop> loop, bool cycle) : loop_(std::move(loop)), cycle_(cycle) {}
  [[nodiscard]] std::string_view type_name() const override { return "method"; }
  [[nodiscard]] bool callable() const override { return true; }
  Value call(Run&, const Args& args) override {
    if (cycle_) {
      if (args.positional.empty()) fail("loop.cycle needs items");
      return args.positional[loop_->index % args.positional.size()];
    }
    const auto& now = args.positional;
    const bool same =
        loop_->has_changed_ && std::equal(now.begin(), now.end(), loop_->last_changed_.begin(),
                                          loop_->last_changed_.end(), equal);
    loop_->has_changed_ = true;
    loop_->last_changed_ = now;
    return Value(!same);
  }

 private:
  std::shared_ptr<Loop> loop_;
  bool cycle_;
};

Value Loop::attribute(const std::string& name) {
  const std::size_t n = items_.size();
  if (name == "index") return index_value(index + 1);
  if (name == "index0") return index_value(index);
  if (name == "revindex") return index_value(n - index);
  if (name == "revindex0") return index_value(n - index - 1);
  if (name == "first") return Value(index == 0);
  if (name == "last") return Value(index + 1 == n);
  if (name == "length") return index_value(n);
  if (name == "depth") return index_value(depth_ + 1);
  if (name == "depth0") return index_value(depth_);
  if (name == "previtem")
    return index > 0 ? items_[index - 1] : Value::undefined("there is no previous item");
  if (name == "nextitem")
    return index + 1 < n ? items_[index + 1] : Value::undefined("there is no next item");
  return Value::undefined(fmt::format("'loop' has no attribute '{}'", name));
}

Value Loop::call(Run& run, const Args& args) {
  if (!statement_.recursive()) fail("the loop is not marked as recursive");
  if (args.positional.size() != 1) fail("loop() takes one argument");
  Capture capture(run);
  const ScopeGuard guard(run, scope_);
  statement_.iterate_over(run, args.positional[0]);
  return Value(capture.take());
}

class Macro final : public Object {
 public:
  Macro(std::shared_ptr<const MacroCode> code, Scope* scope)
      : code_(std::move(code)), scope_(scope) {}
  [[nodiscard]] std::string_view type_name() const override { return "macro"; }
  [[nodiscard]] bool callable() const override { return true; }
  Value attribute(const std::string& name) override {
    return name == "name" ? Value::literal(code_->name) : Object::attribute(name);
  }

  Value call(Run& run, const Args& args) override {
    const Nested nested(run);
    Capture capture(run);
    const ScopeGuard guard(run, scope_);
    const std::size_t loops = std::exchange(run.loop_depth, 0);
    hide(run, code_->hidden);
    bind(run, args);
    run_block(run, code_->body);
    run.loop_depth = loops;
    return Value(capture.take());
  }

 private:
  void bind(Run& run, const Args& args) const {
    const auto& names = code_->parameters;
    Args rest;
    for (std::size_t i = names.size(); i < args.positional.size(); ++i)
      rest.positional.push_back(args.positional[i]);
    Dict more_named;
    for (const auto& [name, value] : args.named) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      if (name == "caller") {
        run.set("caller", value);
      } else if (code_->takes_named) {
        more_named.set(Value::literal(name), value);
      } else {
        fail(fmt::format("macro '{}' takes no keyword argument '{}'", code_->name, name));
      }
    }
    if (!rest.positional.empty() && !code_->takes_more)
      fail(fmt::format("macro '{}' takes at most {} arguments", code_->name, names.size()));
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (const Value* given = args.find(i, names[i])) {
        run.set(names[i], *given);
      } else if (i + code_->defaults.size() >= names.size()) {
        run.set(names[i], code_->defaults[i + code_->defaults.size() - names.size()]->eval(run));
      } else {
        run.set(names[i],
                Value::undefined(fmt::format("parameter '{}' was not provided", names[i])));
      }
    }
    if (code_->takes_more) run.set("varargs", Value::list(std::move(rest.positional), true));
    if (code_->takes_named) run.set("kwargs", Value::dict(std::move(more_named)));
  }

  std::shared_ptr<const MacroCode> code_;
  Scope* scope_;
};

}  // namespace

Flow run_block(Run& run, const Block& block) {
  for (const StmtPtr& statement : block) {
    if (const Flow flow = statement->run(run); flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

void hide(Run& run, const HiddenNames& names) {
  if (names == nullptr) return;
  for (const std::string& name : *names)
    run.set(name, Value::undefined(fmt::format("'{}' is undefined", name)));
}

void assign(Run& run, const Target& target, const Value& value) {
  if (!target.parts.empty()) {
    const std::vector<Value> items = iterate(value);
    if (items.size() != target.parts.size())
      fail(fmt::format("{} values for {} names", items.size(), target.parts.size()));
    for (std::size_t i = 0; i < items.size(); ++i) assign(run, target.parts[i], items[i]);
  } else if (target.attribute.empty()) {
    run.set(target.name, value);
  } else {
    const Value holder = run.lookup(target.name);
    if (holder.object() == nullptr || !holder.object()->set(target.attribute, value))
      fail("cannot assign attribute on non-namespace object");
  }
}

Value make_macro_value(Run& run, std::shared_ptr<const MacroCode> code) {
  run.capture_scope();
  return Value(std::make_shared<Macro>(std::move(code), run.scope));
}

StmtPtr make_data(Position at, std::string text) {
  return executed(at, [text = Text(std::move(text), Origin::kTemplate)](Run& run, Position) {
    run.write(text);
    return Flow::kNext;
  });
}

StmtPtr make_output(Position at, ExprPtr value) {
  return executed(at, [value = std::move(value)](Run& run, Position pos) {
    const Value result = value->eval(run);
    run.at = pos;
    run.write(to_text(run, result));
    return Flow::kNext;
  });
}

StmtPtr make_if(Position at, std::vector<IfBranch> branches) {
  return executed(at, [branches = std::move(branches)](Run& run, Position) {
    for (const IfBranch& branch : branches) {
      if (!branch.condition || branch.condition->eval(run).truth())
        return run_block(run, branch.body);
    }
    return Flow::kNext;
  });
}

StmtPtr make_for(Position at, ForParts parts) {
  return std::make_unique<ForStmt>(at, std::move(parts));
}

StmtPtr make_set(Position at, Target target, ExprPtr value) {
  return executed(at,
                  [target = std::move(target), value = std::move(value)](Run& run, Position pos) {
                    const Value result = value->eval(run);
                    run.at = pos;
                    assign(run, target, result);
                    return Flow::kNext;
                  });
}

namespace {

Value filtered_block(Run& run, const ExprPtr& filter, const Block& body,
                     const HiddenNames& hidden) {
  const ScopeGuard guard(run);
  hide(run, hidden);
  {
    Capture capture(run);
    run_block(run, body);
    run.set("", Value(capture.take()));
  }
  return filter ? filter->eval(run) : run.lookup("");
}

}  // namespace

StmtPtr make_set_block(Position at, Target target, ExprPtr filter, Block body, HiddenNames hidden) {
  return executed(at, [target = std::move(target), filter = std::move(filter),
                       body = std::move(body), hidden = std::move(hidden)](Run& run, Position) {
    const Value value = filtered_block(run, filter, body, hidden);
    assign(run, target, value);
    return Flow::kNext;
  });
}

StmtPtr make_filter_block(Position at, ExprPtr filter, Block body, HiddenNames hidden) {
  return executed(at, [filter = std::move(filter), body = std::move(body),
                       hidden = std::move(hidden)](Run& run, Position) {
    run.write(to_text(run, filtered_block(run, filter, body, hidden)));
    return Flow::kNext;
  });
}

StmtPtr make_macro(Position at, std::shared_ptr<const MacroCode> code) {
  return executed(at, [code = std::move(code)](Run& run, Position) {
    run.set(code->name, make_macro_value(run, code));
    return Flow::kNext;
  });
}

StmtPtr make_call_block(Position at, ExprPtr call, std::shared_ptr<const MacroCode> caller) {
  return executed(at, [call = std::move(call), caller = std::move(caller)](Run& run, Position pos) {
    const ScopeGuard guard(run);
    run.set("caller()", make_macro_value(run, caller));
    const Value value = call->eval(run);
    run.at = pos;
    run.write(to_text(run, value));
    return Flow::kNext;
  });
}

StmtPtr make_with(Position at, std::vector<std::pair<Target, ExprPtr>> names, Block body,
                  HiddenNames hidden) {
  return executed(at, [names = std::move(names), body = std::move(body),
                       hidden = std::move(hidden)](Run& run, Position) {
    std::vector<Value> values;
    for (const auto& [target, expr] : names) values.push_back(expr->eval(run));
    const ScopeGuard guard(run);
    hide(run, hidden);
    for (std::size_t i = 0; i < names.size(); ++i) assign(run, names[i].first, values[i]);
    return run_block(run, body);
  });
}

StmtPtr make_flow(Position at, Flow flow) {
  return executed(at, [flow](Run&, Position) { return flow; });
}

}  // namespace minfer::chat

#include "sampling/grammar/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/printable.h"
#include "sampling/grammar/scanner.h"

namespace minfer::sampling {
namespace {

/// A walk through every rule and every loop's body from its start on, each a unit of its own: a
/// call or loop is passed once its unit is known to reach its end. `through_characters` false:
/// without reading anything, which finds the nullable units; true: whatever is read, which finds
/// those that can end.
class Reach {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  Reach(const Program& program, bool through_characters)
      : program_(program),
        through_characters_(through_characters),
        unit_of_(program.code.size(), kNone),
        waiting_(n_units()),
        ends_(n_units(), false) {
    for (std::uint32_t i = 0; i < program.rules.size(); ++i) push(program.rules[i].entry, i);
    for (std::uint32_t i = 0; i < program.loops.size(); ++i) {
      push(program.loops[i].body, unit_of_loop(i));
    }
    while (!work_.empty()) {
      const Pc pc = work_.back();
      work_.pop_back();
      visit(pc, unit_of_[pc]);
    }
  }

  /// Rules first, then loops.
  [[nodiscard]] std::size_t n_units() const {
    return program_.rules.size() + program_.loops.size();
  }
  [[nodiscard]] std::uint32_t unit_of_loop(std::uint32_t loop) const {
    return static_cast<std::uint32_t>(program_.rules.size()) + loop;
  }
  /// The unit whose walk came to `pc`, or kNone.
  [[nodiscard]] std::uint32_t unit_of(Pc pc) const { return unit_of_[pc]; }
  [[nodiscard]] bool ends(std::uint32_t unit) const { return ends_[unit]; }

 private:
  void push(Pc pc, std::uint32_t unit) {
    if (unit_of_[pc] != kNone) return;
    unit_of_[pc] = unit;
    work_.push_back(pc);
  }

  void visit(Pc pc, std::uint32_t unit) {
    const Instruction& at = program_.code[pc];
    switch (at.op) {
      case Op::kAccept:
        break;
      case Op::kChar:
      case Op::kToken:
        if (through_characters_) push(at.next, unit);
        break;
      case Op::kCall:
        pass(at.arg, at.next, unit);
        break;
      case Op::kReturn:
      case Op::kLoopEnd:
        end(unit);
        break;
      case Op::kSplit:
        for (Pc i = 0; i < at.next; ++i) push(program_.targets[at.arg + i], unit);
        break;
      case Op::kLoop: {
        const Loop& loop = program_.loops[at.arg];
        if (loop.min == 0) push(loop.exit, unit);
        pass(unit_of_loop(at.arg), loop.exit, unit);
        break;
      }
      case Op::kJump:
        push(at.next, unit);
        break;
    }
  }

  void pass(std::uint32_t called, Pc next, std::uint32_t unit) {
    if (ends_[called]) {
      push(next, unit);
    } else {
      waiting_[called].push_back({next, unit});
    }
  }

  void end(std::uint32_t unit) {
    if (ends_[unit]) return;
    ends_[unit] = true;
    for (const auto& [pc, waiter] : waiting_[unit]) push(pc, waiter);
    waiting_[unit].clear();
  }

  const Program& program_;
  bool through_characters_;
  std::vector<std::uint32_t> unit_of_;                              // [code.size()]
  std::vector<std::vector<std::pair<Pc, std::uint32_t>>> waiting_;  // [n_units] behind calls of it
  std::vector<bool> ends_;                                          // [n_units]
  std::vector<Pc> work_;
};

Status check_names(Program& program) {
  for (const Rule& rule : program.rules) {
    if (!rule.defined) {
      return grammar_error(rule.place, "",
                           fmt::format("rule \"{}\" is not defined", printable(rule.name)));
    }
  }
  const auto root = std::ranges::find(program.rules, "root", &Rule::name);
  if (root == program.rules.end()) {
    return grammar_error({}, "", "there is no rule \"root\", where the text begins");
  }
  program.entry = root->entry;
  return ok_status();
}

void remove_jumps(Program& program) {
  std::vector<Instruction>& code = program.code;
  const auto resolve = [&](Pc& pc) {
    Pc end = pc;
    while (code[end].op == Op::kJump) end = code[end].next;
    // The chain is made short, so that long ones are walked once.
    for (Pc at = pc; code[at].op == Op::kJump && at != end;) {
      const Pc next = code[at].next;
      code[at].next = end;
      at = next;
    }
    pc = end;
  };
  for (Instruction& at : code) {
    if (at.op == Op::kChar || at.op == Op::kToken || at.op == Op::kCall) resolve(at.next);
  }
  for (Pc& target : program.targets) resolve(target);
  for (Loop& loop : program.loops) {
    resolve(loop.body);
    resolve(loop.exit);
  }
  for (Rule& rule : program.rules) resolve(rule.entry);
  resolve(program.entry);
}

/// A call or a loop that stands where its unit has read nothing yet.
struct FirstCall {
  std::uint32_t to = 0;  // the unit
  Pc pc = 0;
};

/// The error for the cycle that `calls` are.
Status left_recursion(const Program& program, std::span<const FirstCall> calls) {
  constexpr int kShown = 8;
  std::string cycle;
  Pc first = 0;
  int n = 0;
  for (const FirstCall& call : calls) {
    if (program.code[call.pc].op != Op::kCall) continue;
    if (cycle.empty()) {
      first = call.pc;
      cycle = printable(program.rules[program.rule_of[first]].name);
    }
    if (++n <= kShown) cycle += " -> " + printable(program.rules[call.to].name);
  }
  if (n > kShown) cycle += " -> ...";
  return grammar_error(
      program.call_places[first], program.rules[program.rule_of[first]].name,
      "left recursion: it comes back to itself before it reads anything (" + cycle + ")");
}

Status check_left_recursion(const Program& program, const Reach& empty) {
  std::vector<std::vector<FirstCall>> calls(empty.n_units());
  for (Pc pc = 0; pc < program.code.size(); ++pc) {
    const std::uint32_t unit = empty.unit_of(pc);
    const Instruction& at = program.code[pc];
    if (unit == Reach::kNone) continue;
    if (at.op == Op::kCall) calls[unit].push_back({at.arg, pc});
    if (at.op == Op::kLoop) calls[unit].push_back({empty.unit_of_loop(at.arg), pc});
  }
  enum class State : std::uint8_t { kNew, kOpen, kDone };
  std::vector<State> state(calls.size(), State::kNew);
  std::vector<std::size_t> next(calls.size(), 0);
  for (std::uint32_t start = 0; start < calls.size(); ++start) {
    if (state[start] != State::kNew) continue;
    std::vector<FirstCall> path;
    std::uint32_t unit = start;
    while (true) {
      state[unit] = State::kOpen;
      if (next[unit] < calls[unit].size()) {
        const FirstCall call = calls[unit][next[unit]++];
        if (state[call.to] == State::kDone) continue;
        path.push_back(call);
        if (state[call.to] == State::kOpen) {
          std::size_t from = path.size() - 1;
          while (empty.unit_of(path[from].pc) != call.to) --from;
          return left_recursion(program, std::span(path).subspan(from));
        }
        unit = call.to;
        continue;
      }
      state[unit] = State::kDone;
      if (path.empty()) break;
      unit = empty.unit_of(path.back().pc);
      path.pop_back();
    }
  }
  return ok_status();
}

}  // namespace

Status check_program(Program& program) {
  MINFER_RETURN_IF_ERROR(check_names(program));
  remove_jumps(program);
  const Reach empty(program, false);
  MINFER_RETURN_IF_ERROR(check_left_recursion(program, empty));
  const Reach whole(program, true);
  for (std::uint32_t i = 0; i < program.rules.size(); ++i) {
    if (whole.ends(i)) continue;
    return grammar_error(program.rules[i].place, program.rules[i].name,
                         "unbounded expansion: every way through the rule comes back to it, so it "
                         "never ends");
  }
  for (std::uint32_t i = 0; i < program.loops.size(); ++i) {
    if (empty.ends(empty.unit_of_loop(i))) program.loops[i].min = 0;
  }
  return ok_status();
}

}  // namespace minfer::sampling

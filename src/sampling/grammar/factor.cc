#include "sampling/grammar/factor.h"

#include <algorithm>
#include <unordered_map>

namespace minfer::sampling {
namespace {

class Factoring {
 public:
  explicit Factoring(Program& program)
      : program_(program), limit_(3 * (program.code.size() + program.targets.size())) {}

  void run() {
    for (Pc pc = 0; pc < program_.code.size() && program_.code.size() < limit_; ++pc) {
      if (program_.code[pc].op == Op::kSplit) factor(pc);
    }
  }

 private:
  /// Puts targets that begin alike together. The splits behind them stand at the end of the code,
  /// where run() comes to them.
  void factor(Pc split) {
    std::unordered_map<std::uint64_t, std::size_t> group_of;
    std::vector<std::vector<Pc>> groups;
    const Instruction at = program_.code[split];
    for (Pc i = 0; i < at.next; ++i) {
      const Pc target = program_.targets[at.arg + i];
      const Instruction& first = program_.code[target];
      std::uint64_t key = std::uint64_t{1} << 63 | target;
      if (first.op == Op::kChar) key = first.arg;
      if (first.op == Op::kCall) key = std::uint64_t{1} << 62 | first.arg;
      const auto [entry, is_new] = group_of.try_emplace(key, groups.size());
      if (is_new) groups.emplace_back();
      groups[entry->second].push_back(target);
    }
    if (groups.size() == at.next) return;
    std::vector<Pc> targets;
    for (const std::vector<Pc>& group : groups) targets.push_back(joined(group));
    program_.code[split] = make_split(targets);
  }

  /// One instruction for the group, which begins alike.
  Pc joined(const std::vector<Pc>& group) {
    const Instruction first = program_.code[group.front()];
    if (group.size() == 1 || (first.op != Op::kChar && first.op != Op::kCall)) {
      return group.front();
    }
    std::vector<Pc> behind;
    for (const Pc pc : group) behind.push_back(program_.code[pc].next);
    std::ranges::sort(behind);
    behind.erase(std::unique(behind.begin(), behind.end()), behind.end());
    const Pc next = behind.size() == 1 ? behind.front() : append(make_split(behind), group.front());
    return append({first.op, first.arg, next}, group.front());
  }

  Instruction make_split(const std::vector<Pc>& targets) {
    const auto first = static_cast<std::uint32_t>(program_.targets.size());
    program_.targets.insert(program_.targets.end(), targets.begin(), targets.end());
    return {Op::kSplit, first, static_cast<Pc>(targets.size())};
  }

  Pc append(Instruction instruction, Pc like) {
    program_.code.push_back(instruction);
    program_.call_places.push_back(program_.call_places[like]);
    program_.rule_of.push_back(program_.rule_of[like]);
    return static_cast<Pc>(program_.code.size() - 1);
  }

  Program& program_;
  std::size_t limit_;  // past it the rest stays as it is
};

}  // namespace

void factor_prefixes(Program& program) { Factoring(program).run(); }

}  // namespace minfer::sampling

#include "sampling/grammar/machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"

namespace minfer::sampling {
namespace {

// What one closure may visit beside its live stacks: places between two characters.
constexpr std::size_t kMaxVisits = 16 * kMaxLiveStacks;

constexpr std::size_t kCrowdedConfigs = std::size_t{1} << 21;
constexpr std::size_t kCrowdedFrames = std::size_t{1} << 20;

}  // namespace

void Machine::clear() {
  stacks_.clear();
  states_.clear();
  configs_.clear();
  ascii_.clear();
  ways_.clear();
  index_.clear();
  std::vector<Config> none;
  intern(none);  // kDead
}

StateId Machine::intern(std::vector<Config>& configs) {
  std::ranges::sort(configs);
  configs.erase(std::unique(configs.begin(), configs.end()), configs.end());
  std::uint64_t hash = configs.size();
  for (const Config& config : configs) {
    hash = mix_hash(hash, std::uint64_t{config.pc} << 32 | config.stack);
  }
  const auto fresh = static_cast<StateId>(states_.size());
  const StateId found = index_.find_or_insert(
      hash, fresh, [&](StateId at) { return std::ranges::equal(this->configs(at), configs); });
  if (found == fresh) {
    const bool complete = !configs.empty() && configs.front().pc == 0;
    states_.push_back({configs_.size(), configs.size(), complete});
    configs_.insert(configs_.end(), configs.begin(), configs.end());
  }
  return found;
}

Result<StateId> Machine::start() {
  seed({program_.entry, kEmptyStack});
  return close();
}

// --- The closure: everything that is reached before the next character. ---
//
// Each open config has a base: frames above that height were pushed since the last character, so a
// loop's frame up there has an iteration that read nothing, and ending it would lead nowhere new.

void Machine::grow_visits() {
  std::vector<Visit> old = std::move(visits_);
  visits_.assign(old.empty() ? 256 : 2 * old.size(), Visit{});
  n_visits_ = 0;
  for (const Visit& visit : old) {
    if (visit.round != round_) continue;
    std::size_t at = mix_hash(visit.pc, visit.stack) & (visits_.size() - 1);
    while (visits_[at].round == round_) at = (at + 1) & (visits_.size() - 1);
    visits_[at] = visit;
    ++n_visits_;
  }
}

void Machine::seed(Config config) {
  if (work_.empty() && found_.empty()) {
    ++round_;
    n_visits_ = 0;
  }
  push(config.pc, config.stack, stacks_[config.stack].height);
}

void Machine::push(Pc pc, Stack stack, std::uint32_t base) {
  if (2 * (n_visits_ + 1) > visits_.size()) grow_visits();
  std::size_t at = mix_hash(pc, stack) & (visits_.size() - 1);
  for (; visits_[at].round == round_; at = (at + 1) & (visits_.size() - 1)) {
    Visit& visit = visits_[at];
    if (visit.pc != pc || visit.stack != stack) continue;
    if (base <= visit.base) return;  // a higher base leads everywhere that a lower one does
    visit.base = base;
    work_.push_back({{pc, stack}, base});
    return;
  }
  visits_[at] = {pc, stack, base, round_};
  ++n_visits_;
  work_.push_back({{pc, stack}, base});
}

Result<StateId> Machine::close() {
  while (!work_.empty()) {
    const Open open = work_.back();
    work_.pop_back();
    expand(open.config, open.base);
    if (n_visits_ > kMaxVisits || found_.size() > kMaxLiveStacks) {
      work_.clear();
      found_.clear();
      return out_of_range(fmt::format(
          "the grammar is too ambiguous: there are over {} ways to read the text so far",
          grouped(kMaxLiveStacks)));
    }
  }
  drop_covered(found_);
  const StateId state = intern(found_);
  found_.clear();
  return state;
}

void Machine::expand(Config config, std::uint32_t base) {
  const Instruction& at = program_.code[config.pc];
  switch (at.op) {
    case Op::kAccept:
    case Op::kChar:
    case Op::kToken:
      found_.push_back(config);
      break;
    case Op::kCall: {
      // What only returns needs no frame, so that a list by right recursion stays flat.
      const bool tail = program_.code[at.next].op == Op::kReturn;
      const Stack stack = tail ? config.stack : stacks_.push_return(config.stack, at.next);
      push(program_.rules[at.arg].entry, stack, base);
      break;
    }
    case Op::kReturn: {
      if (config.stack == kEmptyStack) {
        push(0, kEmptyStack, 0);
        break;
      }
      const StackPool::Frame& top = stacks_[config.stack];
      push(top.number, top.parent, std::min(base, top.height - 1));
      break;
    }
    case Op::kSplit:
      for (Pc i = 0; i < at.next; ++i) push(program_.targets[at.arg + i], config.stack, base);
      break;
    case Op::kLoop:
      iterate(at.arg, 0, config.stack, base);
      break;
    case Op::kLoopEnd: {
      const StackPool::Frame top = stacks_[config.stack];
      if (top.height > base) break;
      const Loop& loop = program_.loops[at.arg];
      const bool counts = loop.max != Loop::kUnbounded || top.count < loop.min;
      iterate(at.arg, top.count + (counts ? 1 : 0), top.parent, top.height - 1);
      break;
    }
    case Op::kJump:
      break;
  }
}

void Machine::iterate(std::uint32_t number, std::uint64_t count, Stack parent, std::uint32_t base) {
  const Loop& loop = program_.loops[number];
  if (count < loop.max) push(loop.body, stacks_.push_loop(parent, number, count), base);
  if (count >= loop.min) push(loop.exit, parent, std::min(base, stacks_[parent].height));
}

/// Takes out what another config with the same place and shape covers.
void Machine::drop_covered(std::vector<Config>& configs) const {
  const auto key = [&](const Config& c) { return std::pair(c.pc, stacks_[c.stack].shape); };
  const auto counted = [&](const Config& c) { return stacks_[c.stack].shape != c.stack; };
  if (configs.size() < 2 || std::ranges::none_of(configs, counted)) return;
  std::ranges::sort(configs, [&](const Config& a, const Config& b) {
    return std::pair(key(a), a.stack) < std::pair(key(b), b.stack);
  });
  constexpr std::size_t kCompared = 64;  // a config is compared with so many that are kept
  std::vector<Config> kept;
  std::size_t group = 0;  // where the kept ones of this key begin
  for (const Config& config : configs) {
    if (!kept.empty() && key(kept.back()) != key(config)) group = kept.size();
    const std::size_t first = std::max(group, kept.size() - std::min(kept.size(), kCompared));
    const auto rest = std::span(kept).subspan(first);
    if (std::ranges::any_of(
            rest, [&](const Config& other) { return stacks_.covers(other.stack, config.stack); })) {
      continue;
    }
    const auto covered = [&](const Config& other) {
      return stacks_.covers(config.stack, other.stack);
    };
    const auto from = kept.begin() + static_cast<std::ptrdiff_t>(first);
    kept.erase(std::remove_if(from, kept.end(), covered), kept.end());
    kept.push_back(config);
  }
  configs = std::move(kept);
}

// --- Steps. ---

Result<StateId> Machine::step(StateId state, char32_t code) {
  if (state == kDead) return kDead;
  if (code < 128 && states_[state].ascii != kUnknown) {
    const StateId known = ascii_[states_[state].ascii][code];
    if (known != kUnknown) return known;
  }
  const std::span<const Config> from = configs(state);
  StateId to = kDead;
  if (from.size() <= 64) {
    std::uint64_t matched = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const Instruction& at = program_.code[from[i].pc];
      if (at.op == Op::kChar && program_.classes[at.arg].contains(code)) {
        matched |= std::uint64_t{1} << i;
      }
    }
    MINFER_ASSIGN_OR_RETURN(to, step_matched(state, matched));
  } else {
    for (const Config& config : from) {
      const Instruction& at = program_.code[config.pc];
      if (at.op == Op::kChar && program_.classes[at.arg].contains(code)) {
        seed({at.next, config.stack});
      }
    }
    MINFER_ASSIGN_OR_RETURN(to, close());
  }
  if (code < 128) {
    if (states_[state].ascii == kUnknown) {
      states_[state].ascii = static_cast<std::uint32_t>(ascii_.size());
      ascii_.emplace_back().fill(kUnknown);
    }
    ascii_[states_[state].ascii][code] = to;
  }
  return to;
}

Result<StateId> Machine::step_matched(StateId state, std::uint64_t matched) {
  if (matched == 0) return kDead;
  for (std::uint32_t i = states_[state].last_way; i != kUnknown; i = ways_[i].before) {
    if (ways_[i].matched == matched) return ways_[i].to;
  }
  const std::span<const Config> from = configs(state);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if ((matched >> i & 1) != 0) seed({program_.code[from[i].pc].next, from[i].stack});
  }
  MINFER_ASSIGN_OR_RETURN(const StateId to, close());
  ways_.push_back({matched, to, states_[state].last_way});
  states_[state].last_way = static_cast<std::uint32_t>(ways_.size() - 1);
  return to;
}

bool Machine::any_leads_on(StateId state, char32_t first, char32_t last) const {
  return std::ranges::any_of(configs(state), [&](const Config& config) {
    const Instruction& at = program_.code[config.pc];
    return at.op == Op::kChar && program_.classes[at.arg].intersects(first, last);
  });
}

void Machine::token_references(StateId state, std::vector<std::uint32_t>& out) const {
  out.clear();
  for (const Config& config : configs(state)) {
    const Instruction& at = program_.code[config.pc];
    if (at.op == Op::kToken) out.push_back(at.arg);
  }
}

Result<StateId> Machine::merged(StateId a, StateId b) {
  if (a == kDead || a == b) return b;
  if (b == kDead) return a;
  std::vector<Config> both(configs(a).begin(), configs(a).end());
  both.insert(both.end(), configs(b).begin(), configs(b).end());
  drop_covered(both);
  return intern(both);
}

Result<StateId> Machine::folded(StateId state) {
  if (states_[state].folded != kUnknown) return states_[state].folded;
  std::vector<Config> configs(this->configs(state).begin(), this->configs(state).end());
  for (Config& config : configs) config.stack = stacks_[config.stack].folded;
  const StateId folded = intern(configs);
  states_[state].folded = folded;
  return folded;
}

Result<Machine::SelfLoop> Machine::self_loop(Config config) {
  seed({program_.code[config.pc].next, config.stack});
  MINFER_ASSIGN_OR_RETURN(const StateId behind, close());
  for (const Config& next : configs(behind)) {
    if (next.pc != config.pc) continue;
    if (next.stack == config.stack) return SelfLoop{Loop::kUnbounded, behind, next};
    if (stacks_[next.stack].shape != stacks_[config.stack].shape) continue;
    // Exactly one counter has gone up by one: it may do so until it is at its max.
    std::uint64_t left = 0;
    Stack a = config.stack;
    Stack b = next.stack;
    for (; a != b; a = stacks_[a].parent, b = stacks_[b].parent) {
      const StackPool::Frame& x = stacks_[a];
      const StackPool::Frame& y = stacks_[b];
      if (x.count == y.count) continue;
      if (left != 0 || y.count != x.count + 1) break;
      left = program_.loops[x.number].max;
      if (left != Loop::kUnbounded) left -= x.count;
    }
    if (a == b) return SelfLoop{left, behind, next};
  }
  return SelfLoop{0, behind, {}};
}

// --- Memory. ---

bool Machine::crowded() const {
  return states_.size() > crowded_states_ ||
         configs_.size() > std::max(kCrowdedConfigs, 2 * live_configs_) ||
         stacks_.size() > std::max(kCrowdedFrames, 2 * live_frames_);
}

void Machine::compact(std::span<StateId> live) {
  const StackPool old_stacks = stacks_;
  std::vector<std::vector<Config>> kept;
  for (const StateId state : live) kept.emplace_back(configs(state).begin(), configs(state).end());
  clear();
  std::vector<Stack> moved(old_stacks.size(), kDead);
  std::vector<Stack> path;
  const auto move = [&](Stack stack) {
    // Parents have smaller numbers than what stands on them.
    path.clear();
    for (Stack at = stack; at != kEmptyStack && moved[at] == kEmptyStack;
         at = old_stacks[at].parent)
      path.push_back(at);
    for (; !path.empty(); path.pop_back()) {
      const StackPool::Frame& frame = old_stacks[path.back()];
      moved[path.back()] = stacks_.push_copy(moved[frame.parent], frame);
    }
    return moved[stack];
  };
  for (std::size_t i = 0; i < kept.size(); ++i) {
    for (Config& config : kept[i]) config.stack = move(config.stack);
    live[i] = intern(kept[i]);
  }
  live_configs_ = configs_.size();
  live_frames_ = stacks_.size();
}

}  // namespace minfer::sampling

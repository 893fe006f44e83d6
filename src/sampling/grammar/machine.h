// Machine: the matcher of a grammar. It runs the program on all stacks at once that the text so far
// allows, and remembers sets of stacks and the ways between them, so that a set is worked out once.
//
// Owns: the stacks, the sets ("states") and what each character leads to.
// Invariants: states are numbered as they are found, and equal sets have equal numbers until
// compact(). kDead is the empty set. Memory is bounded by the limits below plus what the live
// stacks need, as long as compact() is called where crowded() says so.
// Thread-safety: one thread; the program must stay.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "sampling/grammar/hash_index.h"
#include "sampling/grammar/program.h"
#include "sampling/grammar/stack_pool.h"

namespace minfer::sampling {

using StateId = std::uint32_t;
inline constexpr StateId kDead = 0;

/// Past this many stacks at once a grammar is too ambiguous: kOutOfRange.
inline constexpr std::size_t kMaxLiveStacks = 100'000;

class Machine {
 public:
  /// A place in the program with the stack that is there.
  struct Config {
    Pc pc = 0;
    Stack stack = kEmptyStack;
    auto operator<=>(const Config&) const = default;
  };

  static constexpr StateId kUnknown = ~StateId{0};

  explicit Machine(const Program& program) : program_(program), stacks_(program) { clear(); }

  /// See StackPool::set_horizon(). Before start().
  void set_horizon(std::uint64_t characters) { stacks_.set_horizon(characters); }

  /// Before the first character.
  Result<StateId> start();
  /// Behind `code`.
  Result<StateId> step(StateId state, char32_t code);
  /// step() of an ASCII character where its answer is kept, otherwise kUnknown.
  [[nodiscard]] StateId known_step(StateId state, std::uint8_t code) const {
    const std::uint32_t table = states_[state].ascii;
    return table == kUnknown ? kUnknown : ascii_[table][code];
  }
  /// Whether any character of first..last leads on.
  [[nodiscard]] bool any_leads_on(StateId state, char32_t first, char32_t last) const;
  /// The text may end here.
  [[nodiscard]] bool is_complete(StateId state) const { return states_[state].complete; }

  /// The references to tokens (indices of Program::tokens) that may come next.
  void token_references(StateId state, std::vector<std::uint32_t>& out) const;
  /// Behind a token that references accept, `accepts(reference)`; kDead where none does.
  template <class Accepts>
  Result<StateId> step_token(StateId state, Accepts accepts);
  /// Both sets.
  Result<StateId> merged(StateId a, StateId b);

  /// The state of the folded stacks: alike for every question about as many characters as the
  /// horizon has.
  Result<StateId> folded(StateId state);

  [[nodiscard]] std::span<const Config> configs(StateId state) const {
    return std::span(configs_).subspan(states_[state].first, states_[state].count);
  }
  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const StackPool& stacks() const { return stacks_; }

  struct SelfLoop {
    std::uint64_t characters = 0;
    StateId behind = kDead;  // behind one of them, read by this config alone
    Config next;             // the same place there, where `characters` is not 0
  };
  /// How many characters of the class at `config` may follow one another, because each leads back
  /// to the same place; 0 where none does. May say fewer than there are.
  Result<SelfLoop> self_loop(Config config);

  [[nodiscard]] bool crowded() const;
  /// From how many states on crowded() holds.
  void set_crowded_states(std::size_t n) { crowded_states_ = n; }
  /// Forgets all states but the `live` ones, which get new numbers in place.
  void compact(std::span<StateId> live);

 private:
  struct State {
    std::size_t first = 0;
    std::size_t count = 0;
    bool complete = false;
    std::uint32_t ascii = kUnknown;     // index of ascii_
    std::uint32_t last_way = kUnknown;  // index of ways_: a list
    StateId folded = kUnknown;
  };
  /// Where a state leads when exactly the configs of `matched` read the character.
  struct Way {
    std::uint64_t matched = 0;
    StateId to = kDead;
    std::uint32_t before = kUnknown;
  };
  struct Visit {
    Pc pc = 0;
    Stack stack = kEmptyStack;
    std::uint32_t base = 0;
    std::uint32_t round = 0;
  };

  void clear();
  StateId intern(std::vector<Config>& configs);
  void seed(Config config);
  Result<StateId> close();
  void expand(Config config, std::uint32_t base);
  void push(Pc pc, Stack stack, std::uint32_t base);
  void iterate(std::uint32_t loop, std::uint64_t count, Stack parent, std::uint32_t base);
  void drop_covered(std::vector<Config>& configs) const;
  void grow_visits();
  Result<StateId> step_matched(StateId state, std::uint64_t matched);

  const Program& program_;
  StackPool stacks_;
  std::vector<State> states_;
  std::vector<Config> configs_;
  std::vector<std::array<StateId, 128>> ascii_;
  std::vector<Way> ways_;
  HashIndex index_;
  std::size_t crowded_states_ = std::size_t{1} << 16;
  // What was live at the last compaction: room is left for twice that.
  std::size_t live_configs_ = 0;
  std::size_t live_frames_ = 0;

  // Of the closure that is being worked out.
  struct Open {
    Config config;
    std::uint32_t base = 0;
  };
  std::vector<Open> work_;
  std::vector<Config> found_;
  std::vector<Visit> visits_;  // open addressing
  std::size_t n_visits_ = 0;
  std::uint32_t round_ = 0;
};

template <class Accepts>
Result<StateId> Machine::step_token(StateId state, Accepts accepts) {
  for (const Config& config : configs(state)) {
    const Instruction& at = program_.code[config.pc];
    if (at.op == Op::kToken && accepts(program_.tokens[at.arg])) seed({at.next, config.stack});
  }
  return close();
}

}  // namespace minfer::sampling

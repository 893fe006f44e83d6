// Program: a grammar as instructions, which the matcher runs on many stacks at once.
//
// Owns: the instructions, the character classes, loops, rules and token references.
// Invariants, after compiling: instruction 0 is kAccept and the code of rule `root` starts at
// entry; every index is in range; no instruction leads to a kJump; no rule reaches itself before it
// has read something; the body of a loop with min > 0 cannot read nothing.
// Thread-safety: immutable after compiling.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sampling/grammar/char_class.h"

namespace minfer::sampling {

using Pc = std::uint32_t;

enum class Op : std::uint8_t {
  kAccept,   // the whole text has been read
  kChar,     // reads a character of class `arg`, then `next`
  kToken,    // reads a whole token: reference `arg`, then `next`
  kCall,     // runs rule `arg`, then `next`
  kReturn,   // the end of a rule
  kSplit,    // any of the targets from `arg` on, `next` of them
  kLoop,     // begins loop `arg`
  kLoopEnd,  // the end of the body of loop `arg`
  kJump,     // `next`; only while compiling
};

struct Instruction {
  Op op = Op::kJump;
  std::uint32_t arg = 0;
  Pc next = 0;
};

/// Where something stands in the grammar's text; lines and columns count from 1, columns in
/// characters.
struct Place {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

/// body{min,max}; a counter on the stack says how often the body has been read.
struct Loop {
  static constexpr std::uint64_t kUnbounded = ~std::uint64_t{0};
  std::uint64_t min = 0;
  std::uint64_t max = kUnbounded;
  Pc body = 0;
  Pc exit = 0;
};

struct Rule {
  std::string name;
  Pc entry = 0;
  bool defined = false;
  Place place;  // of the definition, or of the first use
};

/// `<name>`, `<[id]>`, or with `negated` any other token.
struct TokenReference {
  std::string text;  // "<|tool_call|>"; empty: by id
  std::int64_t id = -1;
  bool negated = false;
  Place place;
  std::uint32_t rule = 0;
};

struct Program {
  std::vector<Instruction> code;
  std::vector<Pc> targets;  // of the splits
  std::vector<CharClass> classes;
  std::vector<Loop> loops;
  std::vector<Rule> rules;
  std::vector<TokenReference> tokens;
  std::vector<Place> call_places;      // [code.size()], of the kCall instructions
  std::vector<std::uint32_t> rule_of;  // [code.size()]
  Pc entry = 0;
};

}  // namespace minfer::sampling

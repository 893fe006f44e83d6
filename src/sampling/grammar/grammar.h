// Grammar: a compiled GBNF grammar, and texts read with it.
//
// Owns: Grammar the program, GrammarState the place in a text.
// Invariants: a grammar is compiled in time and memory linear in its text. What a state says
// depends on the bytes alone, however they are cut. Thread-safety: a Grammar is immutable and may
// be shared; a GrammarState is one thread's.
#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"
#include "sampling/grammar/machine.h"
#include "sampling/grammar/partial_char.h"
#include "sampling/grammar/program.h"

namespace minfer::sampling {

class Grammar {
 public:
  /// The language: docs/grammar.md. kInvalidArgument with line, column and rule: see
  /// parse_grammar() and check_program(). Names of tokens are looked up later, by a
  /// GrammarConstraint.
  static Result<std::shared_ptr<const Grammar>> compile(std::string_view gbnf);

  [[nodiscard]] const Program& program() const { return program_; }

 private:
  explicit Grammar(Program program) : program_(std::move(program)) {}

  Program program_;
};

/// A place in a text, by characters alone: references to tokens match nothing.
class GrammarState {
 public:
  /// At the start. kOutOfRange: see kMaxLiveStacks.
  static Result<GrammarState> create(std::shared_ptr<const Grammar> grammar);

  /// Reads `bytes`, which may cut characters. False: the text with them begins no text of the
  /// grammar, and the state stays dead. kOutOfRange: see kMaxLiveStacks; the state is then dead
  /// too.
  Result<bool> accept(std::string_view bytes);
  /// The text so far is one of the grammar.
  [[nodiscard]] bool is_complete() const {
    return partial_.empty() && machine_->is_complete(state_);
  }

 private:
  explicit GrammarState(std::shared_ptr<const Grammar> grammar);

  std::shared_ptr<const Grammar> grammar_;
  std::unique_ptr<Machine> machine_;
  StateId state_ = kDead;
  PartialChar partial_;
};

/// Whether `text` is one of the grammar's. kOutOfRange: see kMaxLiveStacks.
Result<bool> grammar_accepts(const Grammar& grammar, std::string_view text);

/// Reads one byte behind `partial`, which it moves; kDead: no text goes on so.
Result<StateId> step_byte(Machine& machine, StateId state, PartialChar& partial, std::uint8_t byte);

}  // namespace minfer::sampling

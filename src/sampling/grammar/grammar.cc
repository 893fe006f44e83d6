#include "sampling/grammar/grammar.h"

#include "sampling/grammar/check.h"
#include "sampling/grammar/factor.h"
#include "sampling/grammar/parser.h"

namespace minfer::sampling {

Result<std::shared_ptr<const Grammar>> Grammar::compile(std::string_view gbnf) {
  MINFER_ASSIGN_OR_RETURN(Program program, parse_grammar(gbnf));
  MINFER_RETURN_IF_ERROR(check_program(program));
  factor_prefixes(program);
  return std::shared_ptr<const Grammar>(new Grammar(std::move(program)));
}

Result<StateId> step_byte(Machine& machine, StateId state, PartialChar& partial,
                          std::uint8_t byte) {
  if (partial.empty() && byte < 0x80) return machine.step(state, byte);
  if (!partial.push(byte)) {
    partial = {};
    return kDead;
  }
  if (partial.whole()) {
    const char32_t code = partial.first();
    partial = {};
    return machine.step(state, code);
  }
  if (machine.any_leads_on(state, partial.first(), partial.last())) return state;
  partial = {};
  return kDead;
}

namespace {

/// Reads `bytes` from state and partial on; both are where it ended.
Status read(Machine& machine, StateId& state, PartialChar& partial, std::string_view bytes) {
  for (const char byte : bytes) {
    if (state == kDead) break;
    const auto next = step_byte(machine, state, partial, static_cast<std::uint8_t>(byte));
    state = next.ok() ? *next : kDead;
    if (!next.ok()) return next.status();
    if (machine.crowded()) machine.compact({&state, 1});
  }
  return ok_status();
}

}  // namespace

GrammarState::GrammarState(std::shared_ptr<const Grammar> grammar)
    : grammar_(std::move(grammar)), machine_(std::make_unique<Machine>(grammar_->program())) {}

Result<GrammarState> GrammarState::create(std::shared_ptr<const Grammar> grammar) {
  GrammarState state(std::move(grammar));
  MINFER_ASSIGN_OR_RETURN(state.state_, state.machine_->start());
  return state;
}

Result<bool> GrammarState::accept(std::string_view bytes) {
  MINFER_RETURN_IF_ERROR(read(*machine_, state_, partial_, bytes));
  return state_ != kDead;
}

Result<bool> grammar_accepts(const Grammar& grammar, std::string_view text) {
  Machine machine(grammar.program());
  MINFER_ASSIGN_OR_RETURN(StateId state, machine.start());
  PartialChar partial;
  MINFER_RETURN_IF_ERROR(read(machine, state, partial, text));
  return state != kDead && partial.empty() && machine.is_complete(state);
}

}  // namespace minfer::sampling

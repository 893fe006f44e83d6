// Abilities: what a chat template does with a conversation, found by rendering sentinels.
//
// Invariants: a function of the template's source; no clock and no other load of the machine
// changes it. A rendering that fails counts as "no".
// Thread-safety: pure functions, values.
#pragma once

#include <string>

#include "chat/template.h"

namespace minfer::chat {

/// The names that a template has for the vocabulary's tokens.
struct TokenNames {
  std::string bos, eos;
};

/// One flag a row of abilities.def, where they are explained.
struct Abilities {
#define ABILITY(name, missed, words) bool name = false;
#include "chat/abilities.def"
#undef ABILITY
  /// What add_generation_prompt appends behind a user's message; empty: nothing.
  std::string generation_prompt;

  bool operator==(const Abilities&) const = default;
};

Abilities probe_template(const Template& source, const TokenNames& tokens);

}  // namespace minfer::chat

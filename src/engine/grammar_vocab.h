// The vocabulary of a model as grammars want it.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <memory>

#include "sampling/grammar/grammar_vocab.h"
#include "text/tokenizer.h"

namespace minfer::engine {

/// The tokens' bytes and kinds. `n_vocab`: of the model's logits; tokens past the tokenizer's are
/// hidden. For 262,144 tokens this takes some 0.1 s: made only where a grammar is used.
std::shared_ptr<const sampling::GrammarVocab> make_grammar_vocab(const text::Tokenizer& tokenizer,
                                                                 std::int32_t n_vocab);

}  // namespace minfer::engine

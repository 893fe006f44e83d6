#include "engine/grammar_vocab.h"

#include <string>
#include <vector>

namespace minfer::engine {

std::shared_ptr<const sampling::GrammarVocab> make_grammar_vocab(const text::Tokenizer& tokenizer,
                                                                 std::int32_t n_vocab) {
  using sampling::TokenKind;
  const auto n = static_cast<std::size_t>(n_vocab);
  std::vector<std::string> bytes(n);
  std::vector<sampling::GrammarToken> tokens(n, {{}, TokenKind::kHidden});
  for (std::int32_t id = 0; id < n_vocab && tokenizer.vocab().contains(id); ++id) {
    const auto at = static_cast<std::size_t>(id);
    bytes[at] = tokenizer.token_bytes(id);
    const TokenKind kind = tokenizer.is_eog(id)      ? TokenKind::kEndOfGeneration
                           : tokenizer.is_hidden(id) ? TokenKind::kHidden
                                                     : TokenKind::kText;
    tokens[at] = {bytes[at], kind};
  }
  return std::make_shared<sampling::GrammarVocab>(tokens);
}

}  // namespace minfer::engine

#include "output_grammar.h"

#include <fmt/format.h>

#include <string_view>

#include "engine/grammar_vocab.h"
#include "prompt_input.h"
#include "sampling/grammar/grammar_constraint.h"

namespace minfer::app {
namespace {

constexpr std::string_view kSources[] = {"grammar", "grammar-str"};

/// The one option of kSources that was given; empty: none.
Result<std::string_view> given_source(const Invocation& invocation) {
  std::string_view given;
  for (const std::string_view source : kSources) {
    if (!invocation.was_given(source)) continue;
    if (!given.empty()) {
      return invalid_argument(fmt::format("--{} and --{} exclude each other", given, source));
    }
    given = source;
  }
  if (!given.empty() && invocation.options.ignore_eos) {
    return invalid_argument(
        fmt::format("--{} and --ignore-eos exclude each other: the grammar says where the answer "
                    "ends",
                    given));
  }
  return given;
}

}  // namespace

Result<OutputGrammar> output_grammar(const Invocation& invocation) {
  const Options& options = invocation.options;
  OutputGrammar output;
  MINFER_ASSIGN_OR_RETURN(const std::string_view source, given_source(invocation));
  if (source.empty()) return output;
  std::string text = options.grammar_str;
  if (source == "grammar") {
    MINFER_ASSIGN_OR_RETURN(text, read_file(options.grammar));
  }
  auto compiled = sampling::Grammar::compile(text);
  if (!compiled.ok()) return compiled.status().with_context(fmt::format("--{}", source));
  output.grammar = std::move(*compiled);
  return output;
}

Result<std::unique_ptr<sampling::Constraint>> make_constraint(const OutputGrammar& grammar,
                                                              const text::Tokenizer& tokenizer,
                                                              std::int32_t n_vocab) {
  if (!grammar) return std::unique_ptr<sampling::Constraint>();
  MINFER_ASSIGN_OR_RETURN(auto constraint,
                          sampling::GrammarConstraint::create(
                              grammar.grammar, engine::make_grammar_vocab(tokenizer, n_vocab)));
  return std::unique_ptr<sampling::Constraint>(std::move(constraint));
}

std::string incomplete_note(const OutputGrammar& grammar, bool context_full) {
  return fmt::format("the {} is incomplete: raise {}", grammar.noun,
                     context_full ? "--ctx-size" : "-n");
}

}  // namespace minfer::app

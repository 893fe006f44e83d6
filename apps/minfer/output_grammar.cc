#include "output_grammar.h"

#include <fmt/format.h>

#include <string_view>

#include "base/json_reader.h"
#include "engine/grammar_vocab.h"
#include "prompt_input.h"
#include "sampling/grammar/grammar_constraint.h"
#include "sampling/json_schema/json_schema.h"

namespace minfer::app {
namespace {

constexpr std::string_view kSources[] = {"grammar", "grammar-str", "json-schema", "json-schema-str",
                                         "json-object"};

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

/// The grammar that `source` asks for, as GBNF.
Result<std::string> grammar_text(const Options& options, std::string_view source) {
  if (source == "json-object") return sampling::json_object_gbnf();
  std::string text = options.grammar_str;
  if (source == "json-schema-str") text = options.json_schema_str;
  if (source == "grammar") {
    MINFER_ASSIGN_OR_RETURN(text, read_file(options.grammar));
  } else if (source == "json-schema") {
    MINFER_ASSIGN_OR_RETURN(text, read_file(options.json_schema));
  }
  if (source.starts_with("grammar")) return text;
  Result<JsonValue> schema = parse_json(text);
  if (!schema.ok()) return schema.status().with_context(fmt::format("--{}", source));
  Result<std::string> gbnf = sampling::json_schema_to_gbnf(*schema);
  // What is not supported is as much a mistake on the command line as what is no schema.
  if (!gbnf.ok()) return invalid_argument(fmt::format("--{}: {}", source, gbnf.status().message()));
  return gbnf;
}

}  // namespace

Result<OutputGrammar> output_grammar(const Invocation& invocation) {
  const Options& options = invocation.options;
  OutputGrammar output;
  MINFER_ASSIGN_OR_RETURN(const std::string_view source, given_source(invocation));
  if (source.empty()) return output;
  MINFER_ASSIGN_OR_RETURN(const std::string text, grammar_text(options, source));
  if (source.starts_with("json")) output.noun = "JSON";
  auto compiled = sampling::Grammar::compile(text);
  if (!compiled.ok()) return compiled.status().with_context(fmt::format("--{}", source));
  output.grammar = std::move(*compiled);
  return output;
}

Result<std::unique_ptr<sampling::Constraint>> make_constraint(OutputGrammar& grammar,
                                                              const text::Tokenizer& tokenizer,
                                                              std::int32_t n_vocab) {
  if (!grammar) return std::unique_ptr<sampling::Constraint>();
  if (grammar.vocab == nullptr) grammar.vocab = engine::make_grammar_vocab(tokenizer, n_vocab);
  MINFER_ASSIGN_OR_RETURN(auto constraint,
                          sampling::GrammarConstraint::create(grammar.grammar, grammar.vocab));
  return std::unique_ptr<sampling::Constraint>(std::move(constraint));
}

std::string incomplete_note(const OutputGrammar& grammar, bool context_full) {
  return fmt::format("the {} is incomplete: raise {}", grammar.noun,
                     context_full ? "--ctx-size" : "-n");
}

}  // namespace minfer::app

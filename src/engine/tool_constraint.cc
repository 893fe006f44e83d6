#include "engine/tool_constraint.h"

#include "sampling/grammar/grammar_constraint.h"
#include "sampling/grammar/lazy_constraint.h"
#include "sampling/json_schema/json_schema.h"

namespace minfer::engine {

chat::FindControl control_finder(const text::Tokenizer& tokenizer) {
  struct Piece {
    std::string text;
    std::int32_t id;
    bool ends_turn;
  };
  std::vector<Piece> pieces;
  for (std::int32_t id = 0; id < tokenizer.vocab().size(); ++id) {
    if (!tokenizer.is_hidden(id) && !tokenizer.is_eog(id)) continue;
    std::string text = tokenizer.token_bytes(id);
    if (!text.empty()) pieces.push_back({std::move(text), id, tokenizer.is_eog(id)});
  }
  return [pieces = std::move(pieces)](std::string_view text) -> std::optional<chat::ControlMark> {
    std::optional<chat::ControlMark> best;
    for (const Piece& piece : pieces) {
      const std::size_t at = text.find(piece.text);
      if (at == std::string_view::npos) continue;
      if (best && (at > best->at || (at == best->at && piece.text.size() <= best->size))) continue;
      best = chat::ControlMark{at, piece.text.size(), piece.id, piece.ends_turn};
    }
    return best;
  };
}

Result<ToolProgram> compile_tool_program(const chat::ReplyFormat& format,
                                         const chat::ToolSet& tools,
                                         chat::ToolGrammarOptions options,
                                         const text::Tokenizer& tokenizer) {
  options.find_control = control_finder(tokenizer);
  MINFER_ASSIGN_OR_RETURN(chat::ToolGrammar rules, chat::make_tool_grammar(format, tools, options));
  ToolProgram program;
  if (rules.rules.empty()) return program;
  std::string gbnf = std::move(rules.rules);
  for (const chat::SchemaRule& rule : rules.schemas) {
    auto text = sampling::json_schema_to_gbnf(
        rule.schema, {.root = rule.rule, .prefix = rule.rule + "-", .bare_end = rule.bare_end});
    if (!text.ok()) return text.status().with_context(rule.path);
    gbnf += *text;
  }
  auto grammar = sampling::Grammar::compile(gbnf);
  if (!grammar.ok()) return grammar.status().with_context("the grammar of tool calls");
  program.grammar = std::move(*grammar);
  program.triggers = std::move(rules.triggers);
  return program;
}

Result<std::unique_ptr<sampling::Constraint>> make_tool_constraint(
    const ToolProgram& program, std::shared_ptr<const sampling::GrammarVocab> vocab) {
  using Made = std::unique_ptr<sampling::Constraint>;
  if (program.grammar == nullptr) return Made();
  if (program.triggers.empty()) {
    MINFER_ASSIGN_OR_RETURN(auto constraint,
                            sampling::GrammarConstraint::create(program.grammar, std::move(vocab)));
    return Made(std::move(constraint));
  }
  MINFER_ASSIGN_OR_RETURN(
      auto constraint,
      sampling::LazyConstraint::create(program.triggers, program.grammar, std::move(vocab)));
  return Made(std::move(constraint));
}

}  // namespace minfer::engine

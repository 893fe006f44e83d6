#include "engine/tool_constraint.h"

#include "chat/reply_marks.h"
#include "sampling/grammar/grammar_constraint.h"
#include "sampling/grammar/lazy_constraint.h"
#include "sampling/json_schema/json_schema.h"

namespace minfer::engine {
namespace {

// Anything may come in the thought that opens a reply; behind it, the other constraint holds.
class BehindThought final : public sampling::Constraint {
 public:
  BehindThought(std::unique_ptr<sampling::Constraint> inner, const ToolProgram& program,
                std::shared_ptr<const sampling::GrammarVocab> vocab)
      : inner_(std::move(inner)),
        vocab_(std::move(vocab)),
        begin_(program.thought_begin),
        end_(program.thought_end),
        starts_inside_(program.starts_in_thought),
        everything_((static_cast<std::size_t>(vocab_->size()) + 63) / 64, ~std::uint64_t{0}) {
    if (const int rest = vocab_->size() % 64; rest != 0)
      everything_.back() >>= static_cast<unsigned>(64 - rest);
    reset();
  }

  Result<bool> allows(sampling::TokenId token) override {
    if (inside_) return vocab_->contains(token);
    return inner_->allows(token);
  }
  Result<std::span<const std::uint64_t>> allowed() override {
    if (inside_) return std::span<const std::uint64_t>(everything_);
    return inner_->allowed();
  }
  Status accept(sampling::TokenId token) override {
    text_ += vocab_->bytes(token);
    if (!inside_) {
      MINFER_RETURN_IF_ERROR(inner_->accept(token));
      inside_ = at_start_ && !begin_.empty() && chat::trimmed(text_).starts_with(begin_);
      at_start_ = at_start_ && begin_.starts_with(chat::trimmed(text_));
      return ok_status();
    }
    at_start_ = false;
    if (text_.find(end_) != std::string::npos) inside_ = false;
    if (text_.size() > end_.size()) text_.erase(0, text_.size() - end_.size());
    return ok_status();
  }
  void reset() override {
    inner_->reset();
    text_.clear();
    inside_ = starts_inside_;
    at_start_ = !starts_inside_;
  }
  [[nodiscard]] bool is_complete() const override { return inside_ || inner_->is_complete(); }

 private:
  std::unique_ptr<sampling::Constraint> inner_;
  std::shared_ptr<const sampling::GrammarVocab> vocab_;
  std::string begin_;
  std::string end_;
  bool starts_inside_;
  std::vector<std::uint64_t> everything_;
  std::string text_;  // of the start, or the end of a thought
  bool inside_ = false;
  bool at_start_ = true;
};

}  // namespace

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
  if (!format.headers.exists()) {
    program.thought_begin = chat::trimmed(format.reasoning.begin);
    program.thought_end = chat::trimmed(format.reasoning.end);
    program.starts_in_thought = options.start == chat::ReplyStart::kThought;
  }
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
      auto constraint, sampling::LazyConstraint::create(program.triggers, program.grammar, vocab));
  if (program.thought_end.empty()) return Made(std::move(constraint));
  return Made(std::make_unique<BehindThought>(std::move(constraint), program, std::move(vocab)));
}

}  // namespace minfer::engine

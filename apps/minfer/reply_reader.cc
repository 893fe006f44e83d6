#include "reply_reader.h"

#include <algorithm>

#include "chat/reply_derive.h"
#include "chat/tool_prompt.h"

namespace minfer::app {
namespace {

/// A probe is a few short messages: a template that needs more than this for one is broken, and the
/// conversation itself will say so.
constexpr chat::Limits kProbeLimits{.steps = 300'000, .total_bytes = std::uint64_t{1} << 22};

/// Tokens at a prompt's end that tell where the reply begins.
constexpr std::size_t kPromptTail = 64;

class ShownBytes final : public engine::TokenBytes {
 public:
  ShownBytes(const text::Tokenizer& tokenizer, std::shared_ptr<const std::vector<bool>> shown)
      : tokenizer_(tokenizer),
        text_(tokenizer, /*show_special=*/false, /*at_text_start=*/false),
        shown_(std::move(shown)) {}

  void append(engine::TokenId token, std::string& out) override {
    text_.append(token, out);
    const auto id = static_cast<std::size_t>(token);
    if (shown_ != nullptr && id < shown_->size() && (*shown_)[id]) {
      out += tokenizer_.token_bytes(token);
    }
  }

 private:
  const text::Tokenizer& tokenizer_;
  text::TokenText text_;
  std::shared_ptr<const std::vector<bool>> shown_;
};

std::vector<std::string_view> marks_of(const chat::ReplyFormat& format) {
  std::vector<std::string_view> marks = {
      format.reasoning.begin,     format.reasoning.end,       format.headers.start,
      format.headers.message,     format.headers.thought,     format.headers.answer,
      format.headers.call_prefix, format.calls.section_begin, format.calls.section_end,
      format.calls.call_begin,    format.calls.call_end,      format.calls.separator,
      format.calls.name_end,      format.calls.hole_end,      format.calls.parameter_begin,
      format.calls.parameter_end};
  for (const chat::ValueMark& mark : format.calls.value_marks) marks.push_back(mark.begin);
  marks.insert(marks.end(), format.ignored.begin(), format.ignored.end());
  return marks;
}

}  // namespace

ReplyShape ReplyShape::plain(const text::Tokenizer& tokenizer) { return ReplyShape(tokenizer); }

ReplyShape ReplyShape::create(const chat::ChatTemplate& source, bool with_tools,
                              const text::Tokenizer& tokenizer) {
  ReplyShape shape(tokenizer);
  chat::ProbeOptions probe{
      .bos_token = source.tokens().bos, .eos_token = source.tokens().eos, .render = {}};
  probe.render.limits = kProbeLimits;
  shape.format_ = chat::derive_reply_format(source.parsed(with_tools), probe);
  // Then the tools were described in plain JSON (describe_tools).
  if (with_tools && !source.abilities(true).tools)
    shape.format_ = chat::tool_prompt_format(std::move(shape.format_));
  const std::vector<std::string_view> marks = marks_of(shape.format_);
  std::vector<bool> shown(static_cast<std::size_t>(tokenizer.vocab().size()), false);
  for (std::int32_t id = 0; id < tokenizer.vocab().size(); ++id) {
    if (tokenizer.vocab().type(id) != text::TokenType::kControl) continue;
    const std::string_view piece = tokenizer.vocab().piece(id);
    shown[static_cast<std::size_t>(id)] =
        !piece.empty() && std::ranges::any_of(marks, [&](std::string_view mark) {
          return mark.find(piece) != std::string_view::npos;
        });
  }
  shape.shown_ = std::make_shared<const std::vector<bool>>(std::move(shown));
  return shape;
}

std::unique_ptr<engine::TokenBytes> ReplyShape::token_bytes() const {
  return std::make_unique<ShownBytes>(*tokenizer_, shown_);
}

chat::ReplyStart ReplyShape::start(std::span<const engine::TokenId> prompt) const {
  const auto tail = prompt.last(std::min(prompt.size(), kPromptTail));
  return chat::reply_start(format_, tokenizer_->decode(tail, /*show_special=*/true));
}

Result<std::vector<engine::TokenId>> ReplyShape::thought_end() const {
  const text::TextSpan close{format_.reasoning.close, true};
  return tokenizer_->encode({&close, 1}, /*add_special=*/false, /*at_text_start=*/false);
}

Result<std::string> ask_reasoning(const Options& options, const chat::ReplyFormat& format,
                                  JsonValue& arguments) {
  if (options.reasoning == "auto") return std::string();
  const bool on = options.reasoning == "on";
  const chat::ReasoningSwitch& wanted = on ? format.reasoning.on : format.reasoning.off;
  if (!format.reasoning.exists() && !on) return std::string();  // there are no thoughts
  if (!wanted.possible) {
    return unsupported("--reasoning " + options.reasoning +
                       ": the chat template has no way to ask for it");
  }
  if (arguments.object() == nullptr) arguments.data = JsonValue::Object();
  auto& members = std::get<JsonValue::Object>(arguments.data);
  for (const auto& [name, value] : wanted.arguments) {
    // What --chat-template-kwargs says holds.
    if (arguments.find(name) == nullptr) members.emplace_back(name, value);
  }
  return wanted.prompt_suffix;
}

ReplyReader::ReplyReader(const ReplyShape& shape, chat::ReplyStart start,
                         const chat::ToolSet* tools, std::uint64_t id_seed, ReplySinks sinks)
    : parser_(shape.format(), {.start = start, .tools = tools, .id_seed = id_seed}),
      sinks_(std::move(sinks)) {}

bool ReplyReader::show(const std::vector<chat::ReplyEvent>& events) {
  bool go_on = true;
  for (const chat::ReplyEvent& event : events) {
    if (event.kind == chat::ReplyEvent::Kind::kContent && sinks_.answer) {
      go_on = sinks_.answer(event.text) && go_on;
    }
    if (event.kind == chat::ReplyEvent::Kind::kReasoning && sinks_.thought) {
      go_on = sinks_.thought(event.text) && go_on;
    }
  }
  return go_on;
}

bool ReplyReader::feed(std::string_view piece) {
  return show(parser_.feed(piece, /*is_control=*/false));
}

bool ReplyReader::finish() { return show(parser_.finish()); }

std::optional<engine::TokenId> ThoughtBudget::next(bool in_thought) {
  if (!bounded_ || n_forced_ == end_.size()) return std::nullopt;
  if (n_forced_ == 0 && !in_thought) return std::nullopt;
  if (n_forced_ == 0 && left_ > 0) {
    --left_;
    return std::nullopt;
  }
  return end_[n_forced_++];
}

}  // namespace minfer::app

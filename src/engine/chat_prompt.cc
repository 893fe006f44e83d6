#include "engine/chat_prompt.h"

#include <algorithm>
#include <iterator>

namespace minfer::engine {
namespace {

bool same_text(const chat::PromptSpan& a, const chat::PromptSpan& b) {
  return a.text == b.text && a.from_template == b.from_template;
}

bool same_spans(std::span<const chat::PromptSpan> a, std::span<const chat::PromptSpan> b) {
  return std::ranges::equal(a, b, same_text);
}

/// The spans from `first` on that are message `message`'s, joined: where they end, and their text.
struct Run {
  std::size_t end;
  std::string text;
};
Run run_of(std::span<const chat::PromptSpan> spans, std::size_t first) {
  Run run{first, {}};
  while (run.end < spans.size() && spans[run.end].message == spans[first].message) {
    run.text += spans[run.end++].text;
  }
  return run;
}

}  // namespace

Result<std::vector<ChatPrompt::Stretch>> ChatPrompt::stretches(
    std::span<const Message> messages, std::span<const chat::PromptSpan> spans) {
  std::vector<Stretch> parts(1);
  for (std::size_t i = 0; i < spans.size();) {
    const Run run = run_of(spans, i);
    const auto index = static_cast<std::size_t>(spans[i].message);
    const bool own = spans[i].message >= 0 && index < messages.size() &&
                     !messages[index].ids.empty() && run.text == messages[index].content;
    if (own) {
      parts.push_back({{}, messages[index].ids, true});
      parts.emplace_back();
    } else {
      parts.back().spans.insert(parts.back().spans.end(),
                                spans.begin() + static_cast<std::ptrdiff_t>(i),
                                spans.begin() + static_cast<std::ptrdiff_t>(run.end));
    }
    i = run.end;
  }
  return parts;
}

Result<std::vector<TokenId>> ChatPrompt::encode(std::vector<Stretch> parts, bool remember) {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Stretch& part = parts[i];
    const bool known =
        i < last_.size() && !last_[i].reply && same_spans(last_[i].spans, part.spans);
    if (!part.reply && known) {
      part.ids = last_[i].ids;
    } else if (!part.reply && (i == 0 || !part.spans.empty())) {
      MINFER_ASSIGN_OR_RETURN(part.ids, encoder_.encode(part.spans, i == 0));
    }
    ids.insert(ids.end(), part.ids.begin(), part.ids.end());
  }
  if (remember) last_ = std::move(parts);
  return ids;
}

Result<std::vector<TokenId>> ChatPrompt::ids(std::span<const Message> messages) {
  MINFER_ASSIGN_OR_RETURN(const auto spans, writer_.write(messages));
  MINFER_ASSIGN_OR_RETURN(auto parts, stretches(messages, spans));
  return encode(std::move(parts), true);
}

Result<std::vector<TokenId>> ChatPrompt::ids_while_typing(std::span<const Message> messages) {
  MINFER_ASSIGN_OR_RETURN(auto spans, writer_.write(messages));
  const auto last = std::find_if(spans.rbegin(), spans.rend(), [&](const chat::PromptSpan& span) {
    return span.message == static_cast<std::int32_t>(messages.size()) - 1;
  });
  if (last == spans.rend()) return std::vector<TokenId>();
  // A blank belongs to the word behind it.
  const std::size_t blank = last->text.find_last_of(" \n\t");
  last->text.resize(blank == std::string::npos ? 0 : blank);
  spans.erase(last.base(), spans.end());
  MINFER_ASSIGN_OR_RETURN(auto parts, stretches(messages, spans));
  return encode(std::move(parts), false);
}

std::vector<TokenId> ChatPrompt::ids_behind(std::span<const Message> messages) {
  std::vector<Message> longer(messages.begin(), messages.end());
  longer.push_back({"user", "x", {}});
  auto spans = writer_.write(longer);
  if (!spans.ok()) return {};
  auto parts = stretches(longer, *spans);
  if (!parts.ok()) return {};
  const auto reply =
      std::find_if(parts->rbegin(), parts->rend(), [](const Stretch& part) { return part.reply; });
  if (reply == parts->rend()) return {};
  auto ids = encoder_.encode(std::prev(reply)->spans, false);
  return ids.ok() ? std::move(*ids) : std::vector<TokenId>();
}

}  // namespace minfer::engine

// Marks of thoughts, and how thinking is switched on and off.
#include <algorithm>
#include <array>

#include "chat/reply_derive.h"
#include "chat/reply_marks.h"

namespace minfer::chat {
namespace {

constexpr std::string_view kAgain = "Quxagain";
// Template arguments by which templates let thinking be chosen.
constexpr std::array<std::string_view, 4> kSwitches = {"enable_thinking", "thinking",
                                                       "enable_reasoning", "reasoning"};

JsonValue message(std::string_view role, std::string_view content, std::string_view thought = {}) {
  JsonValue::Object m{{"role", json_of(role)}, {"content", json_of(content)}};
  if (!thought.empty()) {
    for (const char* name : {"reasoning_content", "reasoning", "thinking"})
      m.emplace_back(name, json_of(thought));
  }
  return JsonValue{std::move(m)};
}

JsonValue::Object switched(bool on) {
  return {{"enable_thinking", JsonValue{on}}, {"thinking", JsonValue{on}}};
}

class Reasoning {
 public:
  Reasoning(const Template& source, const ProbeOptions& options)
      : source_(source), options_(options) {
    plain_ = generation({});
    on_ = generation(switched(true));
    off_ = generation(switched(false));
  }

  [[nodiscard]] std::string generation(JsonValue::Object arguments) const {
    Probe probe;
    probe.add_generation_prompt = true;
    probe.arguments = std::move(arguments);
    return render_probe(source_, options_, probe).value_or("");
  }

  [[nodiscard]] std::string answered(JsonValue::Array messages, bool on) const {
    Probe probe;
    probe.messages = std::move(messages);
    if (on) probe.arguments = switched(true);
    return render_probe(source_, options_, probe).value_or("");
  }

  // What stands before and behind the thought; false where the template drops it.
  bool find_thought(std::string& before, std::string& behind) const {
    for (const bool on : {true, false}) {
      const std::string text = answered({message("assistant", word::kAnswer, word::kThought)}, on);
      const std::size_t thought = text.find(word::kThought);
      const std::size_t answer = text.find(word::kAnswer, thought);
      if (thought == std::string::npos || answer == std::string::npos) continue;
      before = text.substr(0, thought);
      const std::size_t end = thought + word::kThought.size();
      behind = text.substr(end, answer - end);
      return !is_blank(behind);
    }
    return false;
  }

  // Where in `before` the mark of the thought begins: behind the text that opens any reply.
  [[nodiscard]] std::size_t thought_mark(std::string_view before) const {
    const std::string past =
        answered({message("assistant", word::kAnswer), message("user", kAgain)}, false);
    const std::string past_head = past.substr(0, std::min(past.find(word::kAnswer), past.size()));
    std::size_t best = 0;
    for (const std::string_view other :
         {std::string_view(past_head), std::string_view(off_), std::string_view(plain_)}) {
      const std::size_t n = aligned_prefix(before, common_prefix(before, other));
      if (!is_blank(before.substr(n))) best = std::max(best, n);
    }
    // Where every reply opens with the mark, it is the last one.
    std::size_t last = before.find_last_not_of(kBlanks);
    while (last > best && (mark_start(before, last) != last || is_blank(before.substr(last, 1))))
      --last;
    if (marks_every_reply(before)) best = last;
    while (best > 0 && mark_start(before, best) != best) --best;
    return best;
  }

  // Every text that opens a reply holds the mark before the thought.
  [[nodiscard]] bool marks_every_reply(std::string_view before) const {
    const std::string_view head = trimmed(before);
    return std::string_view(plain_).starts_with(head) && std::string_view(off_).starts_with(head);
  }

  // What a prompt opens a thought with where the template does not write that into a reply.
  [[nodiscard]] std::string prompt_mark(std::string_view before) const {
    for (const std::string* prompt : {&plain_, &on_}) {
      if (!prompt->starts_with(before) || prompt->size() == before.size()) continue;
      return std::string(trimmed(prompt->substr(before.size())));
    }
    return {};
  }

  // `behind` without the mark that opens an answer; that mark goes to `opener`.
  [[nodiscard]] std::string end_mark(std::string_view behind, std::string_view head,
                                     std::string& opener) const {
    const std::string answer = answered({message("assistant", word::kAnswer)}, false);
    const std::string before_answer =
        answer.substr(0, std::min(answer.find(word::kAnswer), answer.size()));
    for (std::string_view candidate : {std::string_view(off_), std::string_view(before_answer)}) {
      if (!head.empty() && candidate.starts_with(head)) candidate.remove_prefix(head.size());
      const std::size_t shared = common_suffix(behind, candidate);
      const std::size_t cut = mark_start(behind, behind.size() - shared);
      if (is_blank(behind.substr(0, cut)) || is_blank(behind.substr(cut))) continue;
      opener = trimmed(behind.substr(cut));
      return std::string(trimmed(behind.substr(0, cut)));
    }
    return std::string(trimmed(behind));
  }

  // A pair of the table that the template shows in a prompt or takes out of an old answer.
  [[nodiscard]] ReasoningFormat from_table() const {
    ReasoningFormat format;
    static constexpr std::pair<std::string_view, std::string_view> kThoughts[] = {
#define THOUGHT(begin, end) {begin, end},
#include "chat/reply_families.def"
    };
    for (const auto& [begin, end] : kThoughts) {
      const std::string mark(trimmed(begin));
      bool shown = plain_.find(mark) != std::string::npos || on_.find(mark) != std::string::npos ||
                   off_.find(mark) != std::string::npos;
      if (!shown) {
        const std::string old = std::string(begin) + std::string(word::kThought) +
                                std::string(end) + std::string(word::kAnswer);
        const std::string text =
            answered({message("assistant", old), message("user", kAgain)}, false);
        shown = text.find(word::kAnswer) != std::string::npos &&
                text.find(word::kThought) == std::string::npos;
      }
      if (!shown) continue;
      format.begin = mark;
      format.end = end;
      format.close = std::string(end) + "\n\n";
      break;
    }
    return format;
  }

  void find_switches(ReplyFormat& format) const {
    ReasoningFormat& reasoning = format.reasoning;
    for (const std::string_view name : kSwitches) {
      JsonValue::Object on{{std::string(name), JsonValue{true}}};
      JsonValue::Object off{{std::string(name), JsonValue{false}}};
      const std::string prompt_on = generation(on);
      const std::string prompt_off = generation(off);
      if (prompt_on == prompt_off) continue;
      reasoning.on.arguments = std::move(on);
      reasoning.off.arguments = std::move(off);
      break;
    }
    const bool header = format.headers.exists();
    reasoning.on.possible = reasoning.off.possible = true;
    const std::string off = generation(reasoning.off.arguments);
    const bool open = reply_start(format, off) == ReplyStart::kThought;
    if (header) {
      reasoning.off.prompt_suffix = format.headers.answer + format.headers.message;
      reasoning.on.prompt_suffix = format.headers.thought + format.headers.message;
    } else if (open) {
      reasoning.off.prompt_suffix = reasoning.close;
    } else if (reasoning.off.arguments.empty() && !reasoning.begin.empty() &&
               !closed_at_end(reasoning, off)) {
      reasoning.off.prompt_suffix = reasoning.begin + "\n" + reasoning.close;
    }
    if (!header && reasoning.on.arguments.empty() && !reasoning.begin.empty() &&
        reply_start(format, plain_) != ReplyStart::kThought)
      reasoning.on.prompt_suffix = reasoning.begin + "\n";
  }

  [[nodiscard]] static bool closed_at_end(const ReasoningFormat& reasoning,
                                          std::string_view prompt) {
    return trimmed(prompt).ends_with(trimmed(reasoning.end));
  }

  [[nodiscard]] const std::string& plain() const { return plain_; }

 private:
  const Template& source_;
  const ProbeOptions& options_;
  std::string plain_, on_, off_;  // generation prompts
};

}  // namespace

void derive_headers(const Template& source, const ProbeOptions& options, ReplyFormat& format) {
  const Reasoning probes(source, options);
  std::string before;
  std::string behind;
  const std::string& prompt = probes.plain();
  const std::size_t open = prompt.rfind('<');
  if (open == std::string::npos || !probes.find_thought(before, behind)) return;
  const std::string start = prompt.substr(open);
  const std::size_t again = behind.rfind(start);
  if (again == std::string::npos || !before.starts_with(prompt)) return;
  const std::string_view thought = std::string_view(before).substr(prompt.size());
  const std::string_view answer = std::string_view(behind).substr(again + start.size());
  const std::size_t shared = common_suffix(thought, answer);
  const std::size_t mark = mark_start(thought, thought.size() - shared);
  if (mark == 0 || mark == thought.size()) return;
  const std::string message(thought.substr(mark));
  format.headers.start = start;
  format.headers.message = message;
  format.headers.thought = thought.substr(0, mark);
  format.headers.answer = answer.substr(0, answer.size() - message.size());
  format.reasoning.end = behind.substr(0, again);
  format.reasoning.close = behind;
}

void derive_reasoning(const Template& source, const ProbeOptions& options, ReplyFormat& format) {
  const Reasoning probes(source, options);
  ReasoningFormat& reasoning = format.reasoning;
  std::string before;
  std::string behind;
  if (!format.headers.exists()) {
    if (probes.find_thought(before, behind)) {
      const std::size_t mark = probes.thought_mark(before);
      std::string opener;
      reasoning.end = probes.end_mark(behind, before.substr(0, mark), opener);
      reasoning.begin = probes.prompt_mark(before);
      if (reasoning.begin.empty()) reasoning.begin = trimmed(std::string_view(before).substr(mark));
      reasoning.close = behind;
      if (!opener.empty()) format.ignored.push_back(opener);
    } else {
      reasoning = probes.from_table();
    }
  }
  if (reasoning.exists()) probes.find_switches(format);
}

ReplyStart reply_start(const ReplyFormat& format, std::string_view prompt) {
  const std::string_view end = trimmed(prompt);
  const HeaderFormat& headers = format.headers;
  if (headers.exists()) {
    if (end.ends_with(trimmed(headers.start))) return ReplyStart::kHeader;
    if (end.ends_with(trimmed(headers.thought + headers.message))) return ReplyStart::kThought;
    return ReplyStart::kAnswer;
  }
  const std::string_view begin = trimmed(format.reasoning.begin);
  if (!begin.empty() && end.ends_with(begin)) return ReplyStart::kThought;
  const std::string_view call = trimmed(format.calls.call_begin);
  if (!call.empty() && end.ends_with(call)) return ReplyStart::kCall;
  const std::string_view close = trimmed(format.reasoning.end);
  return !close.empty() && end.ends_with(close) ? ReplyStart::kAfterThought : ReplyStart::kAnswer;
}

}  // namespace minfer::chat

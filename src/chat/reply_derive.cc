#include "chat/reply_derive.h"

#include <algorithm>
#include <array>
#include <vector>

#include "chat/reply_marks.h"
#include "chat/reply_shapes.h"

namespace minfer::chat {
namespace {

// How a conversation with calls must be told for the template to write them.
struct Telling {
  bool arguments_as_text = false;
  bool has_tools = true;
  enum class Content { kAnswer, kEmpty, kNull } content = Content::kAnswer;
};

JsonValue assistant(const Telling& telling, JsonValue::Array calls, bool with_thought) {
  JsonValue content;
  if (telling.content == Telling::Content::kAnswer) content = json_of(word::kAnswer);
  if (telling.content == Telling::Content::kEmpty) content = json_of("");
  JsonValue::Object m{{"role", json_of("assistant")}, {"content", std::move(content)}};
  if (!calls.empty()) m.emplace_back("tool_calls", JsonValue{std::move(calls)});
  if (with_thought) m.emplace_back("reasoning_content", json_of(word::kThought));
  return JsonValue{std::move(m)};
}

JsonValue::Object first_arguments() {
  return {{std::string(word::kKey), json_of(word::kValue)},
          {std::string(word::kOtherKey), json_of(word::kOtherValue)}};
}

class Calls {
 public:
  Calls(const Template& source, const ProbeOptions& options) : source_(source), options_(options) {}

  [[nodiscard]] std::string rendered(const Telling& telling, JsonValue::Array calls,
                                     bool with_thought = false) const {
    Probe probe;
    probe.has_tools = telling.has_tools;
    probe.messages = {assistant(telling, std::move(calls), with_thought)};
    return render_probe(source_, options_, probe).value_or("");
  }

  [[nodiscard]] std::string one(const Telling& telling, JsonValue::Object arguments) const {
    return rendered(telling, {probe_call(word::kTool, word::kId, std::move(arguments),
                                         telling.arguments_as_text)});
  }

  [[nodiscard]] std::string two(const Telling& telling) const {
    return rendered(
        telling, {probe_call(word::kTool, word::kId, first_arguments(), telling.arguments_as_text),
                  probe_call(word::kOtherTool, word::kOtherId,
                             {{std::string(word::kKey), json_of(word::kOtherValue)}},
                             telling.arguments_as_text)});
  }

  [[nodiscard]] std::vector<std::string> prompts(bool has_tools) const {
    std::vector<std::string> out;
    for (const int thinking : {-1, 0, 1}) {
      Probe probe;
      probe.has_tools = has_tools;
      probe.add_generation_prompt = true;
      if (thinking >= 0)
        probe.arguments = {{"enable_thinking", JsonValue{thinking == 1}},
                           {"thinking", JsonValue{thinking == 1}}};
      out.push_back(render_probe(source_, options_, probe).value_or(""));
    }
    return out;
  }

  // From its first byte on, also what stands before the user's message.
  [[nodiscard]] std::string whole_prompt(bool has_tools) const {
    Probe probe;
    probe.has_tools = has_tools;
    probe.add_generation_prompt = true;
    probe.whole = true;
    return render_probe(source_, options_, probe).value_or("");
  }

  // The first telling whose rendering shows the call, best the one that shows the answer before it.
  bool find_telling(Telling& best) const {
    using Content = Telling::Content;
    for (const bool has_tools : {true, false}) {
      for (const bool as_text : {false, true}) {
        for (const Content content : {Content::kAnswer, Content::kEmpty, Content::kNull}) {
          const Telling telling{as_text, has_tools, content};
          const std::string text = one(telling, first_arguments());
          const std::size_t value = text.find(word::kValue);
          if (value == std::string::npos || text.rfind(word::kTool) == std::string::npos) continue;
          if (content == Content::kAnswer && text.find(word::kAnswer) > text.find(word::kTool))
            continue;
          best = telling;
          return true;
        }
      }
    }
    return false;
  }

  [[nodiscard]] std::string answer(const Telling& telling) const {
    Telling plain = telling;
    plain.content = Telling::Content::kAnswer;
    return rendered(plain, {});
  }

  // What stands behind an answer's last word to the end of the turn.
  [[nodiscard]] std::string answer_end(const Telling& telling) const {
    const std::string text = answer(telling);
    const std::size_t at = text.find(word::kAnswer);
    return at == std::string::npos ? "" : text.substr(at + word::kAnswer.size());
  }

 private:
  const Template& source_;
  const ProbeOptions& options_;
};

// The reply's part of a rendering: behind the answer, or else behind the assistant's header, to the
// end of the turn. The mark that ends an answer before calls goes to `ignored`.
class Cutter {
 public:
  Cutter(std::vector<std::string> prompts, std::string answer_end, const HeaderFormat& headers)
      : prompts_(std::move(prompts)), answer_end_(std::move(answer_end)), headers_(headers) {}

  std::string cut(std::string_view text) {
    if (text.empty()) return {};
    const std::size_t tool = text.find(word::kTool);
    const std::size_t answer = text.find(word::kAnswer);
    if (answer < tool) {
      text.remove_prefix(answer + word::kAnswer.size());
      const std::size_t end = aligned_prefix(text, common_prefix(text, answer_end_));
      if (!is_blank(text.substr(0, end))) opener = trimmed(text.substr(0, end));
      text.remove_prefix(end);
    } else {
      std::size_t header = 0;
      for (const std::string& prompt : prompts_) {
        const std::size_t shared = common_prefix(text, prompt);
        header = std::max(header, shared == prompt.size() ? shared : aligned_prefix(text, shared));
      }
      text.remove_prefix(header);
    }
    text.remove_suffix(turn_end(text));
    if (headers_.exists()) text = in_message(text);
    return std::string(text);
  }

  std::string opener;

 private:
  // Bytes of the turn's end: what an answer's end has too.
  [[nodiscard]] std::size_t turn_end(std::string_view text) const {
    const std::size_t shared = common_suffix(text, answer_end_);
    if (shared == answer_end_.size()) return shared;
    return text.size() - mark_start(text, text.size() - shared);
  }

  // Where the tool's name is told in the header and again in the body, only the body matters.
  [[nodiscard]] std::string_view in_message(std::string_view text) const {
    const std::size_t key = text.find(word::kKey);
    const std::size_t name = key == std::string_view::npos ? key : text.rfind(word::kTool, key);
    if (name == std::string_view::npos) return text;
    const std::size_t message = text.rfind(headers_.message, name);
    return message == std::string_view::npos ? text
                                             : text.substr(message + headers_.message.size());
  }

  std::vector<std::string> prompts_;
  std::string answer_end_;
  const HeaderFormat& headers_;
};

// The marks that open values of other types than text.
void find_value_marks(const Calls& probes, const Telling& telling, CallFormat& format) {
  struct Typed {
    const char* type;
    JsonValue value;
    std::vector<std::string_view> shown;
  };
  const std::array<Typed, 4> values{
      {{"number", JsonValue{std::int64_t{4711}}, {"4711"}},
       {"boolean", JsonValue{true}, {"true", "True"}},
       {"array", JsonValue{JsonValue::Array{json_of("quxitem")}}, {"[\"quxitem", "['quxitem"}},
       {"object",
        JsonValue{JsonValue::Object{{"quxinner", JsonValue{std::int64_t{1}}}}},
        {"{\"quxinner", "{'quxinner"}}}};
  const std::string text_mark = format.value_marks.front().begin;
  std::vector<ValueMark> marks;
  for (const Typed& typed : values) {
    JsonValue::Object arguments{{std::string(word::kKey), typed.value}};
    const std::string text = probes.one(telling, std::move(arguments));
    const std::size_t key = text.find(format.parameter_begin + std::string(word::kKey));
    if (key == std::string::npos) continue;
    const std::size_t behind = key + format.parameter_begin.size() + word::kKey.size();
    std::size_t value = std::string::npos;
    for (const std::string_view shown : typed.shown)
      value = std::min(value, text.find(shown, behind));
    if (value == std::string::npos) continue;
    const std::string mark = text.substr(behind, value - behind);
    if (mark != text_mark && trimmed(mark).size() < 200)
      marks.push_back({mark, false, true, typed.type});
  }
  if (marks.empty()) return;
  format.value_marks.front().for_other = false;
  for (ValueMark& mark : marks) {
    const bool known =
        std::any_of(format.value_marks.begin(), format.value_marks.end(),
                    [&](const ValueMark& other) { return other.begin == mark.begin; });
    if (!known) format.value_marks.push_back(std::move(mark));
  }
}

bool same_marks(const CallFormat& a, const CallFormat& b) {
  const auto same = [](std::string_view x, std::string_view y) { return trimmed(x) == trimmed(y); };
  return a.shape == b.shape && a.notation == b.notation && a.is_list == b.is_list &&
         same(a.section_begin, b.section_begin) && same(a.call_begin, b.call_begin) &&
         same(a.name_end, b.name_end) && same(a.parameter_begin, b.parameter_begin);
}

void name_family(ReplyFormat& format) {
  CallFormat& calls = format.calls;
  calls.family = "derived";
  if (format.headers.exists()) {
    if (!format.headers.call_prefix.empty()) calls.family = "gpt-oss";
    return;
  }
  for (const CallFamily& row : call_families()) {
    if (same_marks(row.format, calls)) calls.family = row.format.family;
  }
}

// A template that tells the model of a family's mark and writes no calls itself.
void from_table(const Calls& probes, CallFormat& format) {
  const std::string with = probes.whole_prompt(true);
  const std::string without = probes.whole_prompt(false);
  for (const CallFamily& row : call_families()) {
    if (row.shown.empty() || with.find(row.shown) == std::string::npos ||
        without.find(row.shown) != std::string::npos)
      continue;
    format = row.format;
    return;
  }
}

// "to=functions." in a header whose message is the arguments.
void move_call_to_header(ReplyFormat& format) {
  CallFormat& calls = format.calls;
  HeaderFormat& headers = format.headers;
  if (!headers.exists() || calls.shape != CallShape::kNameArguments ||
      !std::string_view(calls.name_end).ends_with(headers.message))
    return;
  const std::size_t word = calls.call_begin.find_last_of(" >");
  headers.call_prefix = calls.call_begin.substr(word == std::string::npos ? 0 : word + 1);
}

}  // namespace

std::vector<CallFamily> call_families() {
  std::vector<CallFamily> out;
#define FAMILY(label, mark, ...)                  \
  out.push_back({mark, CallFormat{__VA_ARGS__}}); \
  out.back().format.family = label;               \
  out.back().format.parallel = true;
#include "chat/reply_families.def"
  return out;
}

void derive_calls(const Template& source, const ProbeOptions& options, ReplyFormat& format) {
  const Calls probes(source, options);
  Telling telling;
  if (!probes.find_telling(telling)) {
    from_table(probes, format.calls);
    return;
  }
  Cutter cutter(probes.prompts(telling.has_tools), probes.answer_end(telling), format.headers);
  CallTexts texts;
  texts.one = cutter.cut(probes.one(telling, first_arguments()));
  texts.two = cutter.cut(probes.two(telling));
  format.calls = find_shape(texts);
  if (!format.calls.exists()) return;
  if (!cutter.opener.empty()) format.ignored.push_back(cutter.opener);
  if (format.calls.shape == CallShape::kParameters) find_value_marks(probes, telling, format.calls);
  move_call_to_header(format);
  for (const std::string& prompt : probes.prompts(telling.has_tools)) {
    const std::string answer = probes.answer(telling);
    if (reply_start(format, prompt) == ReplyStart::kCall && answer.starts_with(prompt))
      format.answer_begin = trimmed(std::string_view(answer).substr(
          prompt.size(), answer.find(word::kAnswer) - prompt.size()));
  }
  name_family(format);
}

ReplyFormat derive_reply_format(const Template& source, const ProbeOptions& options) {
  ReplyFormat format;
  derive_headers(source, options, format);
  derive_reasoning(source, options, format);
  derive_calls(source, options, format);
  return format;
}

}  // namespace minfer::chat

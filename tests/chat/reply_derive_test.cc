#include "chat/reply_derive.h"

#include <gtest/gtest.h>

#include "chat/reply_parser.h"
#include "chat/reply_value.h"

namespace minfer::chat {
namespace {

ReplyFormat derived(std::string_view source) {
  const auto parsed = Template::parse(source);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return derive_reply_format(*parsed, {});
}

// Thoughts by an argument, calls as objects between marks.
constexpr std::string_view kSwitched = R"({%- if tools %}[tools]{{ tools | tojson }}[/tools]
{% endif %}
{%- for m in messages %}<|{{ m.role }}|>
{% if m.reasoning_content %}<think>
{{ m.reasoning_content }}
</think>

{% endif %}{{ m.content }}
{%- for c in m.tool_calls %}
<call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</call>{% endfor %}<|end|>
{% endfor %}
{%- if add_generation_prompt %}<|assistant|>
{% if enable_thinking is defined and not enable_thinking %}<think>

</think>

{% endif %}{% endif %})";

TEST(ReplyDerive, ObjectsBetweenMarksAndAThoughtByArgument) {
  const ReplyFormat f = derived(kSwitched);
  EXPECT_EQ(f.reasoning.begin, "<think>");
  EXPECT_EQ(f.reasoning.end, "</think>");
  EXPECT_EQ(f.reasoning.close, "\n</think>\n\n");
  EXPECT_TRUE(f.reasoning.off.possible);
  EXPECT_EQ(json_text(JsonValue{f.reasoning.off.arguments}), R"({"enable_thinking": false})");
  EXPECT_EQ(f.reasoning.off.prompt_suffix, "");
  EXPECT_EQ(json_text(JsonValue{f.reasoning.on.arguments}), R"({"enable_thinking": true})");
  EXPECT_EQ(f.calls.shape, CallShape::kObject);
  EXPECT_EQ(f.calls.family, "derived");
  EXPECT_TRUE(f.calls.parallel);
  EXPECT_EQ(f.calls.section_begin, "");
  EXPECT_EQ(f.calls.call_begin, "<call>\n");
  EXPECT_EQ(f.calls.call_end, "\n</call>");
  EXPECT_EQ(f.calls.separator, "");
  EXPECT_EQ(f.calls.name_key, "name");
  EXPECT_EQ(f.calls.arguments_key, "arguments");
  EXPECT_EQ(reply_start(f, "x<|assistant|>\n"), ReplyStart::kAnswer);
  EXPECT_EQ(reply_start(f, "x<|assistant|>\n<think>\n\n</think>\n\n"), ReplyStart::kAfterThought);
}

// A prompt that opens a thought, and a history without thoughts.
constexpr std::string_view kOpened =
    R"({% for m in messages %}{% if m.role == 'assistant' %}<A>{{ m.content.split('</think>')[-1] }}<E>)"
    R"({% else %}<U>{{ m.content }}{% endif %}{% endfor %})"
    R"({% if add_generation_prompt %}<A><think>
{% endif %})";

TEST(ReplyDerive, AThoughtThatThePromptOpens) {
  const ReplyFormat f = derived(kOpened);
  EXPECT_EQ(f.reasoning.begin, "<think>");
  EXPECT_EQ(f.reasoning.end, "</think>");
  EXPECT_EQ(reply_start(f, "<U>hi<A><think>\n"), ReplyStart::kThought);
  EXPECT_TRUE(f.reasoning.on.arguments.empty());
  EXPECT_EQ(f.reasoning.on.prompt_suffix, "");
  EXPECT_EQ(f.reasoning.off.prompt_suffix, "</think>\n\n");
  EXPECT_FALSE(f.calls.exists());
}

// Parameters whose end mark has their name, numbered calls in a section.
constexpr std::string_view kParameters =
    R"({% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.tool_calls %}<all>)"
    R"({% for c in m.tool_calls %}<call {{ c.function.name }} #{{ loop.index0 }}>)"
    R"({% for k, v in c.function.arguments.items() %}<{{ k }}>{{ v if v is string else v | tojson }})"
    R"(</{{ k }}>{% endfor %}</call>{% endfor %}</all>{% endif %}<end>{% endfor %})"
    R"({% if add_generation_prompt %}<assistant>{% endif %})";

TEST(ReplyDerive, ParametersNamedAtBothEnds) {
  const ReplyFormat f = derived(kParameters);
  const CallFormat& c = f.calls;
  EXPECT_EQ(c.shape, CallShape::kParameters);
  EXPECT_EQ(c.section_begin, "<all>");
  EXPECT_EQ(c.section_end, "</all>");
  EXPECT_EQ(c.call_begin, "<call ");
  EXPECT_EQ(c.call_end, "</call>");
  EXPECT_TRUE(c.has_hole);
  EXPECT_EQ(c.first_number, 0);
  EXPECT_EQ(c.parameter_end, std::string("</") + kKeyHole + ">");
  const auto tools = parse_tools(*parse_json(
      R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
           "properties": {"s": {"type": "string"}, "n": {"type": "array"}}}}}])"));
  ReplyOptions options;
  options.tools = &*tools;
  ReplyParser parser(f, options);
  (void)parser.feed(
      "Yes.<all><call f #0><s>a <b> c</s><n>[1, {\"x\": 2}]</n></call>"
      "<call f #1></call></all>",
      false);
  (void)parser.finish();
  EXPECT_EQ(parser.reply().content, "Yes.");
  ASSERT_EQ(parser.reply().tool_calls.size(), 2U);
  EXPECT_EQ(parser.reply().tool_calls[0].arguments, R"({"s": "a <b> c", "n": [1, {"x": 2}]})");
  EXPECT_EQ(parser.reply().tool_calls[1].arguments, "{}");
}

TEST(ReplyDerive, WithoutThoughtsAndCallsThereIsNothing) {
  const ReplyFormat f =
      derived(R"({% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %})"
              R"({% if add_generation_prompt %}<assistant>{% endif %})");
  EXPECT_FALSE(f.reasoning.exists());
  EXPECT_FALSE(f.reasoning.off.possible);
  EXPECT_FALSE(f.calls.exists());
  EXPECT_FALSE(f.headers.exists());
  EXPECT_TRUE(f.ignored.empty());
}

// A template that tells of calls and writes none has the family whose mark it shows.
TEST(ReplyDerive, AMarkThatIsOnlyTold) {
  const ReplyFormat f = derived(
      R"({% if tools %}Answer with <tool_call>JSON</tool_call>. {{ tools | tojson }}{% endif %})"
      R"({% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %})");
  EXPECT_EQ(f.calls.family, "Hermes");
}

}  // namespace
}  // namespace minfer::chat

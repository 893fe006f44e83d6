// golden/templates: calls and thoughts that a template writes come back out of the parser whose
// format was derived from it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "chat/chat_template.h"
#include "chat/reply_derive.h"
#include "chat/reply_marks.h"
#include "chat/reply_parser.h"
#include "chat/reply_value.h"
#include "tests/chat/golden_folder.h"

namespace minfer::chat {
namespace {

constexpr std::string_view kTools = R"([
 {"type": "function", "function": {"name": "get_weather", "description": "Weather of a city",
  "parameters": {"type": "object", "properties": {
    "city": {"type": "string", "description": "the city"},
    "days": {"type": "integer", "description": "how many"},
    "exact": {"type": "boolean", "description": "exactly"},
    "hours": {"type": "array", "items": {"type": "integer"}, "description": "which"},
    "where": {"type": "object", "properties": {"lat": {"type": "number"},
              "name": {"type": "string"}}, "description": "place"}},
   "required": ["city"]}}},
 {"type": "function", "function": {"name": "note", "description": "Writes a note",
  "parameters": {"type": "object", "properties": {
    "text": {"type": "string", "description": "the note"}}, "required": ["text"]}}}])";

constexpr std::string_view kFirst =
    R"({"city": "Łódź", "days": 3, "exact": true, "hours": [6, 12], "where": {"lat": 51.5, "name": "x y"}})";
constexpr std::string_view kSecond = R"({"text": "two\nlines and {braces}"})";

class Golden {
 public:
  explicit Golden(const std::filesystem::path& path)
      : source_(Template::parse(read_file(path)).value()) {
    options_.bos_token = "<s>";
    options_.eos_token = "</s>";
    options_.render.now.tm_year = 126;
    options_.render.now.tm_mday = 1;
    format = derive_reply_format(source_, options_);
    tools = *parse_tools(*parse_json(kTools));
  }

  // The text, or nothing where the template refuses.
  [[nodiscard]] std::optional<std::string> render(const std::string& messages, bool generation,
                                                  bool with_tools = true,
                                                  const JsonValue::Object& more = {}) const {
    Dict context;
    const auto set = [&](const char* name, Value value) {
      context.set(Value::literal(name), std::move(value));
    };
    set("bos_token", Value::literal(options_.bos_token));
    set("eos_token", Value::literal(options_.eos_token));
    set("messages", Value::from_json(*parse_json(messages)));
    if (with_tools) set("tools", Value::from_json(tools.json));
    set("add_generation_prompt", Value(generation));
    for (const auto& [name, value] : more)
      context.set(Value::literal(name), Value::from_json(value));
    const auto text = source_.render(Value::dict(std::move(context)), options_.render);
    if (!text.ok()) return std::nullopt;
    return text->bytes();
  }

  // What `full` says behind `prompt`, without the end of a turn.
  [[nodiscard]] std::string reply_of(const std::string& prompt, const std::string& full,
                                     const std::string& answer) const {
    std::string reply =
        full.substr(full.starts_with(prompt) ? prompt.size()
                                             : aligned_prefix(full, common_prefix(full, prompt)));
    // A prompt may end in other text than history has before a reply; its last mark is the same.
    const std::string mark = prompt.substr(std::min(prompt.rfind('<'), prompt.size()));
    if (!mark.empty() && reply.starts_with(mark)) reply.erase(0, mark.size());
    const std::string end = answer.substr(answer.rfind("ANSWER") + 6);
    std::size_t shared = common_suffix(reply, end);
    if (shared < end.size()) shared = reply.size() - mark_start(reply, reply.size() - shared);
    reply.resize(reply.size() - shared);
    return reply;
  }

  ReplyFormat format;
  ToolSet tools;

 private:
  Template source_;
  ProbeOptions options_;
};

Reply parse(const Golden& golden, ReplyStart start, std::string_view reply, std::size_t piece) {
  ReplyOptions options;
  options.start = start;
  options.tools = &golden.tools;
  ReplyParser parser(golden.format, options);
  for (std::size_t at = 0; at < reply.size(); at += piece)
    (void)parser.feed(reply.substr(at, piece), false);
  (void)parser.finish();
  return parser.reply();
}

std::string canonical(std::string_view json) {
  const auto value = parse_json(json);
  return value.ok() ? json_text(*value) : "no JSON: " + std::string(json);
}

std::string call_json(std::string_view id, std::string_view name, std::string_view arguments,
                      bool as_text) {
  return fmt::format(
      R"({{"id": "{}", "type": "function", "function": {{"name": "{}", "arguments": {}}}}})", id,
      name, as_text ? json_quoted(arguments) : std::string(arguments));
}

std::string assistant(std::string_view content, std::string_view more) {
  return fmt::format(R"([{{"role": "user", "content": "QUESTION"}},
                         {{"role": "assistant", "content": {}{}}}])",
                     content, more);
}

std::vector<std::filesystem::path> templates() {
  std::vector<std::filesystem::path> paths;
  if (!std::filesystem::is_directory(golden_templates())) return paths;
  for (const auto& entry : std::filesystem::directory_iterator(golden_templates())) {
    if (entry.path().extension() == ".jinja") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Templates that write no calls, why, and the family that they show all the same.
const std::map<std::string, std::pair<std::string, std::string>> kNoCalls = {
    {"HuggingFaceTB-SmolLM3-3B", {"takes `xml_tools` in place of tools", ""}},
    {"Kimi-K2-Instruct", {"calls list.append, which the sandbox refuses", ""}},
    {"LFM2-8B-A1B", {"drops tool_calls", "LFM"}},
    {"fireworks-ai-llama-3-firefunction-v2", {"takes `functions` in place of tools", ""}},
    {"google-gemma-2-2b-it", {"no tools", ""}},
    {"ibm-granite-granite-3.3-2B-Instruct", {"drops tool_calls", "Granite"}},
    {"llama-cpp-rwkv-world", {"no tools", ""}},
    {"microsoft-Phi-3.5-mini-instruct", {"no tools", ""}},
};

const std::map<std::string, std::string> kFamilies = {
    {"GLM-4.7-Flash", "GLM"},
    {"LFM2.5-8B-A1B", "LFM"},
    {"Mistral-Small-3.2-24B-Instruct-2506", "Mistral with ids"},
    {"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "Hermes"},
    {"Qwen-Qwen2.5-7B-Instruct", "Hermes"},
    {"Qwen3-Coder", "Qwen3-Coder"},
    {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "DeepSeek"},
    {"deepseek-ai-DeepSeek-V3.1", "DeepSeek 3.1"},
    {"deepseek-ai-DeepSeek-V4", "DeepSeek DSML"},
    {"google-gemma-4-31B-it-interleaved", "Gemma"},
    {"meetkai-functionary-medium-v3.1", "Functionary"},
    {"meta-llama-Llama-3.1-8B-Instruct", "Llama 3"},
    {"mistralai-Mistral-Nemo-Instruct-2407", "Mistral"},
    {"moonshotai-Kimi-K2", "Kimi"},
    {"openai-gpt-oss-120b", "gpt-oss"},
    {"unsloth-mistral-Devstral-Small-2507", "Mistral with names"},
    {"MiniMax-M3", "derived"},
};

struct Tally {
  int n_written = 0;  // renderings that hold the calls
  int n_parallel = 0;
};

// One way to tell the conversation: does what the template writes come back?
void check_telling(const Golden& golden, std::string_view content, bool as_text, bool with_tools,
                   Tally& tally) {
  const std::string first = call_json("abcdefgh1", "get_weather", kFirst, as_text);
  const std::string second = call_json("abcdefgh2", "note", kSecond, as_text);
  const auto prompt =
      golden.render(R"([{"role": "user", "content": "QUESTION"}])", true, with_tools);
  const auto answer = golden.render(assistant("\"ANSWER\"", ""), false, with_tools);
  if (!prompt || !answer) return;
  for (const bool both : {false, true}) {
    const auto full = golden.render(
        assistant(content, R"(, "tool_calls": [)" + first + (both ? ", " + second : "") + "]"),
        false, with_tools);
    if (!full || full->find("get_weather", prompt->size() / 2) == std::string::npos) continue;
    const std::string reply = golden.reply_of(*prompt, *full, *answer);
    if (reply.find("51.5") == std::string::npos) continue;
    if (both && reply.find("lines") == std::string::npos) continue;
    SCOPED_TRACE(reply);
    ReplyStart start = reply_start(golden.format, *prompt);
    if (!full->starts_with(*prompt)) start = ReplyStart::kAnswer;
    const Reply whole = parse(golden, start, reply, reply.size());
    ++tally.n_written;
    ASSERT_EQ(whole.tool_calls.size(), both ? 2U : 1U) << whole.content;
    EXPECT_EQ(whole.tool_calls[0].name, "get_weather");
    EXPECT_EQ(canonical(whole.tool_calls[0].arguments), canonical(kFirst));
    if (both) {
      ++tally.n_parallel;
      EXPECT_EQ(whole.tool_calls[1].name, "note");
      EXPECT_EQ(canonical(whole.tool_calls[1].arguments), canonical(kSecond));
    }
    EXPECT_TRUE(whole.content.empty() || whole.content == "SAY" || whole.content == " SAY" ||
                whole.content == "all\nSAY" || whole.content == "None")
        << whole.content;
    for (const std::size_t piece : {1, 2, 3, 7}) {
      const Reply cut = parse(golden, start, reply, piece);
      EXPECT_EQ(cut.content, whole.content);
      EXPECT_EQ(cut.reasoning, whole.reasoning);
      ASSERT_EQ(cut.tool_calls.size(), whole.tool_calls.size());
      for (std::size_t i = 0; i < cut.tool_calls.size(); ++i)
        EXPECT_EQ(cut.tool_calls[i].arguments, whole.tool_calls[i].arguments);
    }
  }
}

TEST(ReplyGolden, CallsComeBack) {
  const auto paths = templates();
  if (paths.empty()) GTEST_SKIP() << "no golden data at " << golden_templates();
  int n_calls = 0;
  int n_parallel = 0;
  for (const auto& path : paths) {
    const std::string name = path.stem().string();
    SCOPED_TRACE(name);
    const Golden golden(path);
    if (const auto family = kFamilies.find(name); family != kFamilies.end()) {
      EXPECT_EQ(golden.format.calls.family, family->second);
    }
    if (const auto none = kNoCalls.find(name); none != kNoCalls.end()) {
      EXPECT_EQ(golden.format.calls.family, none->second.second) << none->second.first;
      continue;
    }
    Tally tally;
    for (const char* content : {"\"SAY\"", "\"\"", "null"}) {
      for (const bool with_tools : {true, false})
        check_telling(golden, content, false, with_tools, tally);
    }
    // Some templates take arguments as text only.
    const bool as_text = tally.n_written == 0;
    for (const char* content : {"\"SAY\"", "null"}) {
      for (const bool with_tools : {true, false})
        if (as_text) check_telling(golden, content, true, with_tools, tally);
    }
    EXPECT_GT(tally.n_written, 0);
    EXPECT_EQ(tally.n_parallel > 0, golden.format.calls.parallel);
    n_calls += tally.n_written > 0;
    n_parallel += tally.n_parallel > 0;
  }
  EXPECT_EQ(n_calls, 42);
  RecordProperty("parallel", n_parallel);
}

// The same by the way that requests take: what a conversation's prompt shows of a call is read
// back.
TEST(ReplyGolden, CallsOfAConversationComeBack) {
  const auto paths = templates();
  if (paths.empty()) GTEST_SKIP() << "no golden data at " << golden_templates();
  int n_read = 0;
  for (const auto& path : paths) {
    SCOPED_TRACE(path.stem().string());
    const Golden golden(path);
    TemplateSources sources;
    sources.main = read_file(path);
    sources.tokens = {"<s>", "</s>"};
    const auto chat = ChatTemplate::create(std::move(sources));
    ASSERT_TRUE(chat.ok());
    const Abilities& abilities = chat->abilities(true);
    // A call without marks is one only where a reply begins.
    if (!abilities.tools || !abilities.tool_calls || golden.format.calls.family == "Llama 3")
      continue;
    Conversation conversation;
    conversation.tools = golden.tools.json;
    conversation.messages = *parse_json(
        R"([{"role": "user", "content": "QUESTION"}, {"role": "assistant", "content": null,
            "tool_calls": [)" +
        call_json("call_1", "get_weather", kFirst, true) +
        R"(]}, {"role": "tool", "tool_call_id": "call_1", "content": "RESULT"}])");
    RenderOptions options;
    options.now.tm_year = 126;
    options.now.tm_mday = 1;
    const auto spans = chat->render(conversation, options);
    if (path.stem().string() == "CohereForAI-c4ai-command-r-plus-tool_use") {
      EXPECT_FALSE(spans.ok());  // objects need additionalProperties there
      continue;
    }
    ASSERT_TRUE(spans.ok()) << spans.status().message();
    std::string text;
    for (const PromptSpan& span : *spans) text += span.text;
    const std::size_t begin = text.rfind("QUESTION") + 8;
    ASSERT_LT(begin, text.rfind("RESULT"));
    const std::string shown = text.substr(begin, text.rfind("RESULT") - begin);
    SCOPED_TRACE(shown);
    const ReplyStart start =
        golden.format.headers.exists() ? ReplyStart::kHeader : ReplyStart::kAnswer;
    const Reply reply = parse(golden, start, shown, 1);
    ASSERT_EQ(reply.tool_calls.size(), 1U);
    EXPECT_EQ(reply.tool_calls[0].name, "get_weather");
    EXPECT_EQ(canonical(reply.tool_calls[0].arguments), canonical(kFirst));
    ++n_read;
  }
  EXPECT_EQ(n_read, 36);  // 42 less two without marks, one that refuses, three that show no tools
}

// Marks of thoughts, of every template that has any.
const std::map<std::string, std::pair<std::string, std::string>> kThoughts = {
    {"Apriel-1.6-15b-Thinker-fixed", {"Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"}},
    {"Cohere2MoE", {"<|START_THINKING|>", "<|END_THINKING|>"}},
    {"Kimi-K3", {"<|open|>think<|sep|>", "<|close|>think<|sep|>"}},
    {"MiniMax-M3", {"<mm:think>", "</mm:think>"}},
    {"google-gemma-4-31B-it-interleaved", {"<|channel>thought", "<channel|>"}},
    {"muse-glimmer", {"", "<|eom|>"}},
    {"openai-gpt-oss-120b", {"", "<|end|>"}},
};

const std::set<std::string> kThink = {
    "Bielik-11B-v3.0-Instruct",
    "GLM-4.7-Flash",
    "HuggingFaceTB-SmolLM3-3B",
    "LFM2.5-8B-A1B",
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "Qwen-QwQ-32B",
    "Qwen-Qwen3-0.6B",
    "Reka-Edge",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B",
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
    "deepseek-ai-DeepSeek-V3.1",
    "deepseek-ai-DeepSeek-V4",
    "deepseek-ai-DeepSeek-V4-Flash-0731",
    "inclusionai-ling-3.0-flash",
    "llama-cpp-deepseek-r1",
    "llama-cpp-rwkv-world",
    "openbmb-MiniCPM5-1B",
    "poolside-Laguna-S-2.1",
    "poolside-Laguna-XS-2.1",
};

TEST(ReplyGolden, ThoughtsComeBack) {
  const auto paths = templates();
  if (paths.empty()) GTEST_SKIP() << "no golden data at " << golden_templates();
  std::set<std::string> written;
  for (const auto& path : paths) {
    const std::string name = path.stem().string();
    SCOPED_TRACE(name);
    const Golden golden(path);
    const ReasoningFormat& reasoning = golden.format.reasoning;
    if (const auto marks = kThoughts.find(name); marks != kThoughts.end()) {
      EXPECT_EQ(reasoning.begin, marks->second.first);
      EXPECT_EQ(std::string(trimmed(reasoning.end)), marks->second.second);
    } else if (kThink.contains(name)) {
      EXPECT_EQ(reasoning.begin, "<think>");
      EXPECT_EQ(reasoning.end, "</think>");
    } else {
      EXPECT_FALSE(reasoning.exists()) << reasoning.begin << reasoning.end;
      continue;
    }
    for (const bool on : {true, false}) {
      JsonValue::Object more;
      if (on) more = {{"enable_thinking", JsonValue{true}}, {"thinking", JsonValue{true}}};
      const auto prompt =
          golden.render(R"([{"role": "user", "content": "QUESTION"}])", true, false, more);
      const auto answer = golden.render(assistant("\"ANSWER\"", ""), false, false, more);
      const auto full = golden.render(
          assistant("\"SAY\"", R"(, "reasoning_content": "THOUGHT", "thinking": "THOUGHT")"), false,
          false, more);
      if (!prompt || !answer || !full || full->find("THOUGHT") == std::string::npos) continue;
      written.insert(name);
      const std::string reply = golden.reply_of(*prompt, *full, *answer);
      SCOPED_TRACE(reply);
      ReplyStart start = reply_start(golden.format, *prompt);
      if (!full->starts_with(*prompt) && start != ReplyStart::kHeader) start = ReplyStart::kAnswer;
      // Some templates write no mark before a thought that their prompt opens.
      if (reply.starts_with("THOUGHT")) start = ReplyStart::kThought;
      for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, reply.size()}) {
        const Reply got = parse(golden, start, reply, piece);
        EXPECT_EQ(got.reasoning, "THOUGHT");
        EXPECT_EQ(got.content, "SAY");
      }
    }
  }
  EXPECT_EQ(written.size(), 18U);
}

}  // namespace
}  // namespace minfer::chat

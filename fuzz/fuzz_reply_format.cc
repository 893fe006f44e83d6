// Any bytes as a chat template whose reply format is derived under small limits: no crash, no
// undefined behaviour, and the grammar of the calls can be written or is refused.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "chat/reply_derive.h"
#include "chat/reply_parser.h"
#include "chat/tool_grammar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace chat = minfer::chat;
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const auto parsed = chat::Template::parse(source);
  if (!parsed.ok()) return 0;
  chat::ProbeOptions options;
  options.bos_token = "<s>";
  options.render.limits.steps = 2'000;
  options.render.limits.total_bytes = 1 << 16;
  const chat::ReplyFormat format = chat::derive_reply_format(*parsed, options);
  static const chat::ToolSet kTools = *chat::parse_tools(*minfer::parse_json(
      R"([{"type": "function", "function": {"name": "quxtool", "parameters": {"type": "object",
           "properties": {"quxkey": {"type": "string"}, "b": {"type": "integer"}}}}}])"));
  for (const auto kind : {chat::ToolChoice::Kind::kAuto, chat::ToolChoice::Kind::kRequired}) {
    chat::ToolGrammarOptions wanted;
    wanted.choice.kind = kind;
    (void)chat::make_tool_grammar(format, kTools, wanted);
  }
  chat::ReplyOptions reading;
  reading.tools = &kTools;
  reading.start = chat::reply_start(format, source);
  chat::ReplyParser parser(format, reading);
  (void)parser.feed(source, false);
  (void)parser.finish();
  return 0;
}

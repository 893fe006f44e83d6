// Any bytes as a reply in the format of any family, whole and cut into pieces of which some are
// control tokens: the same content, thoughts and calls, made of the events that were given out;
// arguments that are JSON objects; no byte of a control token in a content.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chat/reply_derive.h"
#include "chat/reply_parser.h"

namespace {

using minfer::JsonValue;
namespace chat = minfer::chat;

struct Piece {
  std::string_view bytes;
  bool is_control = false;
};

void require(bool condition) {
  if (!condition) __builtin_trap();
}

const chat::ToolSet& tools() {
  static const chat::ToolSet kTools = *chat::parse_tools(*minfer::parse_json(
      R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
           "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}}},
          {"type": "function", "function": {"name": "now"}}])"));
  return kTools;
}

std::vector<chat::ReplyFormat> all_formats() {
  std::vector<chat::ReplyFormat> out;
  for (const chat::CallFamily& family : chat::call_families()) {
    chat::ReplyFormat format;
    format.calls = family.format;
    format.reasoning.begin = "<think>";
    format.reasoning.end = "</think>";
    out.push_back(format);
  }
  chat::ReplyFormat headers;
  headers.headers = {"<|start|>assistant", "<|message|>", "<|channel|>analysis", "<|channel|>final",
                     "to=functions."};
  headers.reasoning.end = "<|end|>";
  headers.calls.shape = chat::CallShape::kNameArguments;
  headers.calls.name_end = "<|channel|>commentary json<|message|>";
  out.push_back(headers);
  chat::ReplyFormat nested;
  nested.calls.shape = chat::CallShape::kParameters;
  nested.calls.call_begin = "<call=";
  nested.calls.call_end = "</call>";
  nested.calls.name_end = ">";
  nested.calls.parameter_begin = "<";
  nested.calls.value_marks = {{">", true, true, ""}};
  nested.calls.parameter_end = std::string("</") + chat::kKeyHole + ">";
  nested.ignored = {"<answer>"};
  out.push_back(nested);
  return out;
}

// The reply, which must be what the events say.
chat::Reply read(const chat::ReplyFormat& format, chat::ReplyStart start,
                 const std::vector<Piece>& pieces) {
  chat::ReplyOptions options;
  options.start = start;
  options.tools = &tools();
  chat::ReplyParser parser(format, options);
  chat::Reply told;
  std::size_t open = ~std::size_t{0};
  const auto take = [&](const std::vector<chat::ReplyEvent>& events) {
    using Kind = chat::ReplyEvent::Kind;
    for (const chat::ReplyEvent& event : events) {
      if (event.kind == Kind::kContent) told.content += event.text;
      if (event.kind == Kind::kReasoning) told.reasoning += event.text;
      if (event.kind == Kind::kCallBegin) {
        require(event.call == told.tool_calls.size() && tools().find(event.name) != nullptr);
        open = event.call;
        told.tool_calls.push_back({event.id, event.name, {}});
      }
      if (event.kind == Kind::kCallArguments || event.kind == Kind::kCallEnd ||
          event.kind == Kind::kCallDropped)
        require(event.call == open);
      if (event.kind == Kind::kCallArguments) told.tool_calls.back().arguments += event.text;
      if (event.kind == Kind::kCallDropped) told.tool_calls.pop_back();
    }
  };
  for (const Piece& piece : pieces) take(parser.feed(piece.bytes, piece.is_control));
  take(parser.finish());
  const chat::Reply& reply = parser.reply();
  require(reply.content == told.content && reply.reasoning == told.reasoning &&
          reply.tool_calls.size() == told.tool_calls.size());
  for (std::size_t i = 0; i < told.tool_calls.size(); ++i) {
    require(reply.tool_calls[i].arguments == told.tool_calls[i].arguments);
    const auto arguments = minfer::parse_json(told.tool_calls[i].arguments);
    require(arguments.ok() && arguments->object() != nullptr);
  }
  return reply;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  static const std::vector<chat::ReplyFormat> kFormats = all_formats();
  const chat::ReplyFormat& format = kFormats[data[0] % kFormats.size()];
  const auto start = static_cast<chat::ReplyStart>(data[1] % 5);
  const std::uint8_t cut = data[2];
  const std::string_view text(reinterpret_cast<const char*>(data + 3), size - 3);
  // Pieces end behind '>' and ']' and at every cut; those that begin with "<|" may be control
  // tokens.
  std::vector<Piece> whole;
  std::vector<Piece> small;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '>' && i + 1 < text.size() && text[i + 1] != '<') continue;
    const std::string_view bytes = text.substr(begin, i + 1 - begin);
    const bool control = (cut & 1) != 0 && bytes.starts_with("<|");
    whole.push_back({bytes, control});
    const std::size_t step = 1 + cut / 2 % 7;
    for (std::size_t at = 0; at < bytes.size(); at += step)
      small.push_back({bytes.substr(at, step), control});
    begin = i + 1;
  }
  const chat::Reply a = read(format, start, whole);
  const chat::Reply b = read(format, start, small);
  require(a.content == b.content && a.reasoning == b.reasoning &&
          a.tool_calls.size() == b.tool_calls.size());
  for (std::size_t i = 0; i < a.tool_calls.size(); ++i)
    require(a.tool_calls[i].arguments == b.tool_calls[i].arguments);
  return 0;
}

// ReplyFormat: how the model of a template writes thoughts and tool calls in its replies.
//
// Owns: the description alone, as literal marks; derive_reply_format() (reply_derive.h) finds it by
// rendering probes, families of reply_families.def stand in where a template shows only the marks.
// Invariants: marks are kept with the white space that the template writes around them; whoever
// reads a reply compares them without it. Thread-safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.h"

namespace minfer::chat {

/// How --reasoning on or off is asked of the template.
struct ReasoningSwitch {
  bool possible = false;
  JsonValue::Object arguments;  // template arguments, such as {"enable_thinking": false}
  std::string prompt_suffix;    // text to put behind the prompt, control tokens spelled out
};

/// `begin` thought `end` answer.
struct ReasoningFormat {
  std::string begin;  // empty: the model writes no thoughts, or they begin unmarked
  std::string end;    // empty: no thoughts
  /// What ends a thought when its budget is spent: `end` with the white space that the template
  /// writes around it. To be tokenised with control tokens and fed as if the model had drawn it.
  std::string close;
  ReasoningSwitch on;
  ReasoningSwitch off;

  [[nodiscard]] bool exists() const { return !end.empty(); }
};

/// Messages with headers inside one reply (gpt-oss): `start` header `message` body.
struct HeaderFormat {
  std::string start;        // "<|start|>assistant"; empty: none
  std::string message;      // "<|message|>"
  std::string thought;      // stands in the header of a thought: "<|channel|>analysis"
  std::string answer;       // the header of an answer: "<|channel|>final"
  std::string call_prefix;  // stands before the tool's name: "to=functions."; empty: calls stand in
                            // bodies

  [[nodiscard]] bool exists() const { return !start.empty(); }
};

enum class CallShape : std::uint8_t {
  kNone,
  kObject,         // {"name": NAME, "arguments": {...}}
  kKeyedObject,    // {NAME: {...}}
  kNameArguments,  // NAME name_end {...}
  kParameters,     // NAME name_end (parameter_begin KEY value_begin VALUE parameter_end)*
};

/// How values are written.
enum class ValueNotation : std::uint8_t {
  kJson,
  kPython,  // 'text', True, None; the arguments are (key=value, ...)
  kQuoted,  // {key:value}, texts between `quote` marks, nothing escaped
};

/// What opens a value, by its type, where types differ.
struct ValueMark {
  std::string begin;
  bool for_text = true;
  bool for_other = true;
  std::string type;  // JSON type that it says, where one mark stands for one type
};

/// section_begin (call_begin ... call_end separator)* section_end
struct CallFormat {
  CallShape shape = CallShape::kNone;
  ValueNotation notation = ValueNotation::kJson;
  std::string family = "";  // name of the row of reply_families.def that it equals, or "derived"
  bool is_list = false;     // the calls stand in one pair of brackets
  bool parallel = false;    // the template writes several calls
  std::string section_begin = "";
  std::string section_end = "";
  std::string call_begin = "";
  std::string call_end = "";
  std::string separator = "";

  std::string name_key = "";       // kObject
  std::string arguments_key = "";  // kObject

  // kNameArguments, kParameters: name_end, or name_end HOLE hole_end where a number or id stands
  // between.
  std::string name_end = "";
  bool has_hole = false;
  bool hole_is_id = false;  // otherwise the number of the call
  int first_number = 0;
  std::string hole_end = "";

  // kParameters; kKeyHole in parameter_end stands for the key.
  std::string parameter_begin = "";
  std::vector<ValueMark> value_marks = {};
  std::string parameter_end = "";
  std::string quote = "";  // kQuoted

  [[nodiscard]] bool exists() const { return shape != CallShape::kNone; }
};

inline constexpr char kKeyHole = '\x01';

struct ReplyFormat {
  ReasoningFormat reasoning;
  HeaderFormat headers;
  CallFormat calls;
  /// Marks around an answer that never reach content.
  std::vector<std::string> ignored;
  /// Stands before an answer where the prompt ends with the mark of a call (ReplyStart::kCall).
  std::string answer_begin;
};

/// What a reply is at its first byte.
enum class ReplyStart : std::uint8_t { kAnswer, kThought, kAfterThought, kHeader, kCall };

/// Where the reply to `prompt` begins: inside a thought that the prompt has opened, behind one that
/// it has closed, in a header, behind the mark of a call, or in the answer.
ReplyStart reply_start(const ReplyFormat& format, std::string_view prompt);

}  // namespace minfer::chat

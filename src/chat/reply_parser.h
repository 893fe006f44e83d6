// ReplyParser: the bytes of a reply, as they are drawn, to content, reasoning and tool calls.
//
// Use, for one reply:
//   ReplyOptions options;
//   options.start = reply_start(format, prompt_text);   // the prompt that was prefilled
//   options.tools = &tools;                             // those of the request; none: no calls
//   options.id_seed = seed_of_the_turn;                 // ids of calls follow from it
//   ReplyParser parser(format, options);
//   for each drawn token:   for (e : parser.feed(bytes, is_control)) show(e);
//   at the end of the turn: for (e : parser.finish()) show(e);
// A token that ends the turn may be fed or not. The finish reason is "tool_calls" where the turn
// ended by itself and reply().tool_calls is not empty. `--reasoning off` at the level of parsing
// does not exist: thoughts are always split off where the format has them; the caller shows, hides
// or joins the kReasoning events. To stop a thought when a budget is spent: while in_reasoning(),
// count drawn tokens, then feed format.reasoning.close to the model and to feed().
//
// Invariants: content and reasoning depend on the bytes alone, not on how they were cut. Bytes of
// control tokens are seen, and never given out. What is held back is white space, a true prefix of
// a mark, or a call whose name is not yet known. A call that turns out to be malformed or is cut
// off becomes content from its first byte: kCallDropped takes back what was given out of it.
// Deltas may end inside a character. Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/reply_call.h"
#include "chat/reply_format.h"
#include "chat/tool_schema.h"

namespace minfer::chat {

struct ReplyEvent {
  enum class Kind : std::uint8_t {
    kContent,        // text: the delta
    kReasoning,      // text: the delta
    kCallBegin,      // call, id, name
    kCallArguments,  // call, text: a fragment of JSON
    kCallEnd,        // call: the fragments are one JSON object
    kCallDropped,    // call: was none; its text follows as content
  };
  Kind kind = Kind::kContent;
  std::string text;
  std::size_t call = 0;  // 0, 1, ... of the calls that were not dropped
  std::string id;
  std::string name;
};

struct ToolCall {
  std::string id;  // 9 letters and digits, which every template takes
  std::string name;
  std::string arguments;  // a JSON object
};

struct Reply {
  std::string content;
  std::string reasoning;
  std::vector<ToolCall> tool_calls;
};

struct ReplyOptions {
  ReplyStart start = ReplyStart::kAnswer;
  const ToolSet* tools = nullptr;  // outlives the parser
  std::uint64_t id_seed = 0;       // of two replies of a conversation never the same
};

class ReplyParser {
 public:
  /// `format` outlives the parser.
  ReplyParser(const ReplyFormat& format, const ReplyOptions& options);

  /// The bytes of one token.
  std::vector<ReplyEvent> feed(std::string_view bytes, bool is_control);
  /// The reply is over: what was held back.
  std::vector<ReplyEvent> finish();

  /// Everything given out so far; whole after finish().
  [[nodiscard]] const Reply& reply() const { return reply_; }
  /// The next byte belongs to a thought.
  [[nodiscard]] bool in_reasoning() const { return mode_ == Mode::kThought; }
  /// The next byte belongs to a call.
  [[nodiscard]] bool in_call() const { return mode_ == Mode::kCall || mode_ == Mode::kSection; }

 private:
  enum class Mode : std::uint8_t { kText, kThought, kHeader, kCall, kSection, kStart };
  enum class MarkKind : std::uint8_t {
    kThoughtBegin,
    kThoughtEnd,
    kHeader,
    kIgnored,
    kSection,
    kCall,
  };

  void run(bool is_final);
  // Each returns whether it got further.
  bool step(bool is_final);
  bool read_text(bool is_final);
  bool read_header(bool is_final);
  bool read_start(bool is_final);
  bool read_section(bool is_final);
  bool read_call(bool is_final);

  void add_mark(MarkKind kind, std::string_view mark);
  void take_mark(MarkKind kind, const std::string& mark);
  void set_mode(Mode mode);
  bool at_bare_call(std::size_t end, std::size_t& at) const;
  void begin_call(std::string name);
  void end_call();
  void fail_call();
  void leave_section();
  bool expect_call();
  bool read_separator();
  void give_text(std::size_t n);  // of the front of the buffer
  void flush_blanks();
  void give(ReplyEvent::Kind kind, std::string text);
  void consume(std::size_t n);  // drops the front of the buffer, noting it as the call's
  [[nodiscard]] std::string_view rest() const;
  [[nodiscard]] std::string visible(std::string_view bytes, std::string_view controls) const;
  [[nodiscard]] bool reads_calls() const;
  [[nodiscard]] bool is_bare() const;

  const ReplyFormat& format_;
  ReplyOptions options_;
  Mode mode_ = Mode::kText;
  std::vector<std::string> marks_;  // of the mode
  std::vector<MarkKind> mark_kinds_;

  std::string buffer_;    // bytes not yet decided on, from begin_ on
  std::string controls_;  // as long: 1 for bytes of control tokens
  std::size_t begin_ = 0;

  std::string blanks_;         // white space that may belong to a mark behind it
  bool drops_blanks_ = false;  // white space here is the template's
  bool at_start_ = true;       // no answer yet

  std::optional<CallReader> call_;
  std::string raw_;          // visible text of the call being read, from its mark on
  bool begun_ = false;       // kCallBegin was given out
  bool after_call_ = false;  // no content since the last call
  bool in_list_ = false;
  bool in_section_ = false;
  bool expects_call_ = false;  // only a call may stand here
  bool call_failed_ = false;   // what looked like a call was none: it is not tried again

  Reply reply_;
  std::vector<ReplyEvent> events_;
};

}  // namespace minfer::chat

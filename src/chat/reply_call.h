// CallReader: one tool call in the shape of a CallFormat, from behind its begin mark to the end of
// its arguments, as name and JSON arguments.
//
// Invariants: what it gives out depends on the bytes alone, not on how they were cut. A name is
// given out only where it is a tool's. Thread-safety: one thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "chat/reply_format.h"
#include "chat/reply_value.h"
#include "chat/tool_schema.h"

namespace minfer::chat {

class CallReader {
 public:
  enum class State : std::uint8_t { kMore, kDone, kBad };

  /// `format` and `tools` outlive the reader. `name`: known already, from a header.
  CallReader(const CallFormat& format, const ToolSet& tools, std::string name = {});

  /// Reads on in `text`, of which `used` bytes are done with afterwards; the others come again,
  /// with more. `is_final`: nothing follows. For kParameters the end mark is the call's, for the
  /// other shapes the arguments' last bracket ends it.
  State read(std::string_view text, bool is_final, std::size_t& used);

  [[nodiscard]] bool has_name() const { return tool_ != nullptr; }
  [[nodiscard]] const std::string& name() const { return tool_->name; }
  /// The id that the model wrote before the arguments, or empty.
  [[nodiscard]] const std::string& id() const { return id_; }
  /// The JSON that has come since the last call.
  std::string take_arguments();

 private:
  enum class Step : std::uint8_t {
    kName,
    kNameEnd,
    kHole,
    kHoleEnd,
    kValue,
    kParameter,
    kParameterKey,
    kParameterValue,
    kObject,
    kMember,
    kColon,
    kMemberValue,
    kNextMember,
    kDone,
  };

  /// What a member of the call's object is.
  enum class Role : std::uint8_t { kOther, kName, kArguments };

  // Each returns whether it got further; a call that cannot be is set bad_.
  bool step(bool is_final);
  bool read_name(bool is_final);
  bool read_mark(std::string_view mark, Step next);
  bool read_hole(bool is_final);
  bool read_value(bool is_final);
  bool begin_parameter(bool is_final);
  bool read_parameter_key(bool is_final);
  bool read_parameter_value(bool is_final);
  bool expect(char c, Step next);
  bool read_member_key();
  bool begin_member_value();
  bool read_member_value(bool is_final);
  bool end_member();
  bool next_member();
  bool end_object();
  bool set_name(std::string_view name);
  void skip_blanks();
  bool fail();

  bool begin_value_text(bool is_final);
  void begin_parameter_value(const ValueMark& mark);
  void append_parameter(std::string_view text);
  void end_parameter();

  const CallFormat& format_;
  const ToolSet& tools_;
  std::string_view rest_;  // of the text of this read()
  Step step_ = Step::kName;
  bool bad_ = false;
  const Tool* tool_ = nullptr;
  std::string id_;
  std::string arguments_;
  Utf8Gate gate_;  // arguments are JSON, so they are UTF-8

  std::optional<ValueReader> value_;
  std::string key_;    // of the member or parameter being read
  std::string held_;   // a member's key, name or early arguments as JSON
  std::string early_;  // arguments that came before the name
  Role role_ = Role::kOther;
  bool has_arguments_ = false;
  bool streams_ = true;  // the arguments are given out as they come
  int n_parameters_ = 0;
  bool is_text_ = false;      // the parameter is streamed as text
  bool value_began_ = false;  // what opens its value is done with
  bool drops_break_ = false;  // a line break opens its value
  bool is_cdata_ = false;     // its value stands between <![CDATA[ and ]]>
};

}  // namespace minfer::chat

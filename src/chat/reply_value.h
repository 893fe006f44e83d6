// ValueReader: one value in the notation of a model (JSON, Python, quoted), byte by byte, as JSON.
//
// Invariants: what it appends is, once the value is whole, a JSON text with one blank after `:` and
// `,` and none elsewhere between tokens; it depends on the bytes alone, not on how they were cut.
// Strings of JSON keep their escapes. Nesting is bounded. Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chat/reply_format.h"

namespace minfer::chat {

class ValueReader {
 public:
  enum class State : std::uint8_t { kMore, kDone, kBad };

  /// `quote`: the mark around texts of ValueNotation::kQuoted. `arguments`: the value must be an
  /// object; in Python's notation (key=value, ...).
  ValueReader(ValueNotation notation, std::string_view quote, bool arguments);

  /// Takes bytes up to the value's end, sets `used` to how many, appends JSON to `out`. White space
  /// before the value is skipped. A number or word ends before the first byte that is none of it.
  State read(std::string_view text, std::size_t& used, std::string& out);
  /// The text ends here: kDone where that makes the value whole.
  State finish(std::string& out);

 private:
  enum class Mode : std::uint8_t {
    kValue,
    kValueOrClose,
    kKeyOrClose,
    kKey,
    kBareKey,
    kColon,
    kNext,
    kString,
    kQuotedText,
    kWord,
    kDone,
    kBad,
  };
  struct Container {
    char close;
    bool has_keys;
    char key_end;  // ':' or '='
  };

  bool take(char c, std::string& out);  // false: the byte is not the value's
  void begin_value(char c, std::string& out);
  void begin_key(char c, std::string& out);
  void begin_string(char delimiter, std::string& out);
  void open(char c, std::string& out);
  void close(std::string& out);
  void next(char c, std::string& out);
  void string_byte(char c, std::string& out);
  void escape_byte(char c, std::string& out);
  void hex_escape(char c, std::string& out);
  void quoted_byte(char c, std::string& out);
  void end_string(std::string& out);
  void end_bare_key(std::string& out);
  bool end_word(std::string& out);
  void end_value();
  void fail() { mode_ = Mode::kBad; }

  ValueNotation notation_;
  std::string quote_;
  bool arguments_;
  Mode mode_ = Mode::kValue;
  std::vector<Container> open_;
  bool comma_ = false;   // a comma waits for the item that it separates
  bool is_key_ = false;  // the string being read is a key
  char delimiter_ = '"';
  std::string waiting_;  // a word, a bare key, an escape, or a beginning of the quote mark
  std::size_t hex_left_ = 0;
};

/// `byte` inside a JSON string.
void append_json_byte(std::string& out, char byte);
/// `text` as a JSON string, bytes that are no UTF-8 as U+FFFD.
std::string json_quoted(std::string_view text);
/// `value` as JSON with one blank after `:` and `,`.
std::string json_text(const JsonValue& value);

}  // namespace minfer::chat

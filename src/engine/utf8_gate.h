// Utf8Gate: lets only whole UTF-8 characters through.
//
// Bytes that begin a character wait for the rest; what can never become one is U+FFFD, as is a tail
// that is still incomplete at the end.
// Thread-safety: one thread.
#pragma once

#include <string>
#include <string_view>

namespace minfer::engine {

class Utf8Gate {
 public:
  /// Appends the characters completed by `bytes` to `out`.
  void feed(std::string_view bytes, std::string& out);
  /// The end: an incomplete tail becomes one U+FFFD.
  void flush(std::string& out);

 private:
  std::string tail_;  // at most 3 bytes: a valid beginning of a character
};

}  // namespace minfer::engine

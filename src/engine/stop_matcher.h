// StopMatcher: finds stop strings in a reply as it grows, byte by byte.
//
// Owns: the stop strings and the bytes that may still become one.
// Invariants: no byte of a stop string is ever released; bytes are held back only while they are a
// true beginning of a stop string. The match that completes first wins, the longest of those that
// complete together, so the result does not depend on where tokens begin and end.
// Thread-safety: one thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minfer::engine {

class StopMatcher {
 public:
  /// Empty strings are ignored.
  explicit StopMatcher(std::span<const std::string> stops);

  /// Takes more bytes of the reply and appends those that are safe to show to `out`. True when a
  /// stop string was completed: the bytes before it are in `out`, the rest is gone.
  bool feed(std::string_view bytes, std::string& out);

  /// The reply has ended without a match: releases what was held back.
  void flush(std::string& out);

 private:
  bool feed_byte(char byte, std::string& out);

  std::vector<std::string> stops_;
  std::string held_;
};

}  // namespace minfer::engine

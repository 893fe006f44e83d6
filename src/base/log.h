// Log: where notes and warnings go. Errors are Status, not log lines.
//
// Owns: nothing but a level and a sink; passed by reference to whoever may speak.
// Invariants: every line reaches the sink whole, as "minfer: warning: TEXT\n" or "minfer: TEXT\n".
// Thread-safety: write() may be called from any thread where the sink allows it; the default sink
// does one write to stderr a line.
#pragma once

#include <functional>
#include <string_view>

namespace minfer {

enum class LogLevel { kNote, kWarning };

class Log {
 public:
  using Sink = std::function<void(std::string_view line)>;

  /// Lines below `least` are dropped. An empty sink means stderr.
  explicit Log(LogLevel least = LogLevel::kNote, Sink sink = {});

  void note(std::string_view text) const { write(LogLevel::kNote, text); }
  void warning(std::string_view text) const { write(LogLevel::kWarning, text); }
  void write(LogLevel level, std::string_view text) const;

 private:
  LogLevel least_;
  Sink sink_;
};

}  // namespace minfer

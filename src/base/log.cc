#include "base/log.h"

#include <cstdio>
#include <string>
#include <utility>

namespace minfer {

Log::Log(LogLevel least, Sink sink) : least_(least), sink_(std::move(sink)) {
  if (sink_) return;
  sink_ = [](std::string_view line) { std::fwrite(line.data(), 1, line.size(), stderr); };
}

void Log::write(LogLevel level, std::string_view text) const {
  if (level < least_) return;
  std::string line = level == LogLevel::kWarning ? "minfer: warning: " : "minfer: ";
  line += text;
  line += '\n';
  sink_(line);
}

}  // namespace minfer

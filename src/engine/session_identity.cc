#include "engine/session_identity.h"

#include <fmt/format.h>

#include "base/printable.h"

namespace minfer::engine {

std::string identity_text(const SessionIdentity& identity) {
  std::string text;
  for (const SessionIdentity::Line& line : identity.lines) {
    text += fmt::format("{}: {}\n", line.name, line.value);
  }
  return text;
}

Result<std::vector<SessionIdentity::Line>> parse_identity(std::string_view text) {
  std::vector<SessionIdentity::Line> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const std::size_t colon = line.find(": ");
    if (end == std::string_view::npos || colon == std::string_view::npos) {
      return corrupt("a line of the identity is no name and value");
    }
    lines.push_back({std::string(line.substr(0, colon)), std::string(line.substr(colon + 2))});
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string identity_difference(const std::vector<SessionIdentity::Line>& saved,
                                const SessionIdentity& wanted) {
  for (std::size_t i = 0; i < wanted.lines.size(); ++i) {
    const SessionIdentity::Line& now = wanted.lines[i];
    if (i >= saved.size() || saved[i].name != now.name) {
      return fmt::format("it does not say which {} it was made with", now.name);
    }
    if (saved[i].value != now.value) {
      return fmt::format("it was made with another {}: {}, this is {}", now.name,
                         printable(saved[i].value), now.value);
    }
  }
  if (saved.size() == wanted.lines.size()) return {};
  return fmt::format("it was made with {}", printable(saved[wanted.lines.size()].name));
}

}  // namespace minfer::engine

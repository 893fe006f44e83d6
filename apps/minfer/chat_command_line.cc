#include "chat_command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "help.h"

namespace minfer::app {
namespace {

constexpr ChatCommandRow kRows[] = {
#define COMMAND(id, name, aliases, argument, help) \
  {ChatCommand::k##id, name, aliases, argument, help},
#include "chat_commands.def"
#undef COMMAND
};

constexpr std::size_t kHelpColumn = 24;
constexpr std::string_view kBlanks = " \t\n";

/// Calls `use` with each name of a row until it gives true.
template <class Use>
bool any_name(const ChatCommandRow& row, const Use& use) {
  if (use(row.name)) return true;
  for (std::string_view rest = row.aliases; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find(' '));
    if (use(name)) return true;
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
  }
  return false;
}

/// Insertions, deletions, changes, and exchanges of neighbours (optimal string alignment).
std::size_t slips_between(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

const ChatCommandRow* nearest(std::string_view word) {
  constexpr std::size_t kLongest = 12;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (word.empty() || word.size() > kLongest || !std::ranges::all_of(word, is_letter)) {
    return nullptr;
  }
  std::string lower(word);
  for (char& c : lower) c = static_cast<char>(c | 0x20);
  // Short words lie near to each other by chance.
  std::size_t best = word.size() < 5 ? 1 : 2;
  const ChatCommandRow* found = nullptr;
  for (const ChatCommandRow& row : kRows) {
    any_name(row, [&](std::string_view name) {
      const std::size_t slips = slips_between(lower, name);
      if (name.size() < 3) return false;
      if (slips < best || (slips == best && found == nullptr)) {
        best = slips;
        found = &row;
      }
      return false;
    });
  }
  return found;
}

}  // namespace

std::span<const ChatCommandRow> chat_command_table() { return kRows; }

ChatLine classify_chat_line(std::string_view text) {
  ChatLine line;
  line.text = text;
  if (text.starts_with(" /")) line.text.erase(0, 1);
  if (!text.starts_with('/')) return line;
  line.word = text.substr(0, text.find_first_of(kBlanks));
  const std::string_view word = std::string_view(line.word).substr(1);
  for (const ChatCommandRow& row : kRows) {
    if (!any_name(row, [&](std::string_view name) { return name == word; })) continue;
    line.kind = ChatLineKind::kCommand;
    line.row = &row;
    std::string_view rest = text.substr(line.word.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
    line.text = rest.substr(0, rest.find_last_not_of(kBlanks) + 1);
    return line;
  }
  line.row = nearest(word);
  if (line.row != nullptr) line.kind = ChatLineKind::kNearMiss;
  return line;
}

std::string complete_chat_command(std::string_view text) {
  if (!text.starts_with('/') || text.find_first_of(kBlanks) != std::string_view::npos) return {};
  const std::string_view word = text.substr(1);
  std::vector<std::string_view> names;
  for (const ChatCommandRow& row : kRows) {
    any_name(row, [&](std::string_view name) {
      if (name.starts_with(word)) names.push_back(name);
      return false;
    });
  }
  if (names.empty()) return {};
  std::string_view common = names.front();
  for (const std::string_view name : names) {
    std::size_t same = 0;
    while (same < std::min(common.size(), name.size()) && common[same] == name[same]) ++same;
    common = common.substr(0, same);
  }
  return std::string(common.substr(word.size())) + (names.size() == 1 ? " " : "");
}

std::string chat_command_help(std::size_t width) {
  std::string text;
  for (const ChatCommandRow& row : kRows) {
    std::string left = fmt::format("/{}", row.name);
    any_name(row, [&](std::string_view name) {
      if (name != row.name) left += fmt::format(", /{}", name);
      return false;
    });
    if (!row.argument.empty()) left += fmt::format(" {}", row.argument);
    append_help_line(text, left, row.help, kHelpColumn, width);
  }
  append_help_line(text, "\\ at the end", "goes on in a new line, as Alt+Enter and Ctrl+J do",
                   kHelpColumn, width);
  append_help_line(text, "\"\"\"", "opens and closes a text of many lines", kHelpColumn, width);
  append_help_line(text, "a blank in front", "makes a command text", kHelpColumn, width);
  return text;
}

}  // namespace minfer::app

#include "help.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/arithmetic_version.h"

namespace minfer::app {
namespace {

const CommandRow& command_row(CommandBit command) {
  return *std::find_if(command_table().begin(), command_table().end(),
                       [&](const CommandRow& row) { return row.bit == command; });
}

std::string spelling(const OptionRow& row) {
  std::string text = row.short_name != 0 ? fmt::format("-{}, ", row.short_name) : "    ";
  text += "--" + std::string(row.name);
  if (!row.value.empty()) text += " " + std::string(row.value);
  return text;
}

std::vector<std::string_view> groups_of(std::uint32_t commands) {
  std::vector<std::string_view> groups;
  for (const OptionRow& row : option_table()) {
    if ((row.commands & commands) != 0 && std::ranges::find(groups, row.group) == groups.end()) {
      groups.push_back(row.group);
    }
  }
  return groups;
}

constexpr std::size_t kWidth = 80;

constexpr std::size_t kColumn = 32;

/// Appends `words` from column `indent` on; lines end before `width`.
void append_wrapped(std::string& text, std::string_view words, std::size_t indent,
                    std::size_t width) {
  std::size_t at = indent;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    const std::string_view word = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
    if (at > indent && at + 1 + word.size() > width) {
      text += fmt::format("\n{:{}}", "", indent);
      at = indent;
    } else if (at > indent) {
      text += ' ';
      ++at;
    }
    text += word;
    at += word.size();
  }
  text += '\n';
}

void append_line(std::string& text, std::string_view left, std::string_view right) {
  append_help_line(text, left, right, kColumn, kWidth);
}

}  // namespace

void append_help_line(std::string& text, std::string_view left, std::string_view right,
                      std::size_t column, std::size_t width) {
  if (left.size() + 4 <= column) {
    text += fmt::format("  {:<{}}", left, column - 2);
  } else {
    text += fmt::format("  {}\n{:{}}", left, "", column);
  }
  append_wrapped(text, right, column, width);
}

std::string version_line() {
  return fmt::format("minfer {} (arithmetic version {})", MINFER_VERSION, kArithmeticVersion);
}

std::string help_text(CommandBit command) {
  const CommandRow& row = command_row(command);
  std::string text;
  if (command == kRun) {
    text += version_line() + ": runs large language models from GGUF files.\n\n";
    text += "Usage\n";
    for (const CommandRow& each : command_table()) append_line(text, each.usage, each.help);
    text += "\nExamples\n";
    text += "  minfer model.gguf \"Why is the sky blue?\"\n";
    text += "  git diff | minfer model.gguf \"Write the commit message\"\n";
    text += "  minfer bench model.gguf\n";
  } else {
    text += fmt::format("{}\n  {}\n", row.usage, row.help);
  }
  for (std::string_view group : groups_of(command)) {
    text += fmt::format("\n{}\n", group);
    for (const OptionRow& option : option_table()) {
      if (option.group != group || (option.commands & command) == 0) continue;
      const bool plain = option.default_text == "off" || option.default_text == "none";
      append_line(text, spelling(option),
                  plain ? std::string(option.help)
                        : fmt::format("{} [{}]", option.help, option.default_text));
    }
  }
  if (command == kRun) {
    text += "\n";
    append_line(text, "-h, --help", "this text; minfer COMMAND --help for a command's");
    append_line(text, "--version", "the version");
    text += "\nEnvironment (empty and 0 are off)\n";
    for (const EnvSwitchRow& each : env_switch_table()) append_line(text, each.name, each.help);
    text += '\n';
    append_wrapped(text,
                   "Every option may stand in ~/.config/minfer/config.toml or as MINFER_ARG_NAME; "
                   "the command line wins.",
                   0, kWidth);
  }
  return text;
}

std::string options_markdown() {
  std::string text =
      "# Options\n\nMade from the table in `apps/minfer/options.cc` by `make docs`; a test "
      "compares "
      "them.\n";
  for (const CommandRow& command : command_table()) {
    text += fmt::format("\n## `{}`\n\n{}.\n\n| option | default | |\n|---|---|---|\n",
                        command.usage, command.help);
    for (const OptionRow& row : option_table()) {
      if ((row.commands & command.bit) == 0) continue;
      std::string name = spelling(row);
      name.erase(0, name.find_first_not_of(' '));
      std::replace(name.begin(), name.end(), '|', '/');
      text += fmt::format("| `{}` | {} | {} |\n", name, row.default_text, row.help);
    }
  }
  text +=
      "\n## Environment\n\nEmpty and `0` are off. Every option may also stand as `MINFER_ARG_NAME` "
      "(`MINFER_ARG_TOP_K=20`) or in `~/.config/minfer/config.toml`, at the top level, in a "
      "section named like the command (`[run]`, `[bench]`, ...) or in `[model.\"NAME\"]`.\n\n"
      "| variable | |\n|---|---|\n";
  for (const EnvSwitchRow& row : env_switch_table()) {
    text += fmt::format("| `{}` | {} |\n", row.name, row.help);
  }
  text += "\n## Other spellings\n\n| spelling | means |\n|---|---|\n";
  for (const Alias& alias : alias_table()) {
    text += fmt::format("| `{}` | `{}` |\n", alias.spelling, alias.means);
  }
  return text;
}

}  // namespace minfer::app

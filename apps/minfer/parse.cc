#include "parse.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/printable.h"

namespace minfer::app {
namespace {

std::string dashed(const OptionRow& row) { return "--" + std::string(row.name); }

bool is_switch(const OptionRow& row) { return std::holds_alternative<bool Options::*>(row.target); }

std::string env_name(const OptionRow& row) {
  std::string name = "MINFER_ARG_";
  for (char c : row.name) name += c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return name;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1,
                             previous[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
    }
    std::swap(previous, current);
  }
  return previous[b.size()];
}

/// ": did you mean --temp?", or nothing when no name is near.
std::string nearest_option(std::string_view wanted, CommandBit command) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, wanted.size() / 3) + 1;
  for (const OptionRow& row : option_table()) {
    if ((row.commands & command) == 0) continue;
    const std::size_t distance = edit_distance(wanted, dashed(row));
    if (distance < best_distance) {
      best_distance = distance;
      best = dashed(row);
    }
  }
  return best.empty() ? "" : fmt::format(": did you mean {}?", best);
}

Status bad_value(std::string_view source, std::string_view text, std::string_view expected) {
  return invalid_argument(fmt::format("{} does not take \"{}\": {}", source, text, expected));
}

std::string range_text(const OptionRow& row, bool whole) {
  return fmt::format("it takes a {}number from {} to {}", whole ? "whole " : "", row.low, row.high);
}

template <class T>
Status set_number(const OptionRow& row, std::string_view source, std::string_view text, T& to) {
  T value{};
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto [rest, error] = std::from_chars(begin, end, value);
  constexpr bool kWhole = std::is_integral_v<T>;
  if (error != std::errc() || rest != end || !(static_cast<double>(value) >= row.low) ||
      !(static_cast<double>(value) <= row.high)) {
    // In some programs -t is the temperature.
    if (row.name == "threads" && text.find('.') != std::string_view::npos) {
      return bad_value(source, text, "it is the number of threads; temperature is --temp");
    }
    return bad_value(source, text, range_text(row, kWhole));
  }
  to = value;
  return ok_status();
}

Status set_bool(std::string_view source, std::string_view text, bool& to) {
  for (const std::string_view yes : {"1", "true", "on", "yes"}) {
    if (text == yes) return to = true, ok_status();
  }
  for (const std::string_view no : {"", "0", "false", "off", "no"}) {
    if (text == no) return to = false, ok_status();
  }
  return bad_value(source, text, "it is a switch: true or false");
}

Status check_choice(const OptionRow& row, std::string_view source, std::string_view text) {
  if (row.value.find('|') == std::string_view::npos) return ok_status();
  const std::string choices = "|" + std::string(row.value.substr(0, row.value.find(','))) + "|";
  if (choices.find("|" + std::string(text) + "|") != std::string::npos && !text.empty()) {
    return ok_status();
  }
  return bad_value(source, text, fmt::format("it takes {}", row.value));
}

bool is_list(const OptionRow& row) { return row.value.ends_with(",..."); }

/// Sets `to` to the values of `text` between commas, each read by `read_one`(text, item).
template <class T, class Read>
Status set_list(std::string_view text, ListOf<T>& to, const Read& read_one) {
  ListOf<T> list;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    MINFER_RETURN_IF_ERROR(read_one(text.substr(0, comma), list.items.emplace_back()));
    if (more) text.remove_prefix(comma + 1);
  }
  to = std::move(list);
  return ok_status();
}

/// Whether the value is one file; an empty one is a shell's variable that was not set.
bool names_file(const OptionRow& row) {
  constexpr std::string_view kFiles[] = {"FILE", "F.json", "F.dot", "P.kv"};
  return std::ranges::find(kFiles, row.value) != std::end(kFiles);
}

/// Reads `text` into the option's place. `source` stands in messages: "--temp", "MINFER_ARG_TEMP".
Status set_option(const OptionRow& row, std::string_view source, std::string_view text,
                  Options& options) {
  if (text.empty() && names_file(row)) {
    return bad_value(source, text, "it takes the name of a file");
  }
  // "auto" stands for 0 where that is a number's default.
  const bool is_text = std::holds_alternative<std::string Options::*>(row.target);
  if (row.default_text == "auto" && text == "auto" && !is_text) text = "0";
  if (const auto* at = std::get_if<bool Options::*>(&row.target)) {
    return set_bool(source, text, options.*(*at));
  }
  if (const auto* at = std::get_if<std::int32_t Options::*>(&row.target)) {
    return set_number(row, source, text, options.*(*at));
  }
  if (const auto* at = std::get_if<std::int64_t Options::*>(&row.target)) {
    return set_number(row, source, text, options.*(*at));
  }
  if (const auto* at = std::get_if<float Options::*>(&row.target)) {
    return set_number(row, source, text, options.*(*at));
  }
  if (const auto* at = std::get_if<std::string Options::*>(&row.target)) {
    MINFER_RETURN_IF_ERROR(check_choice(row, source, text));
    if (text.empty() && row.default_text != "none") {
      return bad_value(source, text, fmt::format("the default is {}", row.default_text));
    }
    options.*(*at) = text;
    return ok_status();
  }
  if (const auto* at = std::get_if<NumberList Options::*>(&row.target)) {
    return set_list(text, options.*(*at), [&](std::string_view item, std::int32_t& to) {
      return set_number(row, source, item, to);
    });
  }
  if (const auto* at = std::get_if<ChoiceList Options::*>(&row.target)) {
    return set_list(text, options.*(*at), [&](std::string_view item, std::string& to) {
      to = item;
      return check_choice(row, source, item);
    });
  }
  (options.*std::get<std::vector<std::string> Options::*>(row.target)).emplace_back(text);
  return ok_status();
}

const OptionRow* find_option(std::string_view name, std::uint32_t commands) {
  for (const OptionRow& row : option_table()) {
    if (row.name == name && (row.commands & commands) != 0) return &row;
  }
  return nullptr;
}

/// Replaces peers' and earlier spellings; they may carry a value behind "=".
std::vector<std::string> replace_aliases(std::span<const std::string> arguments,
                                         CommandBit command) {
  std::vector<std::string> result;
  bool literal = false;
  for (const std::string& argument : arguments) {
    literal = literal || argument == "--";
    const std::size_t equals = argument.find('=');
    const std::string head = argument.substr(0, equals);
    const auto alias = std::find_if(alias_table().begin(), alias_table().end(),
                                    [&](const Alias& a) { return a.spelling == head; });
    // -p is a length in bench.
    if (literal || alias == alias_table().end() || (command == kBench && head == "-p")) {
      result.push_back(argument);
      continue;
    }
    result.push_back(std::string(alias->means) +
                     (equals == std::string::npos ? "" : argument.substr(equals)));
  }
  return result;
}

/// Peers' word for the chat is an option: `arguments` without it, `command` changed by it.
std::vector<std::string> take_chat_word(std::span<const std::string> arguments,
                                        CommandBit& command) {
  std::vector<std::string> others;
  bool literal = false;
  for (const std::string& argument : arguments) {
    literal = literal || argument == "--";
    const bool chat = !literal && std::ranges::any_of(alias_table(), [&](const Alias& alias) {
      return alias.means == "chat" && alias.spelling == argument;
    });
    if (chat && (command & (kRun | kChat)) != 0) {
      command = kChat;
    } else {
      others.push_back(argument);
    }
  }
  return others;
}

/// A section is a command, "run", or "model" and a name.
Status check_section(const std::string& path, const CLI::ConfigItem& item) {
  if (item.parents.empty() || item.parents[0] == "run" || item.parents[0] == "model") {
    return ok_status();
  }
  std::string names = "run, model.NAME";
  for (const CommandRow& row : command_table()) {
    if (row.name.empty()) continue;
    if (row.name == item.parents[0]) return ok_status();
    names += fmt::format(", {}", row.name);
  }
  return invalid_argument(
      fmt::format("{}: unknown section [{}]; there are {}", path, item.parents[0], names));
}

/// A configuration file's items that hold for `command`, later ones winning: the top level, then
/// the command's section, then the model's.
Status read_config(const std::string& path, Invocation& invocation,
                   const std::set<std::string, std::less<>>& already) {
  std::error_code none;
  if (path.empty() || !std::filesystem::exists(path, none)) return ok_status();
  if (!std::filesystem::is_regular_file(path, none)) {
    return invalid_argument(fmt::format("{}: the configuration is no ordinary file", path));
  }
  std::ifstream file(path);
  if (!file) return invalid_argument(fmt::format("{}: the configuration cannot be read", path));
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigTOML().from_config(file);
  } catch (const CLI::Error& error) {
    return invalid_argument(fmt::format("{}: {}", path, error.what()));
  }
  const auto row_of = [](CommandBit bit) {
    return *std::find_if(command_table().begin(), command_table().end(),
                         [&](const CommandRow& row) { return row.bit == bit; });
  };
  const std::string section(row_of(invocation.command).name.empty()
                                ? std::string_view("run")
                                : row_of(invocation.command).name);
  const std::string& model = invocation.options.model;
  const std::string stem = model.substr(model.find_last_of('/') + 1);
  const auto holds = [&](const CLI::ConfigItem& item) -> int {
    if (item.parents.empty()) return 1;
    if (item.parents.size() == 1 && item.parents[0] == section) return 2;
    if (item.parents.size() >= 2 && item.parents[0] == "model") {
      std::string name = item.parents[1];
      for (std::size_t i = 2; i < item.parents.size(); ++i) name += "." + item.parents[i];
      std::erase(name, '"');  // the reader cuts a quoted name at its dots and leaves the quotes
      if (name == model || name == stem || name + ".gguf" == stem) return 3;
    }
    return 0;
  };
  for (const CLI::ConfigItem& item : items) {
    MINFER_RETURN_IF_ERROR(check_section(path, item));
  }
  for (int level = 1; level <= 3; ++level) {
    for (const CLI::ConfigItem& item : items) {
      // The reader marks where a section opens and closes by items of these names.
      if (item.name == "++" || item.name == "--") continue;
      if (item.name.starts_with('[')) {
        return invalid_argument(
            fmt::format("{}: the section \"{}\" is not closed by a ]", path, printable(item.name)));
      }
      if (find_option(item.name, ~0U) == nullptr) {
        return invalid_argument(fmt::format("{}: unknown option \"{}\"{}", path, item.name,
                                            nearest_option("--" + item.name, invocation.command)));
      }
      if (holds(item) != level || already.contains(item.name)) continue;
      const OptionRow* row = find_option(item.name, invocation.command);
      if (row == nullptr) continue;  // another command's
      const std::string source = fmt::format("{}: {}", path, item.name);
      std::vector<std::string> texts = item.inputs;
      if (is_list(*row)) texts = {fmt::format("{}", fmt::join(item.inputs, ","))};
      for (const std::string& text : texts) {
        MINFER_RETURN_IF_ERROR(set_option(*row, source, text, invocation.options));
      }
      invocation.given.insert(item.name);
    }
  }
  return ok_status();
}

Status read_environment(const Surroundings& surroundings, Invocation& invocation,
                        const std::set<std::string, std::less<>>& already) {
  constexpr std::string_view kPrefix = "MINFER_ARG_";
  for (const std::string& variable : surroundings.environment) {
    const std::string name = variable.substr(0, variable.find('='));
    if (!name.starts_with(kPrefix)) continue;
    const bool known = std::any_of(option_table().begin(), option_table().end(),
                                   [&](const OptionRow& row) { return env_name(row) == name; });
    if (known) continue;
    std::string option = "--";
    for (const char c : name.substr(kPrefix.size())) {
      option += c == '_' ? '-' : static_cast<char>(std::tolower(c));
    }
    return invalid_argument(fmt::format("{}: there is no option {}{}", name, option,
                                        nearest_option(option, invocation.command)));
  }
  if (surroundings.getenv == nullptr) return ok_status();
  for (const OptionRow& row : option_table()) {
    if ((row.commands & invocation.command) == 0 || already.contains(row.name)) continue;
    const std::string name = env_name(row);
    const char* value = surroundings.getenv(name.c_str());
    if (value == nullptr || *value == '\0') continue;
    if (auto* list = std::get_if<std::vector<std::string> Options::*>(&row.target)) {
      (invocation.options.*(*list)).clear();  // wins over the configuration file
    }
    MINFER_RETURN_IF_ERROR(set_option(row, name, value, invocation.options));
    invocation.given.insert(std::string(row.name));
  }
  return ok_status();
}

/// What the library found on the command line, before any value is read.
struct RawArguments {
  std::vector<std::pair<const OptionRow*, std::string>> values;
  std::vector<std::string> positionals;
};

void declare_options(CLI::App& app, CommandBit command, RawArguments& raw) {
  for (const OptionRow& row : option_table()) {
    if ((row.commands & command) == 0) continue;
    std::string names = dashed(row);
    if (row.short_name != 0) names += std::string(",-") + row.short_name;
    if (is_switch(row)) {
      app.add_flag_callback(names, [&raw, &row] { raw.values.emplace_back(&row, "1"); });
      continue;
    }
    CLI::Option* option = app.add_option_function<std::vector<std::string>>(
        names, [&raw, &row](const std::vector<std::string>& values) {
          for (const std::string& value : values) raw.values.emplace_back(&row, value);
        });
    option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    option->allow_extra_args(false);
  }
}

std::string_view answer_to(std::string_view spelling) {
  for (const Answer& row : answer_table()) {
    if (row.spelling == spelling) return row.answer;
  }
  return {};
}

Status explain(const CLI::ParseError& error, std::span<const std::string> arguments,
               CommandBit command, const CLI::App& app) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    for (const std::string& extra : app.remaining()) {
      const std::string name = extra.substr(0, extra.find('='));
      if (name.starts_with("-") && name.size() > 1) {
        return invalid_argument(
            fmt::format("unknown option {}{}", name, nearest_option(name, command)));
      }
    }
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && !arguments.empty()) {
    for (std::size_t i = arguments.size(); i-- > 0;) {
      if (!arguments[i].starts_with("-")) continue;
      const std::string name = arguments[i].substr(0, arguments[i].find('='));
      return invalid_argument(fmt::format("{} needs a value", name));
    }
  }
  return invalid_argument(error.what());
}

}  // namespace

std::string nearest_command(std::string_view word) {
  for (const CommandRow& row : command_table()) {
    if (row.name.empty() || edit_distance(word, row.name) > 2) continue;
    return fmt::format(". Did you mean \"minfer {}\"?", row.name);
  }
  return {};
}

Status set_option_by_name(std::string_view name, std::string_view text, Invocation& invocation) {
  const OptionRow* row = find_option(name, invocation.command);
  if (row == nullptr) return invalid_argument(fmt::format("there is no option {}", name));
  MINFER_RETURN_IF_ERROR(set_option(*row, name, text, invocation.options));
  invocation.given.insert(std::string(name));
  return ok_status();
}

Surroundings process_surroundings() {
  Surroundings surroundings;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    surroundings.environment.emplace_back(*variable);
  }
  surroundings.getenv = [](const char* name) -> const char* { return std::getenv(name); };
  const char* xdg = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  if (xdg != nullptr && *xdg != '\0') {
    surroundings.config_path = std::string(xdg) + "/minfer/config.toml";
  } else if (home != nullptr && *home != '\0') {
    surroundings.config_path = std::string(home) + "/.config/minfer/config.toml";
  }
  return surroundings;
}

Result<Invocation> parse_command_line(std::span<const std::string> arguments,
                                      const Surroundings& surroundings) {
  Invocation invocation;
  for (const CommandRow& row : command_table()) {
    if (!arguments.empty() && !row.name.empty() && arguments[0] == row.name) {
      invocation.command = row.bit;
      arguments = arguments.subspan(1);
      break;
    }
  }
  const std::vector<std::string> others = take_chat_word(arguments, invocation.command);
  arguments = others;
  if (!arguments.empty() && !arguments[0].starts_with("-")) {
    const std::string_view answer = answer_to(arguments[0]);
    std::error_code error;
    if (!answer.empty() && !std::filesystem::exists(arguments[0], error)) {
      return invalid_argument(fmt::format("\"{}\" {}", arguments[0], answer));
    }
  }
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    const std::string name = argument.substr(0, argument.find('='));
    if (const std::string_view answer = answer_to(name); name.starts_with("-") && !answer.empty()) {
      return invalid_argument(fmt::format("{}: {}", name, answer));
    }
  }
  const std::vector<std::string> spelled = replace_aliases(arguments, invocation.command);

  CLI::App app;
  RawArguments raw;
  std::string model;
  std::string prompt;
  std::vector<std::string> positionals;
  app.set_help_flag();
  app.add_flag("--help,-h", invocation.help);
  app.add_flag("--version", invocation.version);
  CLI::Option* model_option = app.add_option("--model", model);
  CLI::Option* prompt_option = app.add_option("--prompt", prompt);
  app.add_option("arguments", positionals);
  declare_options(app, invocation.command, raw);
  try {
    std::vector<std::string> reversed(spelled.rbegin(), spelled.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return explain(error, spelled, invocation.command, app);
  }
  if (invocation.help || invocation.version) return invocation;

  const bool takes_prompt = (invocation.command & (kRun | kChat | kTokenize | kPrime)) != 0;
  std::size_t next = 0;
  if (model_option->count() > 0) {
    invocation.options.model = model;
  } else if (next < positionals.size()) {
    invocation.options.model = positionals[next++];
  }
  if (prompt_option->count() > 0 && takes_prompt) {
    invocation.options.prompt = prompt;
    invocation.options.has_prompt = true;
  } else if (next < positionals.size() && takes_prompt) {
    invocation.options.prompt = positionals[next++];
    invocation.options.has_prompt = true;
  }
  if (next < positionals.size()) {
    return invalid_argument(fmt::format("\"{}\" is one argument too many{}{}", positionals[next],
                                        takes_prompt ? ": put the whole prompt in quotes" : "",
                                        nearest_command(invocation.options.model)));
  }

  std::set<std::string, std::less<>> on_command_line;
  for (const auto& [row, value] : raw.values) on_command_line.insert(std::string(row->name));
  MINFER_RETURN_IF_ERROR(read_config(surroundings.config_path, invocation, on_command_line));
  MINFER_RETURN_IF_ERROR(read_environment(surroundings, invocation, on_command_line));
  for (const auto& [row, value] : raw.values) {
    MINFER_RETURN_IF_ERROR(set_option(*row, dashed(*row), value, invocation.options));
    invocation.given.insert(std::string(row->name));
  }
  return invocation;
}

}  // namespace minfer::app

// From argv, the environment and the configuration file to Options.
//
// The command line wins over MINFER_ARG_NAME, which wins over the configuration file, which wins
// over the defaults. Everything is checked here, before a model is touched.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "options.h"

namespace minfer::app {

struct Invocation {
  CommandBit command = kRun;
  Options options;
  /// Names of the options that the command line, the environment or the configuration gave.
  std::set<std::string, std::less<>> given;
  bool help = false;
  bool version = false;

  [[nodiscard]] bool was_given(std::string_view name) const { return given.contains(name); }
};

/// What the parser reads beside argv; tests hand in their own.
struct Surroundings {
  /// The value of an environment variable, or null.
  const char* (*getenv)(const char* name) = nullptr;
  /// All of the environment, "NAME=value" each.
  std::vector<std::string> environment;
  /// Path of the configuration file; empty or absent file: none.
  std::string config_path;
};
/// The process's environment and ~/.config/minfer/config.toml (XDG_CONFIG_HOME is respected).
Surroundings process_surroundings();

/// ". Did you mean "minfer bench"?" where `word` nearly is a command, else nothing.
std::string nearest_command(std::string_view word);

/// Gives an option of the invocation's command another value, as if it stood on the command line.
/// kInvalidArgument: no such option, or a value that it does not take.
Status set_option_by_name(std::string_view name, std::string_view text, Invocation& invocation);

/// `arguments`: argv without the program's name. Errors (kInvalidArgument) are one line: what is
/// wrong, the allowed range, the nearest valid name.
Result<Invocation> parse_command_line(std::span<const std::string> arguments,
                                      const Surroundings& surroundings);

}  // namespace minfer::app

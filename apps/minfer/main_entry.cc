#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <new>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "help.h"
#include "signals.h"
#include "terminal.h"

namespace minfer::app {
namespace {

/// The first file that is opened would take the place of a standard stream that the program was
/// started without, and get its text. What is put there reads and writes as a closed one does.
void hold_closed_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    const int held = ::open("/", O_PATH);
    if (held >= 0 && held != fd) ::close(held);
  }
}

int report(const Status& status) {
  print_error(status.message());
  return received_signal() != 0 ? 128 + received_signal() : exit_status(status.code());
}

Result<int> dispatch(const Invocation& invocation, const EnvSwitches& env) {
  switch (invocation.command) {
    case kRun:
      return run_command(invocation, env);
    case kChat:
      return chat_command(invocation, env);
    case kTokenize:
      return tokenize_command(invocation, env);
    case kLogits:
      return logits_command(invocation, env);
    case kInfo:
      return info_command(invocation, env);
    case kRender:
      return render_command(invocation, env);
    case kPrime:
      return prime_command(invocation, env);
    case kBench:
      return bench_command(invocation, env);
  }
  return internal_error("a command without a function");
}

std::string usage_of(CommandBit command) {
  for (const CommandRow& row : command_table()) {
    if (row.bit == command) return std::string(row.usage);
  }
  return {};
}

/// Without a prompt, a terminal is for a chat: what `minfer chat` makes of the same arguments, or
/// nothing.
std::optional<Invocation> as_chat(std::vector<std::string> arguments,
                                  const Result<Invocation>& run) {
  const bool plain = !run.ok() || (run->command == kRun && !run->options.has_prompt &&
                                   run->options.files.empty() && !run->help && !run->version &&
                                   !run->options.model.empty());
  if (!plain || !is_terminal(STDIN_FILENO) || !is_terminal(STDOUT_FILENO)) return {};
  arguments.insert(arguments.begin(), "chat");
  const Result<Invocation> chat = parse_command_line(arguments, process_surroundings());
  const bool possible = chat.ok() && !chat->options.has_prompt && !chat->options.model.empty();
  return possible ? std::optional<Invocation>(*chat) : std::nullopt;
}

int run_program(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  Result<Invocation> parsed = parse_command_line(arguments, process_surroundings());
  if (auto chat = as_chat(arguments, parsed)) parsed = std::move(*chat);
  if (!parsed.ok()) return report(parsed.status());
  Output out;
  if (parsed->help) return out.write(help_text(parsed->command)) ? 0 : report(out.status());
  if (parsed->version) return out.write(version_line() + "\n") ? 0 : report(out.status());
  const bool needs_model = parsed->command != kRender || parsed->options.chat_template.empty();
  if (parsed->options.model.empty() && needs_model) {
    return report(invalid_argument(
        fmt::format("no model given. Usage: {}. Example: minfer model.gguf \"Hello\"",
                    usage_of(parsed->command))));
  }
  const Result<int> status = dispatch(*parsed, read_env_switches());
  if (status.ok()) return *status;
  if (status.status().code() == StatusCode::kNotFound) {
    const std::string hint = nearest_command(parsed->options.model);
    return report(not_found(status.status().message() + hint));
  }
  return report(status.status());
}

}  // namespace

int main_entry(int argc, char** argv) {
  hold_closed_streams();
  install_signal_handlers();
  try {
    return run_program(argc, argv);
  } catch (const std::bad_alloc&) {
    return report(out_of_memory(
        "out of memory: free some, raise the limit (ulimit -v), or lower --ctx-size"));
  }
}

}  // namespace minfer::app

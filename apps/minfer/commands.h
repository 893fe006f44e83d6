// The commands. Each gets a parsed invocation and gives the exit status of the process; errors that
// end a command come back as a Status, which main prints as one line.
#pragma once

#include "base/status.h"
#include "parse.h"

namespace minfer::app {

Result<int> run_command(const Invocation& invocation, const EnvSwitches& env);
Result<int> chat_command(const Invocation& invocation, const EnvSwitches& env);
Result<int> tokenize_command(const Invocation& invocation, const EnvSwitches& env);
Result<int> logits_command(const Invocation& invocation, const EnvSwitches& env);
Result<int> info_command(const Invocation& invocation, const EnvSwitches& env);
Result<int> render_command(const Invocation& invocation, const EnvSwitches& env);
Result<int> prime_command(const Invocation& invocation, const EnvSwitches& env);
Result<int> bench_command(const Invocation& invocation, const EnvSwitches& env);

/// The whole program behind main().
int main_entry(int argc, char** argv);

}  // namespace minfer::app

// Help texts, all made from the tables of options.h.
#pragma once

#include <string>

#include "options.h"

namespace minfer::app {

std::string version_line();
/// `minfer --help` (command kRun: commands and run's options) or `minfer COMMAND --help`.
std::string help_text(CommandBit command);
/// docs/options.md.
std::string options_markdown();

}  // namespace minfer::app

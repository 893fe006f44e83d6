// Help texts, all made from the tables of options.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "options.h"

namespace minfer::app {

std::string version_line();
/// `minfer --help` (command kRun: commands and run's options) or `minfer COMMAND --help`.
std::string help_text(CommandBit command);
/// docs/options.md.
std::string options_markdown();

/// Appends `left`, and `right` from column `column` on, wrapped before `width`.
void append_help_line(std::string& text, std::string_view left, std::string_view right,
                      std::size_t column, std::size_t width);

}  // namespace minfer::app

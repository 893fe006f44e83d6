// Characters as a person sees them: where each ends, and how many columns it takes.
//
// A cluster is an extended grapheme cluster (Unicode 15, UAX #29): a letter with its marks, an
// emoji with its joiners. Widths are those of most terminals.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace minfer::app {

/// The end of the cluster that starts at `at` < text.size(). Takes time by the cluster alone.
std::size_t cluster_end(std::string_view text, std::size_t at);

/// The start of the cluster that ends at `at` > 0. Looks back a bounded way.
std::size_t cluster_begin(std::string_view text, std::size_t at);

struct Shown {
  std::string text;  // what a terminal can be given: controls are symbols, a tab is blanks
  int width = 0;     // columns
};
/// How one cluster is shown.
Shown shown_cluster(std::string_view cluster);

/// Whether the character at `at` belongs to a word: a letter, digit, mark or underscore.
bool in_word(std::string_view text, std::size_t at);

}  // namespace minfer::app

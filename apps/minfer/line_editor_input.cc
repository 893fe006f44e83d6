#include "line_editor_input.h"

namespace minfer::app {
namespace {

constexpr std::string_view kBlock = "\"\"\"";

/// What stands behind the opening """, or nothing.
std::optional<std::string_view> block_of(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos || !text.substr(begin).starts_with(kBlock)) return {};
  return text.substr(begin + kBlock.size());
}

std::string_view without_blanks_behind(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t\n") + 1);
}

bool closed(std::string_view block) { return without_blanks_behind(block).ends_with(kBlock); }

}  // namespace

std::optional<std::string> continued_input(std::string_view text, bool multiline) {
  if (const auto block = block_of(text)) {
    if (closed(*block)) return {};
    return std::string(text) + "\n";
  }
  if (multiline) {
    if (text.empty() || text.ends_with('\n')) return {};
    return std::string(text) + "\n";
  }
  const std::size_t last = text.find_last_not_of('\\');
  const std::size_t backslashes = text.size() - (last == std::string_view::npos ? 0 : last + 1);
  if (backslashes % 2 == 0) return {};
  return std::string(text.substr(0, text.size() - 1)) + "\n";
}

TypedInput finished_input(std::string_view text, bool multiline) {
  if (auto block = block_of(text)) {
    std::string_view inner = *block;
    if (closed(inner)) {
      inner = without_blanks_behind(inner);
      inner.remove_suffix(kBlock.size());
    }
    if (inner.starts_with('\n')) inner.remove_prefix(1);
    if (inner.ends_with('\n')) inner.remove_suffix(1);
    return {std::string(inner), true};
  }
  if (multiline && text.ends_with('\n')) text.remove_suffix(1);
  return {std::string(text), false};
}

}  // namespace minfer::app

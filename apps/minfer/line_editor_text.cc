#include "line_editor_text.h"

#include <algorithm>
#include <cstdint>

#include "base/utf8.h"
#include "terminal.h"
#include "text/unicode.h"

namespace minfer::app {
namespace {

constexpr std::size_t kLookBack = 256;
constexpr std::size_t kMaxCluster = 128;
constexpr char32_t kEmojiStyle = 0xFE0F;
constexpr char32_t kFlagsFrom = 0x1F1E6;  // regional indicators: two make a flag
constexpr char32_t kFlagsTo = 0x1F1FF;
constexpr std::string_view kDottedCircle = "\xE2\x97\x8C";

bool is_plain(char c) { return static_cast<unsigned char>(c) < 0x80; }
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::size_t cluster_end(std::string_view text, std::size_t at) {
  Char left = decode_char(text, at);
  std::size_t end = at + left.length;
  if (end >= text.size() || (is_plain(text[at]) && is_plain(text[end]))) return end;
  std::int32_t state = 0;
  while (end < text.size() && end - at < kMaxCluster) {
    const Char right = decode_char(text, end);
    if (text::ends_cluster(left.code, right.code, state)) break;
    end += right.length;
    left = right;
  }
  return end;
}

std::size_t cluster_begin(std::string_view text, std::size_t at) {
  if (at == 1 || (is_plain(text[at - 1]) && is_plain(text[at - 2]))) return at - 1;
  std::size_t from = at - std::min(at, kLookBack);
  while (from > 0 && continues(text[from])) --from;
  // A line's start is a cluster's start.
  const std::size_t line = text.rfind('\n', at - 2);
  if (line != std::string_view::npos) from = std::max(from, line + 1);
  for (;;) {
    const std::size_t end = cluster_end(text, from);
    if (end >= at) return from;
    from = end;
  }
}

Shown shown_cluster(std::string_view cluster) {
  if (cluster == "\t") return {"    ", 4};
  if (cluster.size() == 1 && is_plain(cluster[0])) return {visible_controls(cluster), 1};
  Shown shown{replace_invalid_utf8(visible_controls(cluster)), 0};
  for (std::size_t at = 0; at < shown.text.size();) {
    const Char c = decode_char(shown.text, at);
    const bool wide = c.code == kEmojiStyle || (c.code >= kFlagsFrom && c.code <= kFlagsTo);
    const int width = wide ? 2 : text::column_width(c.code);
    shown.width = std::max(shown.width, width);
    at += c.length;
  }
  // Marks and joiners without a letter would join what stands in front of them.
  if (shown.width == 0) shown = {std::string(kDottedCircle) + shown.text, 1};
  return shown;
}

bool in_word(std::string_view text, std::size_t at) {
  const Char c = decode_char(text, at);
  return c.code == '_' ||
         (text::classify(c.code) & (text::kLetter | text::kNumber | text::kMark)) != 0;
}

}  // namespace minfer::app

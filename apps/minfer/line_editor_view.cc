#include "line_editor_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "line_editor_text.h"

namespace minfer::app {
namespace {

constexpr std::string_view kEraseRight = "\x1b[K";
constexpr std::string_view kEraseBelow = "\x1b[J";
constexpr std::string_view kPlain = "\x1b[0m";

/// Rows being filled from left to right.
class RowWriter {
 public:
  explicit RowWriter(int columns) : columns_(columns) {}

  void begin_row() { layout_.rows.emplace_back(); }
  void prompt(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) at = cluster(text, at);
    layout_.rows.back().prompt_size = layout_.rows.back().text.size();
  }
  /// Adds the cluster at `at`; gives its end.
  std::size_t cluster(std::string_view text, std::size_t at) {
    const std::size_t end = cluster_end(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    if (end == at + 1 && byte >= 0x20 && byte < 0x7F) {
      make_room(1);
      layout_.rows.back().text += text[at];
      ++layout_.rows.back().width;
      return end;
    }
    Shown shown = shown_cluster(text.substr(at, end - at));
    if (shown.width > columns_) shown = {"?", 1};
    make_room(shown.width);
    layout_.rows.back().text += shown.text;
    layout_.rows.back().width += shown.width;
    return end;
  }
  void mark_cursor() {
    // Behind a full row the cursor stands at the start of the next.
    make_room(1);
    layout_.cursor_row = layout_.rows.size() - 1;
    layout_.cursor_column = layout_.rows.back().width;
  }
  ViewLayout take() { return std::move(layout_); }

 private:
  void make_room(int width) {
    if (layout_.rows.back().width + width > columns_) begin_row();
  }

  int columns_;
  ViewLayout layout_;
};

}  // namespace

ViewLayout layout(const ViewText& view, int columns) {
  RowWriter writer(std::max(columns, 1));
  // A prompt that would leave no room for text is left out.
  const bool narrow = columns < 8;
  writer.begin_row();
  if (!narrow) writer.prompt(view.prompt);
  for (std::size_t at = 0;;) {
    if (at == view.cursor) writer.mark_cursor();
    if (at >= view.text.size()) break;
    if (view.text[at] == '\n') {
      writer.begin_row();
      if (!narrow) writer.prompt(view.next_line);
      ++at;
    } else {
      at = writer.cluster(view.text, at);
    }
  }
  return writer.take();
}

std::string LineView::update(const ViewText& view, int rows, int columns) {
  ViewLayout wanted = layout(view, columns);
  const auto height = static_cast<std::size_t>(std::max(rows, 1));
  const std::size_t n_rows = wanted.rows.size();
  top_ = std::min(top_, n_rows > height ? n_rows - height : 0);
  if (wanted.cursor_row < top_) top_ = wanted.cursor_row;
  if (wanted.cursor_row >= top_ + height) top_ = wanted.cursor_row - height + 1;
  const auto first = wanted.rows.begin() + static_cast<std::ptrdiff_t>(top_);
  const auto n_shown = static_cast<std::ptrdiff_t>(std::min(height, n_rows - top_));
  const std::vector<ViewRow> window(first, first + n_shown);

  std::string out;
  for (std::size_t i = 0; i < window.size(); ++i) {
    if (i >= shown_.size()) {
      if (i > 0) {
        go_to(out, i - 1, 0);
        out += "\r\n";
        cursor_row_ = i;
      }
      shown_.emplace_back();
    }
    if (shown_[i] != window[i]) write_row(out, i, window[i]);
  }
  if (shown_.size() > window.size()) {
    go_to(out, window.size(), 0);
    out += kEraseBelow;
    shown_.resize(window.size());
  }
  go_to(out, wanted.cursor_row - top_, wanted.cursor_column);
  return out;
}

std::string LineView::clear_resized(int columns) {
  std::size_t above = 0;
  for (std::size_t i = 0; i < cursor_row_; ++i) {
    const int width = std::max(shown_[i].width, 1);
    above += static_cast<std::size_t>((width + columns - 1) / columns);
  }
  above += static_cast<std::size_t>(cursor_column_ / columns);
  std::string out = "\r";
  if (above > 0) out += fmt::format("\x1b[{}A", above);
  out += kEraseBelow;
  forget();
  return out;
}

std::string LineView::leave() {
  std::string out;
  if (!shown_.empty()) go_to(out, shown_.size() - 1, 0);
  out += "\r\n";
  forget();
  return out;
}

std::string LineView::clear() {
  std::string out;
  go_to(out, 0, 0);
  out += kEraseBelow;
  forget();
  return out;
}

std::string LineView::clear_screen() {
  forget();
  return "\x1b[H\x1b[2J";
}

void LineView::forget() {
  shown_.clear();
  cursor_row_ = 0;
  cursor_column_ = 0;
  top_ = 0;
}

void LineView::go_to(std::string& out, std::size_t row, int column) {
  if (row < cursor_row_) out += fmt::format("\x1b[{}A", cursor_row_ - row);
  if (row > cursor_row_) out += fmt::format("\x1b[{}B", row - cursor_row_);
  out += '\r';
  if (column > 0) out += fmt::format("\x1b[{}C", column);
  cursor_row_ = row;
  cursor_column_ = column;
}

void LineView::write_row(std::string& out, std::size_t at, const ViewRow& row) {
  ViewRow& old = shown_[at];
  // What both rows begin with stays, as far as its columns are beyond doubt.
  std::size_t same = 0;
  const std::size_t limit = std::min(old.text.size(), row.text.size());
  while (same < limit && old.text[same] == row.text[same] &&
         static_cast<unsigned char>(row.text[same]) < 0x80) {
    ++same;
  }
  if (old.prompt_size != row.prompt_size || same < row.prompt_size) same = 0;
  // A mark that follows changes what stands in front of it.
  const bool joined =
      same > 0 && same < row.text.size() && static_cast<unsigned char>(row.text[same]) >= 0x80;
  if (joined) same = same - 1 < row.prompt_size ? 0 : same - 1;
  go_to(out, at, static_cast<int>(same));
  std::string_view rest = row.text;
  if (same == 0 && row.prompt_size > 0) {
    if (!prompt_style_.empty()) out += prompt_style_;
    out += rest.substr(0, row.prompt_size);
    if (!prompt_style_.empty()) out += kPlain;
    rest.remove_prefix(row.prompt_size);
  } else {
    rest.remove_prefix(same);
  }
  out += rest;
  if (old.width > row.width) out += kEraseRight;
  old = row;
}

}  // namespace minfer::app

// LineView: how an edited text stands on the terminal, and the bytes that bring it there.
//
// layout() breaks prompt and text into rows; LineView remembers the rows that the terminal shows
// and writes only what differs. Rows are ended by hand, never by the terminal's own wrapping, so
// the cursor's place is always known. Of a text with more rows than the terminal, a window around
// the cursor is shown. Thread-safety: none; one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace minfer::app {

struct ViewRow {
  std::string text;             // printable
  std::size_t prompt_size = 0;  // bytes at its start that are the prompt's
  int width = 0;                // columns
  bool operator==(const ViewRow&) const = default;
};

struct ViewLayout {
  std::vector<ViewRow> rows;  // at least one
  std::size_t cursor_row = 0;
  int cursor_column = 0;  // < the number of columns
};

struct ViewText {
  std::string_view prompt;     // in front of the first line
  std::string_view next_line;  // in front of every other line
  std::string_view text;
  std::size_t cursor = 0;  // byte of `text`
};

/// The rows of a terminal with `columns` columns. No row is wider; a cluster that is wider than the
/// terminal is shown as "?". Takes time linear in the text.
ViewLayout layout(const ViewText& view, int columns);

class LineView {
 public:
  /// `prompt_style`: the escape sequence that the prompt is written under; empty: none.
  explicit LineView(std::string prompt_style) : prompt_style_(std::move(prompt_style)) {}

  /// The bytes that make a terminal of this size show `view`.
  std::string update(const ViewText& view, int rows, int columns);
  /// The terminal has another width, and may have wrapped what it shows anew: clears it.
  std::string clear_resized(int columns);
  /// Leaves what is shown as it is: the cursor goes to the line below.
  std::string leave();
  /// Clears what is shown: the cursor goes to where it began.
  std::string clear();
  /// Clears the whole terminal.
  std::string clear_screen();
  /// The terminal's contents are unknown, the cursor stands in an empty line.
  void forget();

 private:
  void go_to(std::string& out, std::size_t row, int column);
  void write_row(std::string& out, std::size_t at, const ViewRow& row);

  std::string prompt_style_;
  std::vector<ViewRow> shown_;
  std::size_t cursor_row_ = 0;  // of the terminal's cursor in shown_
  int cursor_column_ = 0;
  std::size_t top_ = 0;  // the first row of the layout that is shown
};

}  // namespace minfer::app

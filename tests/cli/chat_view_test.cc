// The view of the line editor: what a terminal shows after the bytes that it was given.
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "base/utf8.h"
#include "line_editor_text.h"
#include "line_editor_view.h"

namespace minfer::app {
namespace {

/// As much of a terminal as the view uses: a grid that scrolls, a cursor, pending wrap.
class Screen {
 public:
  Screen(int rows, int columns) : columns_(columns) {
    grid_.assign(static_cast<std::size_t>(rows), Row(static_cast<std::size_t>(columns), " "));
  }

  void write(std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      if (bytes[at] == '\x1b') {
        at = sequence(bytes, at + 2);
      } else if (bytes[at] == '\r') {
        column_ = 0;
        ++at;
      } else if (bytes[at] == '\n') {
        line_feed();
        ++at;
      } else {
        const std::size_t end = cluster_end(bytes, at);
        put(bytes.substr(at, end - at));
        at = end;
      }
    }
  }

  /// The rows, without blanks behind them, and the cursor.
  [[nodiscard]] std::vector<std::string> rows() const {
    std::vector<std::string> result;
    for (const Row& row : grid_) {
      std::string text;
      for (const std::string& cell : row) text += cell;
      result.push_back(text.substr(0, text.find_last_not_of(' ') + 1));
    }
    return result;
  }
  [[nodiscard]] int row() const { return row_; }
  [[nodiscard]] int column() const { return column_; }
  [[nodiscard]] bool overflowed() const { return overflowed_; }

 private:
  using Row = std::vector<std::string>;

  Row& current() { return grid_[static_cast<std::size_t>(row_)]; }

  void put(std::string_view cluster) {
    const int width = shown_cluster(cluster).width;
    if (column_ + width > columns_) {
      overflowed_ = true;
      return;
    }
    for (int i = 0; i < width; ++i) {
      current()[static_cast<std::size_t>(column_ + i)] = i == 0 ? std::string(cluster) : "";
    }
    column_ += width;  // == columns_: a wrap is pending
  }

  void line_feed() {
    if (row_ + 1 < static_cast<int>(grid_.size())) {
      ++row_;
      return;
    }
    grid_.erase(grid_.begin());
    grid_.emplace_back(static_cast<std::size_t>(columns_), " ");
  }

  std::size_t sequence(std::string_view bytes, std::size_t at) {
    int number = 0;
    bool given = false;
    for (; bytes[at] >= '0' && bytes[at] <= '?'; ++at) {
      if (bytes[at] == ';') number = 0;
      if (bytes[at] >= '0' && bytes[at] <= '9') number = number * 10 + (bytes[at] - '0');
      given = true;
    }
    const int n = given ? number : 1;
    const auto erase_from = [&](int column) {
      for (int i = column; i < columns_; ++i) current()[static_cast<std::size_t>(i)] = " ";
    };
    if (bytes[at] == 'A') row_ = std::max(0, row_ - n);
    if (bytes[at] == 'B') row_ = std::min(static_cast<int>(grid_.size()) - 1, row_ + n);
    if (bytes[at] == 'C') column_ = std::min(columns_ - 1, column_ + n);
    if (bytes[at] == 'K') erase_from(std::min(column_, columns_ - 1));
    if (bytes[at] == 'J') {
      erase_from(column_);
      for (std::size_t i = static_cast<std::size_t>(row_) + 1; i < grid_.size(); ++i) {
        grid_[i].assign(static_cast<std::size_t>(columns_), " ");
      }
    }
    return at + 1;
  }

  std::vector<Row> grid_;
  int columns_;
  int row_ = 0;
  int column_ = 0;
  bool overflowed_ = false;
};

std::vector<std::string> texts(const ViewLayout& layout) {
  std::vector<std::string> result;
  for (const ViewRow& row : layout.rows) result.push_back(row.text);
  return result;
}

TEST(Layout, wraps_by_columns) {
  using Rows = std::vector<std::string>;
  EXPECT_EQ(texts(layout({"> ", "  ", "hello", 5}, 80)), Rows{"> hello"});
  EXPECT_EQ(texts(layout({"> ", "  ", "a\nb", 0}, 80)), (Rows{"> a", "  b"}));
  EXPECT_EQ(texts(layout({"> ", "  ", "123456789", 0}, 10)), (Rows{"> 12345678", "9"}));
  // A wide character does not fit into the last column.
  EXPECT_EQ(texts(layout({"> ", "  ", "1234567\xE6\xAD\xAA", 0}, 10)),
            (Rows{"> 1234567", "\xE6\xAD\xAA"}));
  const ViewLayout full = layout({"> ", "  ", "12345678", 8}, 10);
  EXPECT_EQ(texts(full), (Rows{"> 12345678", ""}));
  EXPECT_EQ(full.cursor_row, 1U);
  EXPECT_EQ(full.cursor_column, 0);
  EXPECT_EQ(texts(layout({"> ", "  ", "ab", 0}, 1)), (Rows{"a", "b"}));
  EXPECT_EQ(texts(layout({"> ", "  ", "\xE6\xAD\xAA", 0}, 1)), Rows{"?"});
  EXPECT_EQ(texts(layout({"> ", "  ", "\x1b[31m\t|", 0}, 80)), Rows{"> \xE2\x90\x9B[31m    |"});
}

TEST(LineView, a_key_at_the_end_writes_itself_alone) {
  LineView view("\x1b[1m");
  std::string text = "hello";
  EXPECT_EQ(view.update({"> ", "  ", text, 5}, 24, 80), "\r\x1b[1m> \x1b[0mhello\r\x1b[7C");
  text += '!';
  EXPECT_EQ(view.update({"> ", "  ", text, 6}, 24, 80), "\r\x1b[7C!\r\x1b[8C");
}

/// What a terminal of this size shows of a layout that does not fit, and where.
void expect_window(const Screen& screen, const ViewLayout& wanted, int rows) {
  const std::vector<std::string> shown = screen.rows();
  const auto first = wanted.cursor_row - static_cast<std::size_t>(screen.row());
  ASSERT_LE(first, wanted.cursor_row);
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
    std::string expected = first + i < wanted.rows.size() ? wanted.rows[first + i].text : "";
    expected.resize(expected.find_last_not_of(' ') + 1);
    ASSERT_EQ(shown[i], expected) << "row " << i << " from " << first;
  }
  ASSERT_EQ(screen.column(), wanted.cursor_column);
  ASSERT_FALSE(screen.overflowed());
}

TEST(LineView, any_edits_leave_the_terminal_right) {
  const char* const pieces[] = {"a",
                                "bc ",
                                "\n",
                                "e\xCC\x81",
                                "\xE6\xAD\xAA",
                                "\t",
                                "\x1b",
                                "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9",
                                "a long run of words"};
  std::mt19937 random(11);
  for (const int columns : {1, 2, 7, 8, 9, 20, 80}) {
    for (const int rows : {1, 3, 24}) {
      Screen screen(rows, columns);
      LineView view("\x1b[1;32m");
      std::string text;
      for (int step = 0; step < 400; ++step) {
        std::vector<std::size_t> places;
        for (std::size_t at = 0; at < text.size(); at = cluster_end(text, at)) places.push_back(at);
        places.push_back(text.size());
        std::size_t cursor = places[random() % places.size()];
        if (random() % 3 != 0) {
          text.insert(cursor, pieces[random() % std::size(pieces)]);
        } else if (random() % 8 == 0) {
          text.clear();
        } else {
          text.erase(cursor, places[random() % places.size()]);
        }
        cursor = std::min(cursor, text.size());
        while (cursor > 0 && cluster_end(text, cluster_begin(text, cursor)) != cursor) --cursor;
        if (cursor > 0 && cursor < text.size() &&
            cluster_end(text, cluster_begin(text, cursor)) != cursor) {
          cursor = 0;
        }
        std::size_t whole = 0;
        while (whole < cursor) whole = cluster_end(text, whole);
        const ViewText wanted{"> ", "  ", text, whole};
        screen.write(view.update(wanted, rows, columns));
        expect_window(screen, layout(wanted, columns), rows);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(LineView, a_text_of_100_kb_is_edited_at_once) {
  std::string text(100'000, 'x');
  for (std::size_t i = 50; i < text.size(); i += 50) text[i] = '\n';
  LineView view("");
  std::size_t written = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int key = 0; key < 20; ++key) {
    text += 'y';
    written += view.update({"> ", "  ", text, text.size()}, 24, 80).size();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_LT(written, 24U * 80 + 20 * 40);
}

TEST(LineView, leaves_the_line_below) {
  Screen screen(5, 20);
  LineView view("");
  screen.write(view.update({"> ", "  ", "one\ntwo\nthree", 1}, 5, 20));
  screen.write(view.leave());
  EXPECT_EQ(screen.row(), 3);
  screen.write(view.update({"> ", "  ", "x", 1}, 5, 20));
  EXPECT_EQ(screen.rows()[3], "> x");
  screen.write(view.clear());
  EXPECT_EQ(screen.rows()[3], "");
  EXPECT_EQ(screen.rows()[2], "  three");
}

}  // namespace
}  // namespace minfer::app

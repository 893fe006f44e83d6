// EditBuffer: the text that is being edited, and its cursor.
//
// Owns: the text, the cursor, and what was last killed.
// Invariants: the text is well-formed UTF-8 if what is inserted is; the cursor stands between
// clusters (line_editor_text.h). An operation that has nothing to do changes nothing.
// Thread-safety: none; one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace minfer::app {

class EditBuffer {
 public:
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::size_t cursor() const { return cursor_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }

  /// Replaces the text; the cursor goes to its end.
  void set(std::string text);
  void insert(std::string_view text);

  void left();
  void right();
  void word_left();
  void word_right();
  /// To the start or end of the line that the cursor is in.
  void line_start();
  void line_end();
  /// To the line above or below, in the same column as far as it has one. False: there is none.
  bool up();
  bool down();

  void erase_left();
  void erase_right();
  void transpose();

  // What is killed can be yanked; kills in a row are yanked together.
  void kill_to_line_end();  // at the end: the line break
  void kill_to_line_start();
  void kill_word_left();  // a word ends at punctuation
  void kill_word_right();
  void kill_blank_word_left();  // a word ends at blanks
  void yank();

 private:
  [[nodiscard]] std::size_t line_begin_of(std::size_t at) const;
  [[nodiscard]] std::size_t line_end_of(std::size_t at) const;
  [[nodiscard]] std::size_t word_begin() const;
  [[nodiscard]] std::size_t word_end() const;
  [[nodiscard]] std::size_t column_of(std::size_t at) const;
  void move_to_column(std::size_t line_begin, std::size_t column);
  void kill(std::size_t begin, std::size_t end);
  void moved(std::size_t cursor);

  std::string text_;
  std::size_t cursor_ = 0;
  std::string killed_;
  bool killing_ = false;  // the last operation was a kill
};

}  // namespace minfer::app

#include "line_editor_buffer.h"

#include <algorithm>
#include <utility>

#include "line_editor_text.h"

namespace minfer::app {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

}  // namespace

void EditBuffer::moved(std::size_t cursor) {
  cursor_ = cursor;
  killing_ = false;
  // What was inserted or erased may have joined its neighbours.
  if (cursor > 0 && cursor < text_.size()) {
    cursor_ = std::max(cursor, cluster_end(text_, cluster_begin(text_, cursor)));
  }
}

void EditBuffer::set(std::string text) {
  text_ = std::move(text);
  moved(text_.size());
}

void EditBuffer::insert(std::string_view text) {
  text_.insert(cursor_, text);
  moved(cursor_ + text.size());
}

void EditBuffer::left() {
  if (cursor_ > 0) moved(cluster_begin(text_, cursor_));
}

void EditBuffer::right() {
  if (cursor_ < text_.size()) moved(cluster_end(text_, cursor_));
}

void EditBuffer::word_left() { moved(word_begin()); }
void EditBuffer::word_right() { moved(word_end()); }
void EditBuffer::line_start() { moved(line_begin_of(cursor_)); }
void EditBuffer::line_end() { moved(line_end_of(cursor_)); }

bool EditBuffer::up() {
  const std::size_t begin = line_begin_of(cursor_);
  if (begin == 0) return false;
  move_to_column(line_begin_of(begin - 1), column_of(cursor_));
  return true;
}

bool EditBuffer::down() {
  const std::size_t end = line_end_of(cursor_);
  if (end == text_.size()) return false;
  move_to_column(end + 1, column_of(cursor_));
  return true;
}

void EditBuffer::erase_left() {
  if (cursor_ == 0) return;
  const std::size_t begin = cluster_begin(text_, cursor_);
  text_.erase(begin, cursor_ - begin);
  moved(begin);
}

void EditBuffer::erase_right() {
  if (cursor_ == text_.size()) return;
  text_.erase(cursor_, cluster_end(text_, cursor_) - cursor_);
  moved(cursor_);
}

void EditBuffer::transpose() {
  const std::size_t begin = line_begin_of(cursor_);
  std::size_t end = cursor_;
  if (end < text_.size() && text_[end] != '\n') end = cluster_end(text_, end);
  if (end <= begin) return;
  const std::size_t second = cluster_begin(text_, end);
  if (second <= begin) return;
  const std::size_t first = cluster_begin(text_, second);
  const std::string swapped =
      text_.substr(second, end - second) + text_.substr(first, second - first);
  text_.replace(first, end - first, swapped);
  moved(end);
}

void EditBuffer::kill_to_line_end() {
  const std::size_t end = line_end_of(cursor_);
  kill(cursor_, end == cursor_ ? std::min(end + 1, text_.size()) : end);
}

void EditBuffer::kill_to_line_start() { kill(line_begin_of(cursor_), cursor_); }
void EditBuffer::kill_word_left() { kill(word_begin(), cursor_); }
void EditBuffer::kill_word_right() { kill(cursor_, word_end()); }

void EditBuffer::kill_blank_word_left() {
  std::size_t begin = cursor_;
  while (begin > 0 && is_blank(text_[begin - 1])) --begin;
  while (begin > 0 && !is_blank(text_[begin - 1])) --begin;
  kill(begin, cursor_);
}

void EditBuffer::yank() { insert(killed_); }

std::size_t EditBuffer::line_begin_of(std::size_t at) const {
  const std::size_t found = at == 0 ? std::string::npos : text_.rfind('\n', at - 1);
  return found == std::string::npos ? 0 : found + 1;
}

std::size_t EditBuffer::line_end_of(std::size_t at) const {
  return std::min(text_.find('\n', at), text_.size());
}

std::size_t EditBuffer::word_begin() const {
  std::size_t at = cursor_;
  const auto in_front = [&](bool word) {
    while (at > 0) {
      const std::size_t begin = cluster_begin(text_, at);
      if (in_word(text_, begin) != word) break;
      at = begin;
    }
  };
  in_front(false);
  in_front(true);
  return at;
}

std::size_t EditBuffer::word_end() const {
  std::size_t at = cursor_;
  for (const bool word : {false, true}) {
    while (at < text_.size() && in_word(text_, at) == word) at = cluster_end(text_, at);
  }
  return at;
}

std::size_t EditBuffer::column_of(std::size_t at) const {
  std::size_t column = 0;
  for (std::size_t i = line_begin_of(at); i < at; i = cluster_end(text_, i)) ++column;
  return column;
}

void EditBuffer::move_to_column(std::size_t line_begin, std::size_t column) {
  std::size_t at = line_begin;
  const std::size_t end = line_end_of(line_begin);
  for (; column > 0 && at < end; --column) at = cluster_end(text_, at);
  moved(std::min(at, end));
}

void EditBuffer::kill(std::size_t begin, std::size_t end) {
  if (begin >= end) return;
  const std::string cut = text_.substr(begin, end - begin);
  if (!killing_) killed_.clear();
  // What stood in front of the cursor stood in front of what was killed before.
  killed_ = begin < cursor_ ? cut + killed_ : killed_ + cut;
  text_.erase(begin, end - begin);
  moved(begin);
  killing_ = true;
}

}  // namespace minfer::app

#include "line_editor.h"

#include <fmt/format.h>

#include <utility>

#include "line_editor_input.h"
#include "line_editor_text.h"

namespace minfer::app {

EditAction LineEditor::handle(const KeyEvent& key) {
  if (searching_ && search_key(key)) return EditAction::kNone;
  switch (key.key) {
    case Key::kText:
    case Key::kPaste:
      buffer_.insert(key.text);
      break;
    case Key::kControl:
      return control(key.letter);
    case Key::kAlt:
      alt(key.letter);
      break;
    case Key::kEnter:
      return enter();
    case Key::kNewLine:
      buffer_.insert("\n");
      break;
    case Key::kTab:
      if (buffer_.text().starts_with('/') && options_.completion) {
        if (buffer_.cursor() == buffer_.text().size()) {
          buffer_.insert(options_.completion(buffer_.text()));
        }
      } else {
        buffer_.insert("\t");
      }
      break;
    case Key::kBackspace:
      buffer_.erase_left();
      break;
    case Key::kDelete:
      buffer_.erase_right();
      break;
    case Key::kUp:
      if (!buffer_.up()) older();
      break;
    case Key::kDown:
      if (!buffer_.down()) newer();
      break;
    case Key::kLeft:
      buffer_.left();
      break;
    case Key::kRight:
      buffer_.right();
      break;
    case Key::kWordLeft:
      buffer_.word_left();
      break;
    case Key::kWordRight:
      buffer_.word_right();
      break;
    case Key::kHome:
      buffer_.line_start();
      break;
    case Key::kEnd:
      buffer_.line_end();
      break;
    case Key::kEscape:
      break;
  }
  return EditAction::kNone;
}

EditAction LineEditor::enter() {
  const std::string& text = buffer_.text();
  if (text.find_first_not_of(" \t\n") == std::string::npos) {
    buffer_.set({});
    return EditAction::kNone;
  }
  if (options_.multiline && options_.is_command && options_.is_command(text)) {
    return EditAction::kSubmit;
  }
  const auto more = continued_input(text, options_.multiline);
  if (!more) return EditAction::kSubmit;
  if (buffer_.cursor() == text.size()) {
    buffer_.set(*more);
  } else {
    buffer_.insert("\n");
  }
  return EditAction::kNone;
}

EditAction LineEditor::control(char letter) {
  switch (letter) {
    case 'a':
      buffer_.line_start();
      break;
    case 'b':
      buffer_.left();
      break;
    case 'c':
      if (buffer_.empty()) return EditAction::kInterrupt;
      take();
      return EditAction::kCleared;
    case 'd':
      if (buffer_.empty()) return EditAction::kEnd;
      buffer_.erase_right();
      break;
    case 'e':
      buffer_.line_end();
      break;
    case 'f':
      buffer_.right();
      break;
    case 'k':
      buffer_.kill_to_line_end();
      break;
    case 'l':
      return EditAction::kClearScreen;
    case 'n':
      if (!buffer_.down()) newer();
      break;
    case 'p':
      if (!buffer_.up()) older();
      break;
    case 'r':
      before_search_ = buffer_.text();
      searching_ = true;
      found_ = true;
      query_.clear();
      match_ = history_.entries().size();
      search_prompt_ = "(search) : ";
      break;
    case 't':
      buffer_.transpose();
      break;
    case 'u':
      buffer_.kill_to_line_start();
      break;
    case 'w':
      buffer_.kill_blank_word_left();
      break;
    case 'y':
      buffer_.yank();
      break;
    case 'z':
      return EditAction::kSuspend;
    default:
      break;
  }
  return EditAction::kNone;
}

void LineEditor::alt(char letter) {
  switch (letter) {
    case 'b':
      return buffer_.word_left();
    case 'f':
      return buffer_.word_right();
    case 'd':
      return buffer_.kill_word_right();
    case '\x7f':
      return buffer_.kill_word_left();
    default:
      return;
  }
}

void LineEditor::older() {
  const auto entries = history_.entries();
  if (back_ >= entries.size()) return;
  if (back_ == 0) draft_ = buffer_.text();
  ++back_;
  buffer_.set(entries[entries.size() - back_]);
}

void LineEditor::newer() {
  if (back_ == 0) return;
  --back_;
  const auto entries = history_.entries();
  buffer_.set(back_ == 0 ? std::exchange(draft_, {}) : entries[entries.size() - back_]);
}

/// True: the key was the search's. Any other ends it and keeps what was found.
bool LineEditor::search_key(const KeyEvent& key) {
  const bool again = key == KeyEvent{Key::kControl, {}, 'r'};
  const bool given_up = key.key == Key::kEscape || key == KeyEvent{Key::kControl, {}, 'g'} ||
                        key == KeyEvent{Key::kControl, {}, 'c'};
  if (given_up) {
    end_search(false);
    return true;
  }
  if (again) {
    search_from(match_);
  } else if (key.key == Key::kText) {
    query_ += key.text;
    search_from(found_ ? std::min(match_ + 1, history_.entries().size()) : match_);
  } else if (key.key == Key::kBackspace) {
    if (!query_.empty()) query_.erase(cluster_begin(query_, query_.size()));
    search_from(history_.entries().size());
  } else {
    end_search(true);
    return false;
  }
  search_prompt_ = fmt::format("({}search) {}: ", found_ ? "" : "nothing found, ", query_);
  return true;
}

/// Shows the newest entry before number `end` that holds the query.
void LineEditor::search_from(std::size_t end) {
  const auto entries = history_.entries();
  found_ = query_.empty();
  if (query_.empty()) return;
  while (end > 0) {
    --end;
    if (entries[end].find(query_) == std::string::npos) continue;
    match_ = end;
    found_ = true;
    buffer_.set(entries[end]);
    return;
  }
}

void LineEditor::end_search(bool keep) {
  searching_ = false;
  if (!keep) buffer_.set(before_search_);
}

ViewText LineEditor::view() const {
  return {searching_ ? search_prompt_ : options_.prompt, options_.next_line, buffer_.text(),
          buffer_.cursor()};
}

ViewText LineEditor::view_of_all() const {
  return {options_.prompt, options_.next_line, buffer_.text(), buffer_.text().size()};
}

std::string LineEditor::take() {
  std::string text = buffer_.text();
  buffer_.set({});
  back_ = 0;
  draft_.clear();
  searching_ = false;
  return text;
}

}  // namespace minfer::app

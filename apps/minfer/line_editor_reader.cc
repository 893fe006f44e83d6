#include "line_editor_reader.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include "base/write_file.h"
#include "signals.h"
#include "terminal_mode.h"

namespace minfer::app {
namespace {

constexpr int kSequenceMilliseconds = 50;
constexpr std::string_view kPromptStyle = "\x1b[1;32m";
constexpr std::string_view kLeaveHint = "(Ctrl+C again or Ctrl+D leaves)";

enum class Ready : std::uint8_t { kInput, kSignal, kQuiet, kFailed };

/// Waits for input or a signal, for at most `milliseconds` (-1: for ever).
Ready wait_for_input(int milliseconds) {
  std::array<pollfd, 2> descriptors = {pollfd{STDIN_FILENO, POLLIN, 0},
                                       pollfd{wake_descriptor(), POLLIN, 0}};
  const int n = ::poll(descriptors.data(), descriptors.size(), milliseconds);
  if (n < 0) return errno == EINTR ? Ready::kSignal : Ready::kFailed;
  if (n == 0) return Ready::kQuiet;
  return descriptors[1].revents != 0 ? Ready::kSignal : Ready::kInput;
}

}  // namespace

TerminalReader::TerminalReader(ReaderOptions options, const History& history)
    : options_(std::move(options)),
      editor_(options_.editor, history),
      view_(options_.color ? std::string(kPromptStyle) : std::string()) {}

TerminalReader::Read TerminalReader::read(std::string start) {
  set_terminal_mode(TerminalMode::kEditing);
  if (!start.empty()) editor_.set(std::move(start));
  interrupted_ = false;
  idle_ = true;
  std::optional<Read> result = use_keys();
  while (!result) {
    switch (wait()) {
      case Event::kKeys:
        result = use_keys();
        break;
      case Event::kQuiet:
        typed_ = false;
        idle_ = options_.idle && !editor_.searching() && options_.idle(editor_.text());
        break;
      case Event::kRedraw:
        draw();
        break;
      case Event::kNone:
      case Event::kGone:
        result = Read{};
        break;
    }
  }
  set_terminal_mode(TerminalMode::kBusy);
  return std::move(*result);
}

char TerminalReader::ask(std::string_view question) {
  set_terminal_mode(TerminalMode::kEditing);
  write(question);
  idle_ = false;
  while (keys_.empty() && wait() != Event::kGone) {
  }
  char answer = 0;
  if (!keys_.empty()) {
    const KeyEvent key = std::move(keys_.front());
    keys_.pop_front();
    if (key.key == Key::kText) answer = key.text.front();
    if (answer >= 'A' && answer <= 'Z') answer = static_cast<char>(answer + 0x20);
  }
  write("\r\n");
  set_terminal_mode(TerminalMode::kBusy);
  return answer;
}

TerminalReader::Event TerminalReader::wait() {
  int timeout = -1;
  if (decoder_.waiting()) {
    timeout = kSequenceMilliseconds;
  } else if (idle_) {
    timeout = typed_ && options_.pause ? options_.pause() : 0;
  }
  clear_wake();
  Event event = after_signal();
  while (event == Event::kNone) {
    switch (wait_for_input(timeout)) {
      case Ready::kInput:
        // A signal that came with a key goes first: the key is drawn on the terminal as it is now.
        event = after_signal();
        if (event == Event::kNone) event = read_keys() ? Event::kKeys : Event::kGone;
        break;
      case Ready::kSignal:
        clear_wake();
        event = after_signal();
        break;
      case Ready::kQuiet:
        event = Event::kQuiet;
        break;
      case Ready::kFailed:
        event = Event::kGone;
        break;
    }
  }
  if (event != Event::kQuiet) return event;
  if (!decoder_.waiting()) return Event::kQuiet;
  std::vector<KeyEvent> keys;
  decoder_.give_up(keys);
  keys_.insert(keys_.end(), keys.begin(), keys.end());
  return Event::kKeys;
}

/// What signals ask for, or kNone.
TerminalReader::Event TerminalReader::after_signal() {
  if (received_signal() == SIGINT) {
    take_signal();  // as if it had been typed
    keys_.push_back({Key::kControl, {}, 'c'});
    return Event::kKeys;
  }
  if (received_signal() != 0) return Event::kGone;
  if (take_resumed()) {
    view_.forget();
    write("\r\x1b[J");
    return Event::kRedraw;
  }
  if (!take_resized()) return Event::kNone;
  write(view_.clear_resized(terminal_size().columns));
  return Event::kRedraw;
}

bool TerminalReader::read_keys() {
  char bytes[1 << 16];
  const ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  std::vector<KeyEvent> keys;
  decoder_.feed({bytes, static_cast<std::size_t>(n)}, keys);
  keys_.insert(keys_.end(), std::make_move_iterator(keys.begin()),
               std::make_move_iterator(keys.end()));
  return n > 0;
}

std::optional<TerminalReader::Read> TerminalReader::use_keys() {
  while (!keys_.empty()) {
    const KeyEvent key = std::move(keys_.front());
    keys_.pop_front();
    const EditAction action = editor_.handle(key);
    idle_ = true;
    typed_ = true;
    const bool leave =
        action == EditAction::kEnd || (action == EditAction::kInterrupt && interrupted_);
    if (leave || action == EditAction::kSubmit) {
      const TerminalSize size = terminal_size();
      write(view_.update(editor_.view_of_all(), size.rows, size.columns));
      write(view_.leave());
      if (leave) return Read{};
      return Read{End::kText, editor_.take()};
    }
    interrupted_ = action == EditAction::kInterrupt;
    act(action);
  }
  draw();
  return {};
}

void TerminalReader::act(EditAction action) {
  if (action == EditAction::kClearScreen) {
    write(view_.clear_screen());
  } else if (action == EditAction::kInterrupt) {
    write(view_.clear() + std::string(kLeaveHint) + "\r\n");
  } else if (action == EditAction::kSuspend) {
    draw();
    write(view_.leave());
    suspend_process();
  }
}

void TerminalReader::draw() {
  const TerminalSize size = terminal_size();
  write(view_.update(editor_.view(), size.rows, size.columns));
}

void TerminalReader::write(std::string_view bytes) {
  // A terminal that is gone shows itself by the end of its input.
  if (!bytes.empty()) static_cast<void>(write_all(STDOUT_FILENO, bytes));
}

}  // namespace minfer::app

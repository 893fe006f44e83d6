#include "line_editor_reader.h"

#include <poll.h>
#include <unistd.h>

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

/// Waits for input, for at most `milliseconds` (-1: for ever). A change of the terminal that came
/// before ends it too. How many descriptors are ready; -1: interrupted, -2: failed.
int wait_for_input(int milliseconds, bool& redraw, bool& resized) {
  sigset_t block;
  sigset_t before;
  sigemptyset(&block);
  for (const int signal : {SIGWINCH, SIGCONT, SIGINT, SIGTERM, SIGHUP}) sigaddset(&block, signal);
  sigprocmask(SIG_BLOCK, &block, &before);
  redraw = take_resumed();
  resized = take_resized();
  int ready = -1;
  if (received_signal() != 0) {
    ready = 0;
  } else if (!redraw && !resized) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    timespec timeout{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
    ready = ::ppoll(&input, 1, milliseconds < 0 ? nullptr : &timeout, &before);
    if (ready < 0) ready = errno == EINTR ? -1 : -2;
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return ready;
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
        idle_ = options_.idle && !editor_.searching() && options_.idle(editor_.text());
        break;
      case Event::kRedraw:
        draw();
        break;
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
    timeout = 0;
  }
  bool redraw = false;
  bool resized = false;
  int ready = -1;
  while (ready == -1 && !redraw && !resized) ready = wait_for_input(timeout, redraw, resized);
  // A signal that came with a key goes first: the key is drawn on the terminal as it is now.
  redraw = take_resumed() || redraw;
  resized = take_resized() || resized;
  if (received_signal() == SIGINT) {
    take_signal();  // as if it had been typed
    keys_.push_back({Key::kControl, {}, 'c'});
    return Event::kKeys;
  }
  if (received_signal() != 0) return Event::kGone;
  if (redraw) {
    view_.forget();
    write("\r\x1b[J");
    return Event::kRedraw;
  }
  if (resized) {
    write(view_.clear_resized(terminal_size().columns));
    return Event::kRedraw;
  }
  if (ready == -2) return Event::kGone;
  if (ready > 0) return read_keys() ? Event::kKeys : Event::kGone;
  if (!decoder_.waiting()) return Event::kQuiet;
  std::vector<KeyEvent> keys;
  decoder_.give_up(keys);
  keys_.insert(keys_.end(), keys.begin(), keys.end());
  return Event::kKeys;
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

#include "chat_input.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "chat_command_line.h"
#include "signals.h"
#include "terminal.h"

namespace minfer::app {
namespace {

bool is_command(std::string_view text) {
  return classify_chat_line(text).kind == ChatLineKind::kCommand;
}

class TerminalInput final : public ChatInput {
 public:
  TerminalInput(ReaderOptions options, History& history)
      : multiline_(options.editor.multiline),
        history_(history),
        reader_(with_commands(std::move(options)), history) {}

  std::optional<TypedInput> next(std::string start) override {
    const TerminalReader::Read read = reader_.read(std::move(start));
    if (read.end == TerminalReader::End::kLeave) return {};
    const Status added = history_.add(read.text);
    if (!added.ok() && !std::exchange(complained_, true)) print_error(added.message());
    return finished_input(read.text, multiline_);
  }

  std::optional<char> ask(std::string_view question) override { return reader_.ask(question); }
  [[nodiscard]] bool interactive() const override { return true; }

 private:
  static ReaderOptions with_commands(ReaderOptions options) {
    options.editor.is_command = is_command;
    options.editor.completion = complete_chat_command;
    return options;
  }

  bool multiline_;
  History& history_;
  TerminalReader reader_;
  bool complained_ = false;  // of the history's file
};

class LineInput final : public ChatInput {
 public:
  explicit LineInput(bool multiline) : multiline_(multiline), prompts_(is_terminal(STDIN_FILENO)) {}

  std::optional<TypedInput> next(std::string) override {
    std::string text;
    bool any = false;
    for (;;) {
      if (prompts_) print_note(any ? "  " : "> ");
      const auto line = read_line();
      if (!line) break;
      text += *line;
      any = true;
      const bool command = multiline_ && is_command(text);
      const auto more = command ? std::nullopt : continued_input(text, multiline_);
      if (more) {
        text = *more;
      } else if (text.find_first_not_of(" \t\n") == std::string::npos) {
        text.clear();
        any = false;
      } else {
        return finished_input(text, multiline_);
      }
    }
    if (text.find_first_not_of(" \t\n") == std::string::npos) return {};
    return finished_input(text, multiline_);
  }

  std::optional<char> ask(std::string_view) override { return {}; }
  [[nodiscard]] bool interactive() const override { return false; }

 private:
  /// A line without its end; nothing at the end of the input, or where a signal came.
  std::optional<std::string> read_line() {
    std::size_t searched = 0;
    for (;;) {
      const std::size_t end = waiting_.find('\n', searched);
      if (end != std::string::npos) {
        std::string line = waiting_.substr(0, end);
        waiting_.erase(0, end + 1);
        if (line.ends_with('\r')) line.pop_back();
        return line;
      }
      searched = waiting_.size();
      char bytes[1 << 16];
      const ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
      if (n < 0 && errno == EINTR && received_signal() == 0) continue;
      if (n <= 0) break;
      waiting_.append(bytes, static_cast<std::size_t>(n));
    }
    if (waiting_.empty()) return {};
    return std::exchange(waiting_, {});
  }

  bool multiline_;
  bool prompts_;
  std::string waiting_;
};

}  // namespace

std::unique_ptr<ChatInput> make_terminal_input(ReaderOptions options, History& history) {
  return std::make_unique<TerminalInput>(std::move(options), history);
}

std::unique_ptr<ChatInput> make_line_input(bool multiline) {
  return std::make_unique<LineInput>(multiline);
}

}  // namespace minfer::app

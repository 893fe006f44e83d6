#include "chat_screen.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/write_file.h"
#include "terminal_mode.h"

namespace minfer::app {
namespace {

constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kPlain = "\x1b[0m";

}  // namespace

bool use_color(const Options& options) {
  if (options.color != "auto") return options.color == "on";
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool unwanted = no_color != nullptr && *no_color != '\0';
  const bool dumb = term == nullptr || *term == '\0' || std::string_view(term) == "dumb";
  return is_terminal(STDOUT_FILENO) && !unwanted && !dumb;
}

void ChatScreen::progress(double share) {
  if (!bar_) bar_.emplace("prefill", !options_.quiet);
  bar_->update(share);
}

/// Escape sequences of our own go past Output, which would make symbols of them.
void ChatScreen::set_dim(bool dim) {
  if (dim == dim_) return;
  dim_ = dim;
  if (options_.color && status().ok()) {
    static_cast<void>(write_all(STDOUT_FILENO, dim ? kDim : kPlain));
  }
}

bool ChatScreen::thought(std::string_view piece) {
  if (piece.empty() || (options_.hide_thoughts && thinking_)) return status().ok();
  bar_.reset();
  begun_ = true;
  thinking_ = true;
  if (options_.hide_thoughts) piece = "(thinking)";
  if (!out_.terminal()) {
    print_note(piece);
    thought_open_ = !piece.ends_with('\n');
    return status().ok();
  }
  set_dim(true);
  line_open_ = !piece.ends_with('\n');
  return out_.write(piece);
}

bool ChatScreen::answer(std::string_view piece) {
  if (piece.empty()) return status().ok();
  bar_.reset();
  if (dim_ && line_open_) out_.write("\n");
  set_dim(false);
  if (thought_open_) print_note("\n");
  thought_open_ = thinking_ = false;
  begun_ = true;
  line_open_ = !piece.ends_with('\n');
  return out_.write(piece);
}

void ChatScreen::end_reply() {
  bar_.reset();
  set_dim(false);
  if (thought_open_) print_note("\n");
  const bool piped = !out_.terminal();
  if (piped ? begun_ && !options_.bare : line_open_) out_.write("\n");
  begun_ = line_open_ = thought_open_ = thinking_ = false;
}

void ChatScreen::note(std::string_view text) {
  if (!options_.color || !is_terminal(STDERR_FILENO)) return print_note(fmt::format("{}\n", text));
  static_cast<void>(write_all(STDERR_FILENO, kDim));
  print_note(text);
  static_cast<void>(write_all(STDERR_FILENO, fmt::format("{}\n", kPlain)));
}

void ChatScreen::remark(std::string_view text) {
  if (!options_.quiet) note(text);
}

std::size_t ChatScreen::columns() const {
  constexpr int kFewest = 40;  // what is narrower wraps as the terminal likes
  return static_cast<std::size_t>(std::max(terminal_size().columns, kFewest));
}

void ChatScreen::list(std::string_view text) {
  // Who asked sits at the terminal, wherever stderr goes.
  if (out_.terminal() && !is_terminal(STDERR_FILENO)) {
    out_.write(text);
  } else {
    print_note(text);
  }
}
void ChatScreen::error(std::string_view text) { print_error(text); }

}  // namespace minfer::app

#include "terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/utf8.h"
#include "base/write_file.h"
#include "signals.h"

namespace minfer::app {
namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// To the line's start, and erase it: what a progress bar leaves behind.
constexpr const char* kEraseLine = "\r\x1b[2K";

}  // namespace

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

std::string visible_controls(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Char c = decode_char(text, i);
    if (c.code < 0x20 && c.code != '\n' && c.code != '\t') {
      append_utf8(result, 0x2400 + c.code);  // pictures of the controls
    } else if (c.code == 0x7F) {
      append_utf8(result, 0x2421);
    } else if (!c.well_formed || (c.code >= 0x80 && c.code < 0xA0)) {
      append_utf8(result, kReplacement);  // C1 controls have no pictures
    } else {
      result += text.substr(i, c.length);
    }
    i += c.length;
  }
  return result;
}

Output::Output() : terminal_(is_terminal(STDOUT_FILENO)) {}

bool Output::write(std::string_view text) {
  if (!status_.ok()) return false;
  const int error =
      terminal_ ? write_all(STDOUT_FILENO, visible_controls(text)) : write_all(STDOUT_FILENO, text);
  if (error != 0) {
    status_ = io_error(fmt::format("cannot write to stdout: {}",
                                   error == EPIPE ? "the reader is gone" : std::strerror(error)));
  }
  return error == 0;
}

void print_error(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      line += "\\n";  // of a path: an error is one line
    } else {
      line += c;
    }
  }
  print_note(fmt::format("minfer: {}\n", line));
}

void print_note(std::string_view text) {
  // A failing stderr leaves nobody to tell.
  static_cast<void>(is_terminal(STDERR_FILENO) ? write_all(STDERR_FILENO, visible_controls(text))
                                               : write_all(STDERR_FILENO, text));
}

ProgressBar::ProgressBar(std::string label, bool enabled)
    : label_(std::move(label)),
      enabled_(enabled && is_terminal(STDERR_FILENO)),
      start_seconds_(now_seconds()) {}

ProgressBar::~ProgressBar() {
  if (!drawn_) return;
  static_cast<void>(write_all(STDERR_FILENO, kEraseLine));
  set_farewell(nullptr);
}

void ProgressBar::update(double share) {
  constexpr double kQuietSeconds = 0.3;
  constexpr int kWidth = 30;
  const int percent = static_cast<int>(share * 100);
  if (!enabled_ || percent == last_percent_ || now_seconds() - start_seconds_ < kQuietSeconds) {
    return;
  }
  last_percent_ = percent;
  if (!drawn_) set_farewell(kEraseLine);
  drawn_ = true;
  const int filled = percent * kWidth / 100;
  const std::string bar = std::string(static_cast<std::size_t>(filled), '#') +
                          std::string(static_cast<std::size_t>(kWidth - filled), '.');
  static_cast<void>(
      write_all(STDERR_FILENO, fmt::format("\r{} [{}] {:3d}%", label_, bar, percent)));
}

Status check_output_file(const std::string& path, const std::string& model) {
  if (path.empty()) return invalid_argument("the name of the file to write is empty");
  std::error_code ignored;
  if (std::filesystem::equivalent(path, model, ignored)) {
    return invalid_argument(fmt::format("{} is the model: it is not overwritten", path));
  }
  return ok_status();
}

}  // namespace minfer::app

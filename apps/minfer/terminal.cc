#include "terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "signals.h"

namespace minfer::app {
namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// To the line's start, and erase it: what a progress bar leaves behind.
constexpr const char* kEraseLine = "\r\x1b[2K";

/// 0, or the errno of the write that failed.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

}  // namespace

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

std::string visible_controls(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    if (byte < 0x20 && byte != '\n' && byte != '\t') {
      result += "\xE2\x90";  // U+2400 and on: pictures of the controls
      result += static_cast<char>(0x80 + byte);
    } else if (byte == 0x7F) {
      result += "\xE2\x90\xA1";
    } else if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {
      result += "\xEF\xBF\xBD";  // C1 controls have no pictures
      ++i;
    } else {
      result += text[i];
    }
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

Status write_file_whole(const std::string& path, std::string_view bytes) {
  const auto failed = [&](int error) {
    return io_error(fmt::format("cannot write {}: {}", path, std::strerror(error)));
  };
  struct stat info{};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) {
    // A device or a pipe is written to, never replaced.
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return failed(errno);
    int error = write_all(fd, bytes);
    if (::close(fd) != 0 && error == 0) error = errno;
    return error == 0 ? ok_status() : failed(error);
  }
  std::error_code unresolved;
  std::string target = std::filesystem::canonical(path, unresolved).string();  // through links
  if (unresolved) target = path;
  std::string temporary = target + ".XXXXXX";
  const int fd = ::mkstemp(temporary.data());
  if (fd < 0) return failed(errno);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  int error = write_all(fd, bytes);
  if (::fchmod(fd, exists ? info.st_mode & 07777 : 0666 & ~mask) != 0 && error == 0) error = errno;
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return ok_status();
  ::unlink(temporary.c_str());
  return failed(error);
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

#include "prompt_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "signals.h"

namespace minfer::app {
namespace {

/// More than any context holds; an endless input is refused at this size.
constexpr std::size_t kMaxInputBytes = std::size_t{1} << 28;

Result<std::string> read_all(int fd, const std::string& name) {
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n == 0) return text;
    if (n > 0) {
      text.append(buffer, static_cast<std::size_t>(n));
      if (text.size() > kMaxInputBytes) {
        return invalid_argument(fmt::format("{} is longer than the {} MB that a prompt may have",
                                            name, kMaxInputBytes >> 20));
      }
    } else if (errno != EINTR || received_signal() != 0) {
      return io_error(fmt::format("cannot read {}: {}", name, std::strerror(errno)));
    }
  }
}

/// True for a pipe, file or socket; a terminal or /dev/null is nobody's input.
bool input_is_piped() {
  struct stat info{};
  return ::fstat(STDIN_FILENO, &info) == 0 &&
         (S_ISFIFO(info.st_mode) || S_ISREG(info.st_mode) || S_ISSOCK(info.st_mode));
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  if (path == "-") return read_all(STDIN_FILENO, "standard input");
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return io_error(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  Result<std::string> text = read_all(fd, path);
  ::close(fd);
  return text;
}

Result<JsonValue> read_json(const std::string& path) {
  MINFER_ASSIGN_OR_RETURN(const std::string text, read_file(path));
  auto json = parse_json(text);
  if (!json.ok()) return json.status().with_context(path);
  return json;
}

std::string join_prompt(std::string first, const std::string& second) {
  first += first.ends_with('\n') ? "\n" : "\n\n";
  return first + second;
}

Result<std::optional<std::string>> read_prompt(const Options& options) {
  std::vector<std::string> parts;
  if (options.has_prompt) parts.push_back(options.prompt);
  bool stdin_read = options.no_stdin;
  for (const std::string& path : options.files) {
    if (path == "-") stdin_read = true;
    MINFER_ASSIGN_OR_RETURN(std::string text, read_file(path));
    parts.push_back(std::move(text));
  }
  if (!stdin_read && input_is_piped()) {
    MINFER_ASSIGN_OR_RETURN(std::string text, read_file("-"));
    if (!text.empty() || parts.empty()) parts.push_back(std::move(text));
  }
  if (parts.empty()) return std::optional<std::string>();
  std::string prompt = std::move(parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) prompt = join_prompt(std::move(prompt), parts[i]);
  return std::optional<std::string>(std::move(prompt));
}

}  // namespace minfer::app

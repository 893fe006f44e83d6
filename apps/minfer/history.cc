#include "history.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/utf8.h"
#include "base/write_file.h"

namespace minfer::app {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{4} << 20;

std::string escaped(std::string_view entry) {
  std::string line;
  for (const char c : entry) {
    if (c == '\n' || c == '\\') line += '\\';
    line += c == '\n' ? 'n' : c;
  }
  return line + '\n';
}

std::string unescaped(std::string_view line) {
  std::string entry;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool escape = line[i] == '\\' && i + 1 < line.size();
    if (escape) ++i;
    entry += escape && line[i] == 'n' ? '\n' : line[i];
  }
  return entry;
}

Status failure(std::string_view what, const std::string& path) {
  return io_error(fmt::format("cannot {} the history {}: {}", what, path, std::strerror(errno)));
}

/// A descriptor that closes itself; -1: none.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

/// The last `kMaxFileBytes` of the file, from a line's start on.
Result<std::string> read_tail(int fd, const std::string& path) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return failure("read", path);
  if (!S_ISREG(info.st_mode)) return io_error(fmt::format("{} is no ordinary file", path));
  const auto size = static_cast<std::size_t>(info.st_size);
  const std::size_t from = size > kMaxFileBytes ? size - kMaxFileBytes : 0;
  std::string text(size - from, '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t n =
        ::pread(fd, text.data() + got, text.size() - got, static_cast<off_t>(from + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failure("read", path);
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  text.resize(got);
  if (from > 0) text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
  return text;
}

}  // namespace

std::string history_path() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/minfer/history";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return std::string(home) + "/.local/state/minfer/history";
}

Result<History> History::open(std::string path) {
  History history;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    if (errno != ENOENT) return failure("open", path);
  } else {
    MINFER_ASSIGN_OR_RETURN(const std::string text, read_tail(file.get(), path));
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      if (end == std::string::npos) break;  // torn
      const std::string_view line = std::string_view(text).substr(begin, end - begin);
      if (is_valid_utf8(line)) history.entries_.push_back(unescaped(line));
      begin = end + 1;
    }
    std::vector<std::string> read = std::exchange(history.entries_, {});
    for (std::string& entry : read) history.insert(std::move(entry));
  }
  history.path_ = std::move(path);
  return history;
}

void History::insert(std::string entry) {
  std::erase(entries_, entry);
  entries_.push_back(std::move(entry));
  if (entries_.size() > kMaxEntries) entries_.erase(entries_.begin());
}

Status History::add(const std::string& entry) {
  if (entry.find_first_not_of(" \t\n") == std::string::npos || entry.size() > kMaxEntryBytes ||
      (!entries_.empty() && entries_.back() == entry)) {
    return ok_status();
  }
  insert(entry);
  return path_.empty() ? ok_status() : append(escaped(entry));
}

Status History::append(const std::string& line) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::create_directories(fs::path(path_).parent_path(), ignored);
  for (;;) {
    const Descriptor file(
        ::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600));
    if (file.get() < 0) return failure("write", path_);
    if (::flock(file.get(), LOCK_EX) != 0 && errno != EINTR) return failure("lock", path_);
    struct stat locked{};
    struct stat named{};
    // Another program may have put a new file in its place before the lock was had.
    if (::fstat(file.get(), &locked) != 0) return failure("write", path_);
    if (::stat(path_.c_str(), &named) != 0 || named.st_ino != locked.st_ino) continue;
    if (!S_ISREG(locked.st_mode)) return io_error(fmt::format("{} is no ordinary file", path_));
    if (::fchmod(file.get(), 0600) != 0) return failure("protect", path_);
    if (static_cast<std::size_t>(locked.st_size) + line.size() > kMaxFileBytes) {
      std::string all;
      for (const std::string& each : entries_) all += escaped(each);
      constexpr std::size_t kKept = kMaxFileBytes / 2;
      if (all.size() > kKept) all.erase(0, all.find('\n', all.size() - kKept) + 1);
      return write_file_whole(path_, all);
    }
    errno = write_all(file.get(), line);
    return errno == 0 ? ok_status() : failure("write", path_);
  }
}

}  // namespace minfer::app

#include "base/write_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace minfer {

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

}  // namespace minfer

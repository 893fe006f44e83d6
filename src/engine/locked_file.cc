#include "engine/locked_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace minfer::engine {
namespace {

constexpr mode_t kMode = 0600;

Status failed(std::string_view what, int error) {
  return io_error(fmt::format("{}: {}", what, std::strerror(error)));
}

Status check_regular(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return failed("cannot be looked at", errno);
  if (S_ISREG(info.st_mode)) return ok_status();
  return invalid_argument(S_ISDIR(info.st_mode) ? "is a folder, not a session file"
                                                : "is a device or pipe, not a session file");
}

/// A file system without locks does not stop a session.
Status lock(int fd) {
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) {
      return io_error("is in use by another minfer: end that one or take another file");
    }
    return ok_status();
  }
  return ok_status();
}

}  // namespace

LockedFile::LockedFile(LockedFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
LockedFile& LockedFile::operator=(LockedFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
LockedFile::~LockedFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<LockedFile> LockedFile::open_to_read(const std::string& path) {
  // A pipe would wait for its other end.
  LockedFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd_ < 0) {
    if (errno == ENOENT) return not_found("is not there");
    return failed("cannot be opened", errno);
  }
  MINFER_RETURN_IF_ERROR(check_regular(file.fd_));
  return file;
}

Result<LockedFile> LockedFile::open_to_write(const std::string& path, bool& created) {
  // Between opening and locking a file may be replaced by its owner's newer one.
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    created = false;
    LockedFile file(::open(path.c_str(), kFlags));
    if (file.fd_ < 0 && errno == ENOENT) {
      file = LockedFile(::open(path.c_str(), kFlags | O_CREAT | O_EXCL, kMode));
      if (file.fd_ < 0 && errno == EEXIST) continue;  // made meanwhile, or a link to nothing
      created = file.fd_ >= 0;
    }
    if (file.fd_ < 0) {
      if (errno == EISDIR) return invalid_argument("is a folder, not a session file");
      return failed("cannot be opened for writing", errno);
    }
    MINFER_RETURN_IF_ERROR(check_regular(file.fd_));
    MINFER_RETURN_IF_ERROR(lock(file.fd_));
    if (file.is_at(path) == 1) return file;
  }
  return io_error("cannot be opened: it is a link to nothing, or is replaced all the time");
}

Result<LockedFile> LockedFile::create(const std::string& path) {
  // Never written through a link, and never a file that somebody else may read.
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed("cannot be removed", errno);
  LockedFile file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL | O_NOFOLLOW, kMode));
  if (file.fd_ < 0) return failed("cannot be made", errno);
  MINFER_RETURN_IF_ERROR(lock(file.fd_));
  return file;
}

std::uint64_t LockedFile::size() const {
  struct stat info{};
  return ::fstat(fd_, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

Status LockedFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t n = ::pread(fd_, to.data(), to.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("cannot be read", errno);
    if (n == 0) return io_error("has become shorter while it was read");
    offset += static_cast<std::uint64_t>(n);
    to = to.subspan(static_cast<std::size_t>(n));
  }
  return ok_status();
}

Status LockedFile::write(std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("cannot be written", errno);
    offset += static_cast<std::uint64_t>(n);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return ok_status();
}

Status LockedFile::truncate(std::uint64_t size_bytes) {
  if (::ftruncate(fd_, static_cast<off_t>(size_bytes)) == 0) return ok_status();
  return failed("cannot be shortened", errno);
}

Status LockedFile::sync() {
  if (::fsync(fd_) == 0 || errno == EINVAL) return ok_status();
  return failed("cannot be written", errno);
}

int LockedFile::is_at(const std::string& path) const {
  struct stat own{};
  struct stat there{};
  if (::fstat(fd_, &own) != 0 || ::stat(path.c_str(), &there) != 0) return -1;
  return own.st_dev == there.st_dev && own.st_ino == there.st_ino ? 1 : 0;
}

Status replace_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return failed("cannot be replaced", errno);
  const std::size_t slash = to.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : to.substr(0, slash + 1);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ok_status();  // a folder that may be written but not read
  ::fsync(fd);
  ::close(fd);
  return ok_status();
}

}  // namespace minfer::engine

#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/sigbus.h"

namespace minfer {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

Status system_error(const std::string& path, const char* verb, int error) {
  if (error == ENOENT || error == ENOTDIR) return not_found(path + ": no such file");
  std::string message = path + ": cannot " + verb + ": " + std::generic_category().message(error);
  return error == ENOMEM ? out_of_memory(std::move(message)) : io_error(std::move(message));
}

Status shrank(const std::string& path) {
  return io_error(path + ": the file changed or shrank while it was being read");
}

int open_read_only(const std::string& path) {
  int fd = -1;
  do {
    // O_NONBLOCK: opening a pipe must not wait for its writer before it can be refused.
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

Status read_into(int fd, const std::string& path, std::byte* to, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const std::size_t chunk = std::min<std::size_t>(size - done, std::size_t{1} << 30);
    const ssize_t n = ::pread(fd, to + done, chunk, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(path, "read", errno);
    if (n == 0) return shrank(path);
    done += static_cast<std::size_t>(n);
  }
  return ok_status();
}

}  // namespace

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this == &other) return *this;
  release();
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  slot_ = std::exchange(other.slot_, -1);
  path_ = std::move(other.path_);
  return *this;
}

MappedFile::~MappedFile() { release(); }

const std::string& MappedFile::path() const {
  static const std::string kNone;
  return path_ ? *path_ : kNone;
}

void MappedFile::release() {
  unwatch_mapping(std::exchange(slot_, -1));
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  data_ = nullptr;
  size_ = 0;
}

Result<MappedFile> MappedFile::open(const std::string& path, MapOptions options) {
  if (path.find('\0') != std::string::npos) return invalid_argument("a path holds a NUL byte");
  const FileDescriptor fd(open_read_only(path));
  if (fd.get() < 0) return system_error(path, "open", errno);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return system_error(path, "read", errno);
  if (S_ISDIR(info.st_mode)) return io_error(path + ": is a directory, not a file");
  if (!S_ISREG(info.st_mode)) {
    return io_error(path + ": is not a regular file; save it to one first");
  }
  MappedFile file;
  file.path_ = std::make_unique<std::string>(path);
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return file;

  const int flags = options.copy ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  const int protection = options.copy ? PROT_READ | PROT_WRITE : PROT_READ;
  void* address = ::mmap(nullptr, size, protection, flags, options.copy ? -1 : fd.get(), 0);
  if (address == MAP_FAILED) return system_error(path, "map", errno);
  file.data_ = static_cast<const std::byte*>(address);
  file.size_ = size;
  if (options.copy) {
    MINFER_RETURN_IF_ERROR(read_into(fd.get(), path, static_cast<std::byte*>(address), size));
    ::mprotect(address, size, PROT_READ);
    return file;
  }
  file.slot_ = watch_mapping(address, size, file.path_->c_str());
  // Advice only: a system that cannot follow it reads on demand.
  if (options.will_need) ::madvise(address, size, MADV_WILLNEED);
  return file;
}

Result<std::string> read_file(const std::string& path, std::uint64_t max_bytes) {
  if (path.find('\0') != std::string::npos) return invalid_argument("a path holds a NUL byte");
  int raw = -1;
  do {
    raw = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (raw < 0 && errno == EINTR);
  const FileDescriptor fd(raw);
  if (fd.get() < 0) return system_error(path, "open", errno);
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (true) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EISDIR) return io_error(path + ": is a directory, not a file");
    if (n < 0) return system_error(path, "read", errno);
    if (n == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > max_bytes) {
      return out_of_range(path + ": is longer than " + std::to_string(max_bytes) + " bytes");
    }
  }
}

}  // namespace minfer

#include "base/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace minfer {
namespace {

std::optional<std::uint64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;
  return {};  // absent, or "max"
}

/// MemAvailable of /proc/meminfo, in bytes.
std::optional<std::uint64_t> available_memory(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  std::string key;
  std::uint64_t kilobytes = 0;
  std::string unit;
  while (file >> key >> kilobytes) {
    std::getline(file, unit);
    if (key == "MemAvailable:") return kilobytes * 1024;
  }
  return {};
}

/// Address space that this process has taken: the first number of /proc/self/statm, in pages.
std::uint64_t address_space_bytes(const std::string& root) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return read_number(root + "/proc/self/statm").value_or(0) * page;
}

/// What the cgroup of this process may still take (version 2, else version 1).
std::optional<std::uint64_t> cgroup_left(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line;
  std::optional<std::uint64_t> least;
  while (std::getline(file, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    const bool v2 = controllers.empty();
    if (!v2 && controllers.find("memory") == std::string::npos) continue;
    const std::string base = root + "/sys/fs/cgroup" + (v2 ? "" : "/memory");
    // A limit may stand on any level above.
    for (;;) {
      const std::string folder = base + (path == "/" ? "" : path);
      const auto limit = read_number(folder + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
      const auto used = read_number(folder + (v2 ? "/memory.current" : "/memory.usage_in_bytes"));
      if (limit && used) {
        const std::uint64_t left = *limit > *used ? *limit - *used : 0;
        if (!least || left < *least) least = left;
      }
      if (path.empty() || path == "/") break;
      path.resize(path.find_last_of('/'));
    }
  }
  return least;
}

}  // namespace

MemoryLimit memory_limit(const std::string& root) {
  MemoryLimit limit{std::uint64_t{1} << 62, "free memory"};
  if (const auto bytes = available_memory(root)) limit.bytes = *bytes;
  if (const auto bytes = cgroup_left(root); bytes && *bytes < limit.bytes) {
    limit = {*bytes, "cgroup limit"};
  }
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
    const std::uint64_t used = address_space_bytes(root);
    const std::uint64_t left = space.rlim_cur > used ? space.rlim_cur - used : 0;
    if (left < limit.bytes) limit = {left, "address space limit (ulimit -v)"};
  }
  return limit;
}

std::uint64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace minfer

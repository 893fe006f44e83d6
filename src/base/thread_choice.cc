// default_threads: as many threads as the process may really run at once, one a physical core.

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

#include "base/thread_pool.h"

namespace minfer {
namespace {

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<long> leading_number(const std::string& text) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (end == text.c_str()) return std::nullopt;
  return value;
}

/// quota / period rounded down, at least 1; nothing if there is no limit.
std::optional<int> whole_processors(std::optional<long> quota, std::optional<long> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<int>(std::clamp<long>(*quota / *period, 1, 1 << 20));
}

/// cgroup v2: cpu.max holds "max 100000" or "150000 100000".
std::optional<int> quota_v2(const std::string& folder) {
  const auto line = first_line(folder + "/cpu.max");
  if (!line) return std::nullopt;
  const std::size_t space = line->find(' ');
  if (space == std::string::npos) return std::nullopt;
  return whole_processors(leading_number(*line), leading_number(line->substr(space + 1)));
}

/// cgroup v1: two files; a quota of -1 is none.
std::optional<int> quota_v1(const std::string& folder) {
  const auto quota = first_line(folder + "/cpu.cfs_quota_us");
  const auto period = first_line(folder + "/cpu.cfs_period_us");
  if (!quota || !period) return std::nullopt;
  return whole_processors(leading_number(*quota), leading_number(*period));
}

void keep_least(std::optional<int>& least, std::optional<int> value) {
  if (value && (!least || *value < *least)) least = value;
}

/// The least quota of the group `path` and those around it. In a container the path may name
/// folders that only the host sees; the ones that exist still count.
std::optional<int> least_quota(const std::string& mount, std::string path,
                               std::optional<int> (*read)(const std::string&)) {
  std::optional<int> least;
  while (true) {
    keep_least(least, read(mount + (path == "/" ? "" : path)));
    if (path.empty() || path == "/") return least;
    path.resize(path.rfind('/'));
  }
}

bool lists_cpu_controller(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == "cpu") return true;
    if (comma == std::string_view::npos) return false;
    controllers.remove_prefix(comma + 1);
  }
  return false;
}

/// Lines of /proc/self/cgroup are "id:controllers:path"; v2 is "0::path".
std::optional<int> cgroup_quota(const std::string& root) {
  std::optional<int> least;
  std::ifstream file(root + "/proc/self/cgroup");
  const std::string mounts = root + "/sys/fs/cgroup";
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (path.empty() || path[0] != '/') continue;
    if (controllers.empty()) {
      keep_least(least, least_quota(mounts, path, quota_v2));
      keep_least(least, least_quota(mounts + "/unified", path, quota_v2));
    } else if (lists_cpu_controller(controllers)) {
      keep_least(least, least_quota(mounts + "/" + controllers, path, quota_v1));
      keep_least(least, least_quota(mounts + "/cpu", path, quota_v1));
    }
  }
  return least;
}

/// Distinct cores behind `cpus`: hyperthreads of one core share their list of siblings.
int physical_cores(std::span<const int> cpus, const std::string& root) {
  std::set<std::string> cores;
  for (int cpu : cpus) {
    const std::string name = "cpu" + std::to_string(cpu);
    const auto siblings =
        first_line(root + "/sys/devices/system/cpu/" + name + "/topology/thread_siblings_list");
    cores.insert(siblings.value_or(name));
  }
  return static_cast<int>(cores.size());
}

/// Processors in a list such as "0-3,8"; 0 if it cannot be read.
int count_listed(const std::optional<std::string>& list) {
  long count = 0;
  std::istringstream parts(list.value_or(""));
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    const auto first = leading_number(part);
    const auto last = dash == std::string::npos ? first : leading_number(part.substr(dash + 1));
    if (first && last && *last >= *first) count += *last - *first + 1;
  }
  return static_cast<int>(count);
}

std::vector<int> affinity_mask() {
  // Machines with more processors than cpu_set_t holds (1024) refuse the small set.
  for (int capacity = CPU_SETSIZE; capacity <= 1 << 20; capacity *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(capacity));
    if (set == nullptr) break;
    const std::size_t size_bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(capacity));
    std::vector<int> cpus;
    const bool read = sched_getaffinity(0, size_bytes, set) == 0;
    for (int cpu = 0; read && cpu < capacity; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size_bytes, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (read) return cpus;
  }
  std::vector<int> all(std::max(1u, std::thread::hardware_concurrency()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  return all;
}

}  // namespace

ThreadChoice choose_threads(std::span<const int> cpus, const std::string& root) {
  const int cores = std::max(1, physical_cores(cpus, root));
  const auto quota = cgroup_quota(root);
  if (quota && *quota < cores) return {.n_threads = *quota, .reason = "cgroup quota"};
  const int n_online = count_listed(first_line(root + "/sys/devices/system/cpu/online"));
  const bool restricted = n_online > static_cast<int>(cpus.size());
  return {.n_threads = cores, .reason = restricted ? "affinity" : "physical cores"};
}

ThreadChoice default_threads() { return choose_threads(affinity_mask(), ""); }

}  // namespace minfer

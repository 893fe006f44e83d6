#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"

namespace minfer {
namespace {

namespace fs = std::filesystem;

/// A pretended machine: its /proc and /sys in a temporary folder.
class ThreadChoiceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "minfer_choice_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, std::string_view text) const {
    const fs::path file = root_ + path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  /// `n_cores` cores of two threads each: cpu i and cpu i + n_cores.
  void add_hyperthreaded_cores(int n_cores) const {
    write("/sys/devices/system/cpu/online", "0-" + std::to_string(2 * n_cores - 1));
    for (int cpu = 0; cpu < 2 * n_cores; ++cpu) {
      const int core = cpu % n_cores;
      write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
            std::to_string(core) + "," + std::to_string(core + n_cores));
    }
  }
  static std::vector<int> first_cpus(int n) {
    std::vector<int> cpus(static_cast<std::size_t>(n));
    std::iota(cpus.begin(), cpus.end(), 0);
    return cpus;
  }
  void expect_choice(const std::vector<int>& cpus, int n_threads, std::string_view reason) const {
    const ThreadChoice choice = choose_threads(cpus, root_);
    EXPECT_EQ(choice.n_threads, n_threads);
    EXPECT_EQ(choice.reason, reason);
  }

  std::string root_;
};

TEST_F(ThreadChoiceTest, CountsCoresNotHyperthreads) {
  add_hyperthreaded_cores(4);
  expect_choice(first_cpus(8), 4, "physical cores");
}

TEST_F(ThreadChoiceTest, AffinityMaskLimits) {
  add_hyperthreaded_cores(4);
  expect_choice({0}, 1, "affinity");
  expect_choice({0, 4}, 1, "affinity");  // both threads of one core
  expect_choice({0, 1, 5}, 2, "affinity");
}

TEST_F(ThreadChoiceTest, QuotaV2IsRoundedDown) {
  add_hyperthreaded_cores(4);
  write("/proc/self/cgroup", "0::/user.slice/run.scope");
  write("/sys/fs/cgroup/user.slice/run.scope/cpu.max", "200000 100000");
  expect_choice(first_cpus(8), 2, "cgroup quota");
  write("/sys/fs/cgroup/user.slice/run.scope/cpu.max", "399999 100000");
  expect_choice(first_cpus(8), 3, "cgroup quota");
  write("/sys/fs/cgroup/user.slice/run.scope/cpu.max", "50000 100000");
  expect_choice(first_cpus(8), 1, "cgroup quota");
  write("/sys/fs/cgroup/user.slice/run.scope/cpu.max", "max 100000");
  expect_choice(first_cpus(8), 4, "physical cores");
}

TEST_F(ThreadChoiceTest, QuotaOfAnAncestorCounts) {
  add_hyperthreaded_cores(4);
  write("/proc/self/cgroup", "0::/a/b/c");
  write("/sys/fs/cgroup/a/cpu.max", "100000 50000");
  write("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000");
  expect_choice(first_cpus(8), 2, "cgroup quota");
}

TEST_F(ThreadChoiceTest, ContainerRoot) {
  add_hyperthreaded_cores(4);
  write("/proc/self/cgroup", "0::/");
  write("/sys/fs/cgroup/cpu.max", "150000 100000");
  expect_choice(first_cpus(8), 1, "cgroup quota");
}

TEST_F(ThreadChoiceTest, QuotaV1) {
  add_hyperthreaded_cores(4);
  write("/proc/self/cgroup", "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x");
  const std::string folder = "/sys/fs/cgroup/cpu,cpuacct";  // the path exists only on the host
  write(folder + "/cpu.cfs_quota_us", "300000");
  write(folder + "/cpu.cfs_period_us", "100000");
  expect_choice(first_cpus(8), 3, "cgroup quota");
  write(folder + "/cpu.cfs_quota_us", "-1");
  expect_choice(first_cpus(8), 4, "physical cores");
}

TEST_F(ThreadChoiceTest, QuotaAboveTheCoresDoesNotMatter) {
  add_hyperthreaded_cores(2);
  write("/proc/self/cgroup", "0::/");
  write("/sys/fs/cgroup/cpu.max", "800000 100000");
  expect_choice(first_cpus(4), 2, "physical cores");
}

TEST_F(ThreadChoiceTest, NothingReadableCountsProcessors) {
  expect_choice({3, 7}, 2, "physical cores");
}

TEST_F(ThreadChoiceTest, MalformedFilesAreNoLimit) {
  add_hyperthreaded_cores(2);
  for (const char* text :
       {"", "x y", "100000", "-5 100000", "100000 0", "99999999999999999999 1"}) {
    write("/proc/self/cgroup", "0::/");
    write("/sys/fs/cgroup/cpu.max", text);
    expect_choice(first_cpus(4), 2, "physical cores");
  }
  write("/proc/self/cgroup", "no colons\n0:\n0::relative");
  expect_choice(first_cpus(4), 2, "physical cores");
}

TEST(ThreadChoice, ThisMachineHasAtLeastOne) { EXPECT_GE(default_threads().n_threads, 1); }

}  // namespace
}  // namespace minfer

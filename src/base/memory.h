// How much memory this process may use, and how much it has used.
//
// Thread-safety: reads the operating system's files; no state.
#pragma once

#include <cstdint>
#include <string>

namespace minfer {

struct MemoryLimit {
  std::uint64_t bytes = 0;
  const char* reason = "";  // "free memory", "cgroup limit", "address space limit (ulimit -v)"
};

/// The least of: memory that is free or reclaimable, what the cgroup has left, what the address
/// space limit leaves. `root` stands before /proc and /sys (tests).
MemoryLimit memory_limit(const std::string& root = "");

/// The largest resident set so far, in bytes.
std::uint64_t peak_memory_bytes();

}  // namespace minfer

// The CPU backend: runs every operation, on any machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "backend/backend.h"
#include "base/status.h"
#include "cpu/isa.h"

namespace minfer::cpu {

struct CpuOptions {
  int n_threads = 1;
  Isa isa = Isa::kScalar;  // choose_isa()
  bool op_timing = false;
  /// Keep matrices interleaved for the kernels (a copy, the file's pages are given back). Off: the
  /// kernels read the file's own layout. No bit of a result differs.
  bool repack = true;
  /// Asked before that with the bytes of the copy; false leaves the matrices as they are. Empty:
  /// yes.
  std::function<bool(std::uint64_t copy_bytes)> may_copy = {};
  /// Phases that cost less (Phase::cost) run on one thread, where a barrier would cost more than
  /// is won. No bit of a result differs; 0 shares out everything (tests).
  std::int64_t serial_cost = 16384;
  /// Called by load_weights() now and then with the share of the bytes done, 0..1. May be empty.
  std::function<void(double)> load_progress = {};
};

/// The backend, its threads started. kInvalidArgument: n_threads < 1.
Result<std::unique_ptr<backend::Backend>> make_cpu_backend(const CpuOptions& options);

}  // namespace minfer::cpu

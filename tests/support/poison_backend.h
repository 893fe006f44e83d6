// PoisonBackend: a device of the tests, as hostile as a device may be.
//
// Its memory is an address space of its own: a device address followed on the host faults, and all
// memory starts as NaN. A worker thread does the work, with random delays before every node and
// copy, so run() and copy_from_host() return before anything has happened. Operations named in
// `refused` are not run here. The first run of a program captures its nodes under (uid, split);
// later runs replay the capture, and it goes with the program. Thread-safety: as any backend; the
// worker is the backend's own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "backend/backend.h"
#include "tests/support/scalar_ops.h"

namespace minfer::tests {

class PoisonBackend : public backend::Backend {
 public:
  explicit PoisonBackend(std::uint32_t seed = 1);
  ~PoisonBackend() override;

  std::set<ir::OpKind> refused;
  /// If set, decides alone what may run here, beside `refused`.
  std::function<bool(const ir::Node&)> accepts;

  /// Fills a buffer of this backend with NaN, after the work that was asked for before.
  void poison(backend::Buffer& buffer);

  struct Counters {
    std::uint64_t captures = 0;
    std::uint64_t replays = 0;
    std::uint64_t nodes = 0;
    std::uint64_t uploads = 0;
    std::uint64_t downloads = 0;
    std::uint64_t waits = 0;
  };
  /// Waits first.
  Counters counters();
  /// Uids of graphs that captures are kept for.
  std::set<std::uint64_t> captured_uids();
  /// The next job that runs nodes fails with this.
  void fail_next(Status status);

  [[nodiscard]] std::string_view name() const override { return "poison"; }
  [[nodiscard]] std::string description() const override { return "NaN and random delays"; }
  [[nodiscard]] bool can_run(const ir::Graph& graph, const ir::Node& node) const override;
  [[nodiscard]] bool wants_quantized_rows(DType) const override { return false; }
  [[nodiscard]] bool can_fuse(ir::OpKind) const override { return false; }
  /// Rows are padded to 256 bytes, unlike the host's.
  [[nodiscard]] std::uint64_t row_bytes(DType type, std::int64_t elements) const override;
  [[nodiscard]] backend::KvStrips kv_strips(backend::KvFormat format, std::int32_t n_head_kv,
                                            std::int32_t head_dim) const override;
  Result<std::unique_ptr<backend::Buffer>> allocate(std::uint64_t size_bytes) override;
  Result<std::unique_ptr<backend::Weights>> load_weights(
      std::span<const backend::WeightSource> sources) override;
  Result<std::unique_ptr<backend::Program>> compile(
      const backend::CompileRequest& request) override;
  Status synchronize() override;
  Status copy_from_host(backend::Buffer& to, std::uint64_t offset,
                        std::span<const std::byte> from) override;
  Status copy_to_host(std::span<std::byte> to, backend::Buffer& from,
                      std::uint64_t offset) override;
  Status read_kv_row(const backend::KvGeometry& geometry, const backend::KvLayer& layer,
                     const std::byte* group_base, std::int32_t page, std::int32_t row,
                     std::span<float> k, std::span<float> v) const override;

 private:
  friend class PoisonProgram;
  using Job = std::function<Status()>;
  using Capture = std::vector<std::function<void(const ScalarStep&)>>;
  using CaptureKey = std::pair<std::uint64_t, ir::NodeId>;  // graph uid, first node

  void submit(Job job);
  void work();
  void delay();
  Status run_captured(const backend::CompileRequest& request, const backend::StepContext& step);
  void forget(const CaptureKey& key);

  // Guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool working_ = false;
  bool stop_ = false;
  Status failed_;     // of a job, until synchronize() tells
  Status fail_next_;  // told by the test
  Counters counters_;
  std::map<CaptureKey, Capture> captures_;
  std::minstd_rand random_;  // the worker's

  std::thread worker_;
};

}  // namespace minfer::tests

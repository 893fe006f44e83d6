#include "tests/support/poison_backend.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace minfer::tests {
namespace {

// Not a canonical address, so following it on the host faults.
constexpr std::uintptr_t kDeviceTag = std::uintptr_t{1} << 62;
constexpr std::uint64_t kRowAlignment = 256;

template <class T>
T* to_device(T* host) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(host) ^ kDeviceTag);
}
template <class T>
T* from_device(T* device) {
  MINFER_CHECK((reinterpret_cast<std::uintptr_t>(device) & kDeviceTag) != 0);
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(device) ^ kDeviceTag);
}

class PoisonBuffer : public backend::Buffer {
 public:
  explicit PoisonBuffer(std::uint64_t size_bytes) : bytes(size_bytes, std::byte{0xFF}) {}
  [[nodiscard]] std::uint64_t size_bytes() const override { return bytes.size(); }
  [[nodiscard]] std::byte* host_data() override { return nullptr; }
  [[nodiscard]] std::byte* device_data() override { return to_device(bytes.data()); }
  Status grow(std::uint64_t size_bytes) override {
    // Elsewhere, and nothing survives.
    bytes = std::vector<std::byte>(size_bytes, std::byte{0xFF});
    return ok_status();
  }
  std::vector<std::byte> bytes;
};

PoisonBuffer& own(backend::Buffer& buffer) { return dynamic_cast<PoisonBuffer&>(buffer); }

}  // namespace

class PoisonProgram : public backend::Program {
 public:
  PoisonProgram(PoisonBackend& owner, const backend::CompileRequest& request)
      : owner_(owner), request_(request) {}
  ~PoisonProgram() override { owner_.forget({request_.graph_uid, request_.nodes.front()}); }

  Status run(const backend::StepContext& step) override {
    owner_.submit([this, step] { return owner_.run_captured(request_, step); });
    return ok_status();
  }

 private:
  PoisonBackend& owner_;
  backend::CompileRequest request_;
};

PoisonBackend::PoisonBackend(std::uint32_t seed) : random_(seed), worker_([this] { work(); }) {}

PoisonBackend::~PoisonBackend() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

void PoisonBackend::submit(Job job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void PoisonBackend::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    working_ = true;
    // Like a device, it does nothing more once something has failed, until the host has heard.
    const bool skip = !failed_.ok();
    lock.unlock();
    Status status;
    if (!skip) {
      delay();
      status = job();
    }
    lock.lock();
    working_ = false;
    if (failed_.ok()) failed_ = std::move(status);
    changed_.notify_all();
  }
}

void PoisonBackend::delay() {
  // Mostly none, so that tests stay quick.
  const std::uint32_t draw = static_cast<std::uint32_t>(random_()) % 16;
  if (draw < 12) return;
  std::this_thread::sleep_for(std::chrono::microseconds(draw == 15 ? 300 : 20));
}

Status PoisonBackend::synchronize() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return jobs_.empty() && !working_; });
  ++counters_.waits;
  return std::exchange(failed_, {});
}

PoisonBackend::Counters PoisonBackend::counters() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return jobs_.empty() && !working_; });
  return counters_;
}

std::set<std::uint64_t> PoisonBackend::captured_uids() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return jobs_.empty() && !working_; });
  std::set<std::uint64_t> uids;
  for (const auto& [key, capture] : captures_) uids.insert(key.first);
  return uids;
}

void PoisonBackend::fail_next(Status status) {
  const std::lock_guard lock(mutex_);
  fail_next_ = std::move(status);
}

void PoisonBackend::forget(const CaptureKey& key) {
  const std::lock_guard lock(mutex_);
  captures_.erase(key);
}

Status PoisonBackend::run_captured(const backend::CompileRequest& request,
                                   const backend::StepContext& step) {
  Capture* capture = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!fail_next_.ok()) return std::exchange(fail_next_, {});
    const auto [entry, is_new] =
        captures_.try_emplace({request.graph_uid, request.nodes.front()}, Capture{});
    capture = &entry->second;
    if (is_new) {
      for (ir::NodeId id : request.nodes) {
        const ir::Node node = request.graph->node(id);
        capture->push_back([node](const ScalarStep& scalar) { run_node(scalar, node); });
      }
      ++counters_.captures;
    } else {
      ++counters_.replays;
    }
    counters_.nodes += capture->size();
  }
  std::vector<std::byte*> group_base;
  std::vector<const std::byte*> state_read;
  std::vector<std::byte*> state_write;
  // The KV may be another backend's; then no node here touches it.
  const bool own_kv = std::all_of(
      step.kv.group_base.begin(), step.kv.group_base.end(),
      [](std::byte* base) { return (reinterpret_cast<std::uintptr_t>(base) & kDeviceTag) != 0; });
  if (own_kv) {
    for (std::byte* base : step.kv.group_base) group_base.push_back(from_device(base));
    for (const std::byte* lane : step.kv.state_read) state_read.push_back(from_device(lane));
    for (std::byte* lane : step.kv.state_write) state_write.push_back(from_device(lane));
  }
  const ScalarStep scalar{.graph = request.graph,
                          .places = request.places,
                          .weights = static_cast<const ScalarWeights*>(request.weights),
                          .arena = from_device(step.arena),
                          .group_base = group_base,
                          .state_read = state_read,
                          .state_write = state_write,
                          .step = step};
  for (const auto& node : *capture) {
    if (step.cancel != nullptr && step.cancel->load()) return cancelled("cancelled on the device");
    delay();
    node(scalar);
  }
  return ok_status();
}

void PoisonBackend::poison(backend::Buffer& buffer) {
  submit([&buffer] {
    std::fill(own(buffer).bytes.begin(), own(buffer).bytes.end(), std::byte{0xFF});
    return ok_status();
  });
  static_cast<void>(counters());  // the buffer may be grown next
}

bool PoisonBackend::can_run(const ir::Graph& graph, const ir::Node& node) const {
  if (refused.contains(node.op) || !scalar_can_run(graph, node)) return false;
  return !accepts || accepts(node);
}

std::uint64_t PoisonBackend::row_bytes(DType type, std::int64_t elements) const {
  const std::uint64_t bytes = scalar_row_bytes(type, elements);
  return (bytes + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
}

backend::KvStrips PoisonBackend::kv_strips(backend::KvFormat format, std::int32_t n_head_kv,
                                           std::int32_t head_dim) const {
  return scalar_kv_strips(format, n_head_kv, head_dim);
}

Result<std::unique_ptr<backend::Buffer>> PoisonBackend::allocate(std::uint64_t size_bytes) {
  return std::unique_ptr<backend::Buffer>(std::make_unique<PoisonBuffer>(size_bytes));
}

Result<std::unique_ptr<backend::Weights>> PoisonBackend::load_weights(
    std::span<const backend::WeightSource> sources) {
  MINFER_ASSIGN_OR_RETURN(auto weights, scalar_weights(sources));
  return std::unique_ptr<backend::Weights>(std::move(weights));
}

Result<std::unique_ptr<backend::Program>> PoisonBackend::compile(
    const backend::CompileRequest& request) {
  return std::unique_ptr<backend::Program>(std::make_unique<PoisonProgram>(*this, request));
}

Status PoisonBackend::copy_from_host(backend::Buffer& to, std::uint64_t offset,
                                     std::span<const std::byte> from) {
  MINFER_CHECK(offset + from.size() <= to.size_bytes());
  submit([this, &to, offset, bytes = std::vector<std::byte>(from.begin(), from.end())] {
    std::copy(bytes.begin(), bytes.end(),
              own(to).bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    const std::lock_guard lock(mutex_);
    ++counters_.uploads;
    return ok_status();
  });
  return ok_status();
}

Status PoisonBackend::copy_to_host(std::span<std::byte> to, backend::Buffer& from,
                                   std::uint64_t offset) {
  MINFER_CHECK(offset + to.size() <= from.size_bytes());
  MINFER_RETURN_IF_ERROR(synchronize());
  std::memcpy(to.data(), own(from).bytes.data() + offset, to.size());
  ++counters_.downloads;
  return ok_status();
}

Status PoisonBackend::read_kv_row(const backend::KvGeometry& geometry,
                                  const backend::KvLayer& layer, const std::byte* group_base,
                                  std::int32_t page, std::int32_t row, std::span<float> k,
                                  std::span<float> v) const {
  scalar_read_kv_row(geometry, layer, from_device(group_base), page, row, k, v);
  return ok_status();
}

}  // namespace minfer::tests

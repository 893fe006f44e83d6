#include "plan/scheduler.h"

#include <algorithm>

namespace minfer::plan {

Scheduler::Scheduler(GraphCache& cache) : cache_(cache), busy_(cache.backends().size(), 0) {}

Status Scheduler::run(CompiledGraph& graph, const Step& step) {
  MINFER_RETURN_IF_ERROR(graph.inputs.check_filled(graph.graph));
  Status status = run_splits(graph, step);
  // Also after a failure: an arena must not change under whoever comes next.
  for (std::size_t b = 0; b < busy_.size(); ++b) {
    Status waited = wait_for(static_cast<std::int32_t>(b));
    if (status.ok()) status = std::move(waited);
  }
  return status;
}

Status Scheduler::run_splits(CompiledGraph& graph, const Step& step) {
  for (Split& split : graph.splits) {
    if (step.cancel != nullptr && step.cancel->load(std::memory_order_relaxed)) {
      return cancelled("the forward was cancelled");
    }
    const auto b = static_cast<std::size_t>(split.backend);
    const backend::StepContext context{.n_tokens = step.n_tokens,
                                       .n_out = step.n_out,
                                       .arena = cache_.arena(b).device_data(),
                                       .kv = step.kv,
                                       .cancel = step.cancel};
    for (const Split::Staged& staged : split.staged) {
      MINFER_RETURN_IF_ERROR(stage(graph, split, staged, context));
    }
    busy_[b] = 1;
    MINFER_RETURN_IF_ERROR(split.program->run(context));
  }
  return ok_status();
}

Status Scheduler::stage(const CompiledGraph& graph, const Split& split, const Split::Staged& staged,
                        const backend::StepContext& context) {
  const ir::Value& value = graph.graph.value(staged.value);
  if (value.kind != ir::ValueKind::kInput) MINFER_RETURN_IF_ERROR(wait_for(staged.from_backend));
  if (!staged.place.placed) return ok_status();
  const backend::ValuePlace& from =
      graph.memory.places[static_cast<std::size_t>(staged.from_backend)]
                         [static_cast<std::size_t>(staged.value)];
  const auto rows = static_cast<std::uint64_t>(context.live_rows(value));
  if (from.row_bytes == staged.place.row_bytes) {
    return copy(staged.from_backend, split.backend, from.offset, staged.place.offset,
                rows * from.row_bytes);
  }
  const std::uint64_t row_bytes = std::min(from.row_bytes, staged.place.row_bytes);
  for (std::uint64_t r = 0; r < rows; ++r) {
    MINFER_RETURN_IF_ERROR(copy(staged.from_backend, split.backend,
                                from.offset + r * from.row_bytes,
                                staged.place.offset + r * staged.place.row_bytes, row_bytes));
  }
  return ok_status();
}

Status Scheduler::copy(std::int32_t from, std::int32_t to, std::uint64_t from_offset,
                       std::uint64_t to_offset, std::uint64_t size_bytes) {
  ++counters_.copies;
  counters_.copied_bytes += size_bytes;
  backend::Buffer& source = cache_.arena(static_cast<std::size_t>(from));
  backend::Buffer& target = cache_.arena(static_cast<std::size_t>(to));
  backend::Backend& source_backend = *cache_.backends()[static_cast<std::size_t>(from)];
  backend::Backend& target_backend = *cache_.backends()[static_cast<std::size_t>(to)];
  if (const std::byte* bytes = source.host_data()) {
    return target_backend.copy_from_host(target, to_offset, {bytes + from_offset, size_bytes});
  }
  if (std::byte* bytes = target.host_data()) {
    return source_backend.copy_to_host({bytes + to_offset, size_bytes}, source, from_offset);
  }
  bounce_.resize(std::max<std::size_t>(bounce_.size(), size_bytes));
  const std::span<std::byte> bytes(bounce_.data(), size_bytes);
  MINFER_RETURN_IF_ERROR(source_backend.copy_to_host(bytes, source, from_offset));
  return target_backend.copy_from_host(target, to_offset, bytes);
}

Status Scheduler::wait_for(std::int32_t backend) {
  std::uint8_t& busy = busy_[static_cast<std::size_t>(backend)];
  if (busy == 0) return ok_status();
  busy = 0;
  ++counters_.waits;
  return cache_.backends()[static_cast<std::size_t>(backend)]->synchronize();
}

}  // namespace minfer::plan

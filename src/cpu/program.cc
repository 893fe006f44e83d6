#include "cpu/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cpu/node_compiler.h"

namespace minfer::cpu {
namespace {

/// "mat_mul Q4_1": the operation and the type of its first weight that is a matrix.
std::string timing_label(const ir::Graph& graph, const ir::Node& node) {
  std::string label(ir::op_name(node.op));
  for (const ir::ValueId id : node.inputs) {
    if (id == ir::kNoValue) continue;
    const ir::Value& value = graph.value(id);
    if (value.kind == ir::ValueKind::kWeight && value.shape.rank() > 1) {
      label += fmt::format(" {}", dtype_name(value.dtype));
      break;
    }
  }
  return label;
}

}  // namespace

Result<std::unique_ptr<CpuProgram>> CpuProgram::compile(Runtime& runtime,
                                                        const backend::CompileRequest& request) {
  std::unique_ptr<CpuProgram> program(new CpuProgram(runtime));
  program->entries_.reserve(2 * request.nodes.size());
  for (const ir::NodeId id : request.nodes) {
    if (Status status = program->compile_node(request, id); !status.ok()) {
      const ir::Node& node = request.graph->node(id);
      return status.with_context(fmt::format("node {} ({})", id, ir::op_name(node.op)));
    }
  }
  program->counters_ = std::make_unique<Counter[]>(program->entries_.size());
  program->serial_.resize(program->entries_.size());
  return program;
}

Status CpuProgram::compile_node(const backend::CompileRequest& request, ir::NodeId id) {
  const ir::Node& node = request.graph->node(id);
  std::vector<std::unique_ptr<Phase>> phases;
  NodeCompiler compiler(runtime_, request, id, phases);
  MINFER_RETURN_IF_ERROR(op_driver(node.op)(compiler));
  MINFER_RETURN_IF_ERROR(runtime_.reserve_scratch(compiler.thread_bytes(), compiler.tile_bytes(),
                                                  compiler.shared_bytes()));
  std::size_t timing = 0;
  const NodeTraffic* traffic = nullptr;
  if (runtime_.op_timing()) {
    timing = runtime_.timing_entry(timing_label(*request.graph, node));
    traffic_.push_back(std::make_unique<NodeTraffic>(node_traffic(request, node)));
    traffic = traffic_.back().get();
  }
  for (auto& phase : phases) {
    entries_.push_back({std::move(phase), timing, traffic});
    traffic = nullptr;
  }
  return ok_status();
}

CpuProgram::NodeTraffic CpuProgram::node_traffic(const backend::CompileRequest& request,
                                                 const ir::Node& node) {
  const ir::Graph& graph = *request.graph;
  NodeTraffic traffic;
  const auto rows_of = [&](const ir::Value& value) -> Traffic& {
    if (value.rows == ir::RowDomain::kTokens) return traffic.per_token;
    return value.rows == ir::RowDomain::kOut ? traffic.per_out : traffic.fixed;
  };
  const auto add_values = [&](const ir::ValueList& ids) {
    for (const ir::ValueId id : ids) {
      if (id == ir::kNoValue) continue;
      const ir::Value& value = graph.value(id);
      const auto n = static_cast<std::uint64_t>(value.shape.row_elements());
      if (value.kind == ir::ValueKind::kTransient) {
        rows_of(value).bytes += n * (value.dtype == DType::kQ8A ? 1 : sizeof(float));
      }
    }
  };
  add_values(node.inputs);
  add_values(node.outputs);
  const bool product = node.op != ir::OpKind::kEmbed;
  for (const ir::ValueId id : node.inputs) {
    if (id == ir::kNoValue) continue;
    const ir::Value& weight = graph.value(id);
    if (weight.kind != ir::ValueKind::kWeight || weight.shape.rank() < 2) continue;
    const auto k = static_cast<std::uint64_t>(weight.shape.inner());
    auto n = static_cast<std::uint64_t>(weight.shape[weight.shape.rank() - 2]);
    if (const auto* moe = std::get_if<ir::MoeMatMulAttrs>(&node.attrs)) {
      n *= static_cast<std::uint64_t>(moe->n_used);
    }
    Traffic& rows = rows_of(graph.value(node.outputs[0]));
    if (product) {
      traffic.fixed.bytes += n * row_size_bytes(weight.dtype, k);
      rows.flops += 2 * n * k;
    } else {
      rows.bytes += row_size_bytes(weight.dtype, k);
    }
  }
  return traffic;
}

bool CpuProgram::is_serial(std::size_t phase, const backend::StepContext& step) const {
  const std::int64_t cost = entries_[phase].phase->cost(step);
  return cost == 0 || cost < runtime_.serial_cost();
}

std::int32_t CpuProgram::barriers() const {
  backend::StepContext one;
  one.n_tokens = 1;
  one.n_out = 1;
  std::int32_t parallel = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) parallel += is_serial(i, one) ? 0 : 1;
  return std::max(parallel - 1, 0);
}

std::size_t CpuProgram::next_parallel(std::size_t phase) const {
  while (phase < entries_.size() && serial_[phase] != 0) ++phase;
  return phase;
}

Status CpuProgram::run(const backend::StepContext& step) {
  step_ = &step;
  stop_ = false;
  serial_time_ = {};
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].phase->prepare(step);
    serial_[i] = is_serial(i, step) ? 1 : 0;
    counters_[i].next.store(0, std::memory_order_relaxed);
  }
  for (int thread = 0; thread < runtime_.n_threads(); ++thread) {
    runtime_.ranges(0)[thread].taken.store(0, std::memory_order_relaxed);
  }
  const std::size_t first = next_parallel(0);
  if (check_cancel()) return cancelled("cancelled");
  run_serial(0, first);
  serial_time_ = {};
  if (first < entries_.size() && !stop_) {
    runtime_.pool().run([this, first](int thread) { thread_body(thread, first); });
    if (!stop_) run_serial(done_, entries_.size());
  }
  return stop_ ? cancelled("cancelled") : ok_status();
}

void CpuProgram::thread_body(int thread, std::size_t first) {
  std::size_t set = 0;
  for (std::size_t i = first;; set = (set + 1) % Runtime::kRangeSets) {
    // Nobody looks at the other set before the next barrier.
    runtime_.ranges((set + 1) % Runtime::kRangeSets)[thread].taken.store(0,
                                                                         std::memory_order_relaxed);
    const auto start = thread == 0 && runtime_.op_timing() ? Clock::now() : Clock::time_point{};
    run_parallel(i, thread, runtime_.ranges(set));
    const std::size_t next = next_parallel(i + 1);
    const bool last = next == entries_.size();
    if (last) {
      // The end of the pool's body is the last meeting; what is left is serial.
      if (thread == 0) done_ = i + 1;
    } else {
      runtime_.pool().barrier([this, i, next] {
        if (!check_cancel()) run_serial(i + 1, next);
      });
    }
    if (thread == 0 && runtime_.op_timing()) {
      record(i, Clock::now() - start - serial_time_);
      serial_time_ = {};
    }
    if (last || stop_) return;
    i = next;
  }
}

void CpuProgram::run_parallel(std::size_t phase, int thread, RangeCounter* ranges) {
  entries_[phase].phase->run({.step = *step_,
                              .isa = runtime_.isa(),
                              .scratch = runtime_.scratch(thread),
                              .tile = runtime_.tile(thread),
                              .shared = runtime_.shared_scratch(),
                              .next_item = counters_[phase].next,
                              .ranges = ranges,
                              .thread = thread,
                              .n_threads = runtime_.n_threads()});
}

void CpuProgram::run_serial(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end && !stop_; ++i) {
    const auto start = runtime_.op_timing() ? Clock::now() : Clock::time_point{};
    runtime_.serial_range()->taken.store(0, std::memory_order_relaxed);
    entries_[i].phase->run({.step = *step_,
                            .isa = runtime_.isa(),
                            .scratch = runtime_.scratch(runtime_.n_threads()),
                            .tile = runtime_.tile(runtime_.n_threads()),
                            .shared = runtime_.shared_scratch(),
                            .next_item = counters_[i].next,
                            .ranges = runtime_.serial_range(),
                            .thread = 0,
                            .n_threads = 1});
    if (runtime_.op_timing()) {
      const auto time = Clock::now() - start;
      serial_time_ += time;
      record(i, time);
    }
    if (check_cancel()) return;
  }
}

bool CpuProgram::check_cancel() {
  if (step_->cancel != nullptr && step_->cancel->load(std::memory_order_relaxed)) stop_ = true;
  return stop_;
}

void CpuProgram::record(std::size_t phase, Clock::duration time) {
  const Entry& entry = entries_[phase];
  backend::OpTiming& timing = runtime_.timing(entry.timing);
  timing.seconds += std::chrono::duration<double>(time).count();
  const Traffic own = entry.phase->traffic(*step_);
  timing.bytes += own.bytes;
  timing.flops += own.flops;
  if (entry.traffic == nullptr) return;
  const auto tokens = static_cast<std::uint64_t>(step_->n_tokens);
  const auto outs = static_cast<std::uint64_t>(step_->n_out);
  const NodeTraffic& t = *entry.traffic;
  ++timing.calls;
  timing.bytes += t.fixed.bytes + tokens * t.per_token.bytes + outs * t.per_out.bytes;
  timing.flops += t.fixed.flops + tokens * t.per_token.flops + outs * t.per_out.flops;
}

}  // namespace minfer::cpu

// minfer bench MODEL: speed of prefill and decode, the forward alone: random ids, no sampling.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench_cost.h"
#include "bench_report.h"
#include "bench_sequences.h"
#include "commands.h"
#include "load.h"
#include "signals.h"
#include "terminal.h"

namespace minfer::app {
namespace {

std::int32_t largest(const NumberList& list) { return *std::ranges::max_element(list.items); }

/// Positions that the longest test fills.
std::int32_t positions_needed(const Options& options) {
  const std::int32_t n_gen = largest(options.bench_gen);
  return largest(options.bench_depth) +
         std::max(largest(options.bench_prompt), n_gen > 0 ? n_gen + 1 : 0);
}

/// One set of weights and threads, one type of KV.
class BenchRun {
 public:
  BenchRun(const Loaded& loaded, plan::Forward& forward, const Options& options)
      : loaded_(loaded),
        options_(options),
        cost_(loaded.model(), loaded.engine->cpu(), forward.kv().geometry()),
        sequences_(forward, options.batch_size) {
    const model::Model& model = loaded.model();
    settings_.model = std::string(model.display_name());
    settings_.size_bytes = model.weight_bytes();
    settings_.n_params = model.n_params();
    settings_.isa = cpu::isa_name(loaded.isa);
    settings_.kv_type = backend::kv_format_name(forward.kv().geometry().format);
    settings_.n_threads = loaded.threads.n_threads;
  }

  Status run(std::vector<BenchRow>& rows) {
    for (const std::int32_t depth : options_.bench_depth.items) {
      for (const std::int32_t n : options_.bench_prompt.items) {
        if (n == 0) continue;
        BenchRow row = settings_;
        row.n_prompt = n;
        row.depth = depth;
        MINFER_RETURN_IF_ERROR(measure(row));
        rows.push_back(std::move(row));
      }
      for (const std::int32_t n_seq : options_.bench_parallel.items) {
        for (const std::int32_t n : options_.bench_gen.items) {
          if (n == 0) continue;
          BenchRow row = settings_;
          row.n_gen = n;
          row.depth = depth;
          row.n_seq = n_seq;
          MINFER_RETURN_IF_ERROR(measure(row));
          rows.push_back(std::move(row));
        }
      }
    }
    return ok_status();
  }

 private:
  Status measure(BenchRow& row) {
    const bool prefill = row.n_prompt > 0;
    const double n_tokens = prefill ? row.n_prompt : row.n_gen * row.n_seq;
    const Cost cost = prefill ? prefill_cost(row) : decode_cost(row);
    row.token_cost = cost / n_tokens;
    const double n_forwards = prefill ? std::ceil(n_tokens / options_.batch_size) : row.n_gen;
    const auto forward_bytes = static_cast<std::uint64_t>(cost.bytes / n_forwards);
    MINFER_ASSIGN_OR_RETURN(const cpu::MachineLimits before, limits(forward_bytes));
    for (std::int32_t i = -1; i < options_.repetitions; ++i) {
      MINFER_ASSIGN_OR_RETURN(const double seconds,
                              prefill ? sequences_.prefill(row.n_prompt, row.depth)
                                      : sequences_.decode(row.n_gen, row.depth, row.n_seq));
      if (i >= 0) row.samples.push_back(n_tokens / seconds);  // the first warms up
    }
    MINFER_ASSIGN_OR_RETURN(const cpu::MachineLimits after, limits(forward_bytes));
    // Whatever else runs on the machine takes from one of them, not from what it can do.
    row.limits = {.read_gbps = std::max(before.read_gbps, after.read_gbps),
                  .int8_gflops = std::max(before.int8_gflops, after.int8_gflops),
                  .float32_gflops = std::max(before.float32_gflops, after.float32_gflops)};
    return ok_status();
  }

  /// Those of about so many bytes and of the last few seconds.
  Result<cpu::MachineLimits> limits(std::uint64_t n_bytes) {
    using std::chrono::steady_clock;
    constexpr std::chrono::seconds kFresh(2);
    const bool same_size = n_bytes < 2 * limits_bytes_ && limits_bytes_ < 2 * n_bytes;
    if (!same_size || steady_clock::now() - limits_time_ > kFresh) {
      MINFER_ASSIGN_OR_RETURN(limits_, cpu::measure_limits(loaded_.isa, loaded_.threads.n_threads,
                                                           n_bytes, &stop_flag()));
      limits_bytes_ = n_bytes;
      limits_time_ = steady_clock::now();
    }
    return limits_;
  }

  [[nodiscard]] Cost prefill_cost(const BenchRow& row) const {
    Cost cost;
    for (std::int32_t done = 0; done < row.n_prompt;) {
      const std::int32_t chunk = std::min(row.n_prompt - done, options_.batch_size);
      const std::int32_t first = row.depth + done;
      done += chunk;
      cost += cost_.forward(1, chunk, first, done == row.n_prompt ? 1 : 0);
    }
    return cost;
  }

  [[nodiscard]] Cost decode_cost(const BenchRow& row) const {
    Cost cost;
    for (std::int32_t i = 1; i <= row.n_gen; ++i) {
      cost += cost_.forward(row.n_seq, 1, row.depth + i, row.n_seq);
    }
    return cost;
  }

  const Loaded& loaded_;
  const Options& options_;
  CostModel cost_;
  BenchSequences sequences_;
  BenchRow settings_;
  cpu::MachineLimits limits_;
  std::uint64_t limits_bytes_ = 0;
  std::chrono::steady_clock::time_point limits_time_;
};

Status check_sizes(const Options& options) {
  if (largest(options.bench_prompt) == 0 && largest(options.bench_gen) == 0) {
    return invalid_argument("nothing to measure: --n-prompt and --n-gen are both 0");
  }
  const std::int32_t needed = positions_needed(options);
  if (options.ctx_size > 0 && options.ctx_size < needed) {
    return invalid_argument(
        fmt::format("the tests need a context of {}: raise --ctx-size", needed));
  }
  return ok_status();
}

/// All tests with one number of threads; the header is printed once.
Status bench_threads(const Invocation& invocation, const EnvSwitches& env,
                     std::vector<BenchRow>& rows) {
  MINFER_ASSIGN_OR_RETURN(const Loaded loaded, load(invocation, env));
  const ChoiceList& kv_types = invocation.options.bench_kv_types;
  for (const std::string& kv_type : kv_types.items) {
    Invocation one = invocation;
    one.options.kv_type = kv_type;
    MINFER_ASSIGN_OR_RETURN(SessionPlan plan, plan_session(loaded, one, env, 0, 0));
    if (&kv_type == &kv_types.items.front()) print_header(loaded, plan, one.options);
    plan.options.max_sequences = largest(one.options.bench_parallel);
    plan.options.batch_size = std::max(plan.options.batch_size, plan.options.max_sequences);
    auto forward = loaded.engine->new_forward(plan.options);
    if (forward.status().code() == StatusCode::kOutOfMemory) {
      return forward.status().with_context(fmt::format("no room for {} sequences of {} positions",
                                                       plan.options.max_sequences,
                                                       plan.options.n_ctx));
    }
    MINFER_RETURN_IF_ERROR(forward.status());
    const StopTarget target(**forward);
    BenchRun run(loaded, **forward, one.options);
    MINFER_RETURN_IF_ERROR(run.run(rows));
    if (env.op_timing) print_note(op_timing_table(*loaded.engine, **forward));
  }
  return ok_status();
}

}  // namespace

Result<int> bench_command(const Invocation& invocation, const EnvSwitches& env) {
  MINFER_RETURN_IF_ERROR(check_sizes(invocation.options));
  Invocation sized = invocation;
  if (sized.options.ctx_size == 0) sized.options.ctx_size = positions_needed(sized.options);
  std::vector<BenchRow> rows;
  for (const std::int32_t n_threads : invocation.options.bench_threads.items) {
    sized.options.threads = n_threads;
    MINFER_RETURN_IF_ERROR(bench_threads(sized, env, rows));
  }
  Output out;
  out.write(bench_table(rows, invocation.options.output_format));
  MINFER_RETURN_IF_ERROR(out.status());
  return 0;
}

}  // namespace minfer::app

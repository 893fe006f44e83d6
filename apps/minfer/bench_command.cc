// minfer bench MODEL: speed of prefill and decode, the forward alone: random ids, no sampling.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

#include "base/json_writer.h"
#include "base/printable.h"
#include "commands.h"
#include "load.h"
#include "signals.h"
#include "terminal.h"

namespace minfer::app {
namespace {

using Clock = std::chrono::steady_clock;

/// One row of the table.
struct Test {
  std::string name;  // "pp512", "tg128"
  std::int32_t n_prompt = 0;
  std::int32_t n_gen = 0;
  std::vector<double> samples;  // tokens a second

  [[nodiscard]] double mean() const {
    return std::accumulate(samples.begin(), samples.end(), 0.0) /
           static_cast<double>(samples.size());
  }
  [[nodiscard]] double deviation() const {
    if (samples.size() < 2) return 0.0;
    double sum = 0;
    for (const double x : samples) sum += (x - mean()) * (x - mean());
    return std::sqrt(sum / static_cast<double>(samples.size() - 1));
  }
};

class Bench {
 public:
  Bench(engine::Session& session, std::int64_t n_vocab) : session_(session), n_vocab_(n_vocab) {}

  /// Tokens a second of one prefill of `n` tokens, from an empty sequence.
  Result<double> prefill(std::int32_t n) {
    MINFER_RETURN_IF_ERROR(session_.truncate(0));
    const std::vector<engine::TokenId> ids = random_ids(n);
    const auto start = Clock::now();
    MINFER_RETURN_IF_ERROR(session_.advance(ids).status());
    return n / seconds_since(start);
  }

  /// Tokens a second of `n` single-token forwards.
  Result<double> decode(std::int32_t n) {
    MINFER_RETURN_IF_ERROR(session_.truncate(0));
    const std::vector<engine::TokenId> ids = random_ids(n + 1);
    MINFER_RETURN_IF_ERROR(session_.advance({ids.data(), 1}).status());
    const auto start = Clock::now();
    for (std::int32_t i = 1; i <= n; ++i) {
      MINFER_RETURN_IF_ERROR(session_.advance({&ids[static_cast<std::size_t>(i)], 1}).status());
    }
    return n / seconds_since(start);
  }

  Status run(Test& test, std::int32_t repetitions) {
    for (std::int32_t i = -1; i < repetitions; ++i) {
      MINFER_ASSIGN_OR_RETURN(const double rate,
                              test.n_prompt > 0 ? prefill(test.n_prompt) : decode(test.n_gen));
      if (i >= 0) test.samples.push_back(rate);  // the first warms up and is not counted
    }
    return ok_status();
  }

 private:
  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  std::vector<engine::TokenId> random_ids(std::int32_t n) {
    std::uniform_int_distribution<engine::TokenId> id(0,
                                                      static_cast<engine::TokenId>(n_vocab_ - 1));
    std::vector<engine::TokenId> ids(static_cast<std::size_t>(n));
    for (engine::TokenId& each : ids) each = id(rng_);
    return ids;
  }

  engine::Session& session_;
  std::int64_t n_vocab_;
  std::mt19937 rng_{42};
};

/// Bytes of weights that one decoded token reads: all but the embedding table, whose one row is
/// read; a table that is also the output matrix is read whole.
std::uint64_t bytes_per_token(const model::Model& model) {
  std::uint64_t bytes = 0;
  for (const backend::WeightSource& weight : model.weights()) {
    if (weight.uses == backend::kUseRowLookup) continue;
    bytes +=
        row_size_bytes(weight.view.dtype, static_cast<std::uint64_t>(weight.view.shape.elements()));
  }
  return bytes;
}

std::uint64_t flops_per_token(const model::Model& model) {
  std::uint64_t flops = 0;
  for (const backend::WeightSource& weight : model.weights()) {
    if ((weight.uses & backend::kUseMatMul) == 0) continue;
    flops += 2 * static_cast<std::uint64_t>(weight.view.shape.elements());
  }
  return flops;
}

struct Report {
  const Loaded& loaded;
  std::string model_name;
  std::vector<Test> tests;

  [[nodiscard]] double gbps(const Test& test) const {
    // A prefill reads the weights once a batch: only decode is bound by them.
    if (test.n_gen == 0) return 0.0;
    return test.mean() * static_cast<double>(bytes_per_token(loaded.model())) / 1e9;
  }
  [[nodiscard]] double gflops(const Test& test) const {
    return test.mean() * static_cast<double>(flops_per_token(loaded.model())) / 1e9;
  }
};

/// `text` for a cell of a Markdown table: no bar splits it, no control character reaches a
/// terminal.
std::string markdown_cell(std::string_view text) {
  std::string cell;
  for (const char c : printable(text)) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

/// `text` as a quoted field of RFC 4180.
std::string csv_field(std::string_view text) {
  std::string field = "\"";
  for (const char c : text) {
    if (c == '"') field += '"';
    field += c;
  }
  return field + "\"";
}

std::string as_markdown(const Report& report) {
  std::string text =
      "| model | size | params | isa | threads | test | tok/s | GB/s | GFLOP/s |\n"
      "|---|---:|---:|---|---:|---|---:|---:|---:|\n";
  const model::Model& model = report.loaded.model();
  for (const Test& test : report.tests) {
    text += fmt::format(
        "| {} | {} | {:.1f} M | {} | {} | {} | {:.2f} ± {:.2f} | {} | {:.1f} |\n",
        markdown_cell(report.model_name), megabytes(model.weight_bytes()),
        static_cast<double>(model.n_params()) / 1e6, cpu::isa_name(report.loaded.isa),
        report.loaded.threads.n_threads, test.name, test.mean(), test.deviation(),
        test.n_gen > 0 ? fmt::format("{:.1f}", report.gbps(test)) : "", report.gflops(test));
  }
  return text;
}

std::string as_csv(const Report& report) {
  std::string text =
      "model,size,params,backend,isa,threads,test,n_prompt,n_gen,depth,n_seq,ts_mean,ts_stddev,"
      "gbps,gflops\n";
  const model::Model& model = report.loaded.model();
  for (const Test& test : report.tests) {
    text += fmt::format("{},{},{},cpu,{},{},{},{},{},0,1,{:.3f},{:.3f},{:.3f},{:.3f}\n",
                        csv_field(report.model_name), model.weight_bytes(), model.n_params(),
                        cpu::isa_name(report.loaded.isa), report.loaded.threads.n_threads,
                        test.name, test.n_prompt, test.n_gen, test.mean(), test.deviation(),
                        report.gbps(test), report.gflops(test));
  }
  return text;
}

std::string as_json(const Report& report) {
  JsonWriter json;
  const model::Model& model = report.loaded.model();
  json.begin_array();
  for (const Test& test : report.tests) {
    json.begin_object();
    json.key("model").string(report.model_name);
    json.key("size").unsigned_integer(model.weight_bytes());
    json.key("params").unsigned_integer(model.n_params());
    json.key("backend").string("cpu");
    json.key("isa").string(cpu::isa_name(report.loaded.isa));
    json.key("threads").integer(report.loaded.threads.n_threads);
    json.key("test").string(test.name);
    json.key("n_prompt").integer(test.n_prompt);
    json.key("n_gen").integer(test.n_gen);
    json.key("depth").integer(0);
    json.key("n_seq").integer(1);
    json.key("ts_mean").number(test.mean());
    json.key("ts_stddev").number(test.deviation());
    json.key("samples_ts").begin_array();
    for (const double x : test.samples) json.number(x);
    json.end_array();
    json.key("gbps").number(report.gbps(test));
    json.key("gflops").number(report.gflops(test));
    json.end_object();
  }
  json.end_array();
  return json.text() + "\n";
}

}  // namespace

Result<int> bench_command(const Invocation& invocation, const EnvSwitches& env) {
  const Options& options = invocation.options;
  if (options.bench_prompt == 0 && options.bench_gen == 0) {
    return invalid_argument("nothing to measure: --n-prompt and --n-gen are both 0");
  }
  Invocation sized = invocation;
  const std::int32_t needed = std::max(options.bench_prompt, options.bench_gen + 1);
  if (sized.options.ctx_size == 0) sized.options.ctx_size = needed;
  if (sized.options.ctx_size < needed) {
    return invalid_argument(
        fmt::format("the tests need a context of {}: raise --ctx-size", needed));
  }
  MINFER_ASSIGN_OR_RETURN(Loaded loaded, load(invocation, env));
  MINFER_ASSIGN_OR_RETURN(SessionChoice choice, open_session(loaded, sized, env, 0, 0));
  const StopTarget target(*choice.session);
  print_header(loaded, choice, options);

  Report report{loaded, std::string(loaded.model().display_name()), {}};
  if (options.bench_prompt > 0) {
    report.tests.push_back(
        {fmt::format("pp{}", options.bench_prompt), options.bench_prompt, 0, {}});
  }
  if (options.bench_gen > 0) {
    report.tests.push_back({fmt::format("tg{}", options.bench_gen), 0, options.bench_gen, {}});
  }
  Bench bench(*choice.session, loaded.model().hparams().n_vocab);
  for (Test& test : report.tests) MINFER_RETURN_IF_ERROR(bench.run(test, options.repetitions));
  Output out;
  out.write(options.output_format == "json"  ? as_json(report)
            : options.output_format == "csv" ? as_csv(report)
                                             : as_markdown(report));
  MINFER_RETURN_IF_ERROR(out.status());
  if (env.op_timing) print_note(op_timing_table(*loaded.engine, *choice.session));
  return 0;
}

}  // namespace minfer::app

#include "bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/json_writer.h"
#include "base/printable.h"
#include "load.h"

namespace minfer::app {
namespace {

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

/// "84% of 48.2 GB/s": of the limit that is nearer.
std::string share_cell(const BenchRow& row) {
  const double percent = 100 * row.share_of_limit();
  return row.memory_share() >= row.arithmetic_share()
             ? fmt::format("{:.0f}% of {:.1f} GB/s", percent, row.limits.read_gbps)
             : fmt::format("{:.0f}% of {:.0f} GFLOP/s", percent, row.arithmetic_limit());
}

std::string as_markdown(std::span<const BenchRow> rows) {
  std::string text =
      "| model | size | params | isa | threads | test | tok/s | GB/s | GFLOP/s | share of limit |\n"
      "|---|---:|---:|---|---:|---|---:|---:|---:|---|\n";
  for (const BenchRow& row : rows) {
    text += fmt::format(
        "| {} | {} | {:.1f} M | {} | {} | {} | {:.2f} ± {:.2f} | {:.1f} | {:.1f} | {} |\n",
        markdown_cell(row.model), megabytes(row.size_bytes),
        static_cast<double>(row.n_params) / 1e6, row.isa, row.n_threads, row.test(), row.mean(),
        row.deviation(), row.gbps(), row.gflops(), share_cell(row));
  }
  return text;
}

std::string as_csv(std::span<const BenchRow> rows) {
  std::string text =
      "model,size,params,backend,isa,threads,test,n_prompt,n_gen,depth,n_seq,ts_mean,"
      "ts_stddev,gbps,gflops,share_of_limit\n";
  for (const BenchRow& row : rows) {
    text += fmt::format("{},{},{},cpu,{},{},{},{},{},{},{},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f}\n",
                        csv_field(row.model), row.size_bytes, row.n_params, row.isa, row.n_threads,
                        row.test(), row.n_prompt, row.n_gen, row.depth, row.n_seq, row.mean(),
                        row.deviation(), row.gbps(), row.gflops(), row.share_of_limit());
  }
  return text;
}

void append_json(JsonWriter& json, const BenchRow& row) {
  json.begin_object();
  json.key("model").string(row.model);
  json.key("size").unsigned_integer(row.size_bytes);
  json.key("params").unsigned_integer(row.n_params);
  json.key("backend").string("cpu");
  json.key("isa").string(row.isa);
  json.key("threads").integer(row.n_threads);
  json.key("test").string(row.test());
  json.key("n_prompt").integer(row.n_prompt);
  json.key("n_gen").integer(row.n_gen);
  json.key("depth").integer(row.depth);
  json.key("n_seq").integer(row.n_seq);
  json.key("ts_mean").number(row.mean());
  json.key("ts_stddev").number(row.deviation());
  json.key("samples_ts").begin_array();
  for (const double x : row.samples) json.number(x);
  json.end_array();
  json.key("gbps").number(row.gbps());
  json.key("gflops").number(row.gflops());
  json.key("share_of_limit").number(row.share_of_limit());
  json.end_object();
}

}  // namespace

std::string BenchRow::test() const {
  std::string name = n_prompt > 0 ? fmt::format("pp{}", n_prompt) : fmt::format("tg{}", n_gen);
  if (depth > 0) name += fmt::format("@d{}", depth);
  if (n_seq > 1) name += fmt::format("x{}", n_seq);
  if (kv_type != "f16") name += fmt::format(" {}", kv_type);
  return name;
}

double BenchRow::mean() const {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

double BenchRow::deviation() const {
  if (samples.size() < 2) return 0.0;
  double sum = 0;
  for (const double x : samples) sum += (x - mean()) * (x - mean());
  return std::sqrt(sum / static_cast<double>(samples.size() - 1));
}

double BenchRow::arithmetic_limit() const {
  const double seconds =
      token_cost.int8_flops / limits.int8_gflops + token_cost.float_flops / limits.float32_gflops;
  return token_cost.flops() / seconds;
}

double BenchRow::share_of_limit() const { return std::max(memory_share(), arithmetic_share()); }

std::string bench_table(std::span<const BenchRow> rows, std::string_view format) {
  if (format == "csv") return as_csv(rows);
  if (format == "md") return as_markdown(rows);
  JsonWriter json;
  json.begin_array();
  for (const BenchRow& row : rows) append_json(json, row);
  json.end_array();
  return json.text() + "\n";
}

}  // namespace minfer::app

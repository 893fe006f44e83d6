#include "run_report.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/memory.h"
#include "load.h"

namespace minfer::app {
namespace {

std::string rate(double n, double seconds) {
  return seconds > 0 ? fmt::format("{:.1f} tok/s", n / seconds) : "";
}

std::size_t n_drawn(const RunReport& report) {
  std::size_t n = 0;
  for (const RunAnswer& answer : report.answers) n += answer.result.ids.size();
  return n;
}

void add_ids(JsonWriter& json, std::string_view key, std::span<const engine::TokenId> ids) {
  json.key(key).begin_array();
  for (const engine::TokenId id : ids) json.integer(id);
  json.end_array();
}

void add_answer(JsonWriter& json, const RunAnswer& answer) {
  json.key("text").string(answer.reply.content);
  if (!answer.reply.reasoning.empty()) json.key("reasoning").string(answer.reply.reasoning);
  if (!answer.reply.tool_calls.empty()) {
    json.key("tool_calls").begin_array();
    for (const chat::ToolCall& call : answer.reply.tool_calls) {
      json.begin_object();
      json.key("id").string(call.id);
      json.key("type").string("function");
      json.key("function").begin_object();
      json.key("name").string(call.name);
      json.key("arguments").string(call.arguments);
      json.end_object();
      json.end_object();
    }
    json.end_array();
  }
  json.key("finish_reason").string(answer.finish_reason());
  add_ids(json, "ids", answer.result.ids);
}

}  // namespace

std::string_view RunAnswer::finish_reason() const {
  if (result.finish == engine::FinishReason::kEndOfGeneration && !reply.tool_calls.empty()) {
    return "tool_calls";
  }
  return engine::finish_reason_name(result.finish);
}

std::string run_summary(const RunReport& report, engine::Session& session) {
  const engine::GenerateResult& first = report.answers.front().result;
  const plan::GraphCacheStats& stats = session.forward().cache().stats();
  const double prefill = first.prefill_seconds;
  std::string text = fmt::format("Prefill: {} tokens in {:.2f} s ({})\n", first.n_prefill, prefill,
                                 rate(first.n_prefill, prefill));
  text += fmt::format("Generated: {} tokens in {:.2f} s ({})\n", n_drawn(report),
                      first.decode_seconds, rate(first.n_decode_steps, first.decode_seconds));
  if (report.ahead.rounds > 0) {
    text += fmt::format("Speculation: {} of {} drafted tokens accepted in {} forwards\n",
                        report.ahead.accepted, report.ahead.drafted, report.ahead.rounds);
  }
  text += fmt::format(
      "Total: {:.2f} s | graphs: built {} in {:.2f} ms, reused {} | peak memory {} | seed {}\n",
      report.total_seconds, stats.built, stats.build_seconds * 1e3, stats.reused,
      megabytes(peak_memory_bytes()), report.seed);
  return text;
}

std::string run_json(const RunReport& report) {
  const engine::GenerateResult& first = report.answers.front().result;
  const std::size_t n = n_drawn(report);
  JsonWriter json;
  json.begin_object();
  add_answer(json, report.answers.front());
  if (report.answers.size() > 1) {
    json.key("choices").begin_array();
    for (std::size_t i = 0; i < report.answers.size(); ++i) {
      json.begin_object();
      json.key("index").unsigned_integer(i);
      add_answer(json, report.answers[i]);
      json.end_object();
    }
    json.end_array();
  }
  add_ids(json, "prompt_ids", report.prompt);
  json.key("seed").unsigned_integer(report.seed);
  json.key("usage").begin_object();
  json.key("prompt_tokens").unsigned_integer(report.prompt.size());
  json.key("completion_tokens").unsigned_integer(n);
  json.key("total_tokens").unsigned_integer(report.prompt.size() + n);
  json.end_object();
  json.key("timings").begin_object();
  json.key("load_seconds").number(report.load_seconds);
  json.key("prefill_seconds").number(first.prefill_seconds);
  json.key("decode_seconds").number(first.decode_seconds);
  json.key("sample_seconds").number(first.sample_seconds);
  json.key("total_seconds").number(report.total_seconds);
  json.key("draft_tokens").integer(report.ahead.drafted);
  json.key("draft_tokens_accepted").integer(report.ahead.accepted);
  json.end_object();
  json.key("warnings").begin_array();
  for (const std::string& warning : report.warnings) json.string(warning);
  json.end_array();
  json.end_object();
  return json.text() + "\n";
}

}  // namespace minfer::app

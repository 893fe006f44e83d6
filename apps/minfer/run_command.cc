// minfer MODEL [PROMPT]: one prompt, one answer.
#include <fmt/format.h>

#include <chrono>

#include "base/json_writer.h"
#include "base/memory.h"
#include "base/write_file.h"
#include "commands.h"
#include "engine/generate.h"
#include "ir/print.h"
#include "load.h"
#include "output_grammar.h"
#include "prefix.h"
#include "prompt_input.h"
#include "run_prompt.h"
#include "sampling_settings.h"
#include "signals.h"
#include "speculation_choice.h"
#include "terminal.h"
#include "tokenizer_bytes.h"

namespace minfer::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int32_t kRawPredict = 512;

/// --dump-graph and --dump-graph-json: the graph of prefill, or of decode for a one-token prompt.
Status dump_graphs(engine::Session& session, const Options& options, std::size_t n_prompt) {
  const auto n =
      static_cast<std::int32_t>(std::min(n_prompt, static_cast<std::size_t>(options.batch_size)));
  MINFER_ASSIGN_OR_RETURN(const plan::CompiledGraph* compiled, session.forward().compiled(n, 1));
  std::vector<std::string_view> names;
  for (const backend::Backend* backend : session.forward().cache().backends()) {
    names.push_back(backend->name());
  }
  const ir::PrintContext context{names};
  if (!options.dump_graph.empty()) {
    MINFER_RETURN_IF_ERROR(
        write_file_whole(options.dump_graph, ir::to_dot(compiled->graph, context)));
  }
  if (!options.dump_graph_json.empty()) {
    MINFER_RETURN_IF_ERROR(
        write_file_whole(options.dump_graph_json, ir::to_json(compiled->graph, context)));
  }
  return ok_status();
}

std::string rate(double n, double seconds) {
  return seconds > 0 ? fmt::format("{:.1f} tok/s", n / seconds) : "";
}

std::string summary(const engine::GenerateResult& result, engine::Session& session,
                    const engine::SpeculationCounts& ahead, double total_seconds,
                    std::uint64_t seed) {
  const plan::GraphCacheStats& stats = session.forward().cache().stats();
  const double prefill = result.prefill_seconds;
  std::string text = fmt::format("Prefill: {} tokens in {:.2f} s ({})\n", result.n_prefill, prefill,
                                 rate(result.n_prefill, prefill));
  text += fmt::format("Generated: {} tokens in {:.2f} s ({})\n", result.ids.size(),
                      result.decode_seconds, rate(result.n_decode_steps, result.decode_seconds));
  if (ahead.rounds > 0) {
    text += fmt::format("Speculation: {} of {} drafted tokens accepted in {} forwards\n",
                        ahead.accepted, ahead.drafted, ahead.rounds);
  }
  text += fmt::format(
      "Total: {:.2f} s | graphs: built {} in {:.2f} ms, reused {} | peak memory {} | seed {}\n",
      total_seconds, stats.built, stats.build_seconds * 1e3, stats.reused,
      megabytes(peak_memory_bytes()), seed);
  return text;
}

/// Why the answer is shorter than the model would have made it, or nothing.
std::string cut_note(const engine::GenerateResult& result, const Options& options,
                     std::int32_t n_ctx) {
  if (result.finish == engine::FinishReason::kLength && options.predict != 0) {
    return fmt::format("cut after {} tokens (--predict)", result.ids.size());
  }
  if (result.finish == engine::FinishReason::kContext) {
    return fmt::format("the context of {} is full: the answer is cut (--ctx-size)", n_ctx);
  }
  return {};
}

/// A run made ready: all that can be refused has been.
struct Job {
  Loaded loaded;
  Prompt prompt;
  sampling::SamplerOptions sampling;
  std::int32_t n_predict = 0;
  SessionChoice choice;
  std::int32_t n_prefix = 0;  // tokens of the prompt whose rows came from --prefix
  SpeculationChoice speculation;
  OutputGrammar grammar;
  std::unique_ptr<sampling::Constraint> constraint;  // null where the answer is free
};

void add_ids(JsonWriter& json, std::string_view key, std::span<const engine::TokenId> ids) {
  json.key(key).begin_array();
  for (const engine::TokenId id : ids) json.integer(id);
  json.end_array();
}

std::string json_result(const engine::GenerateResult& result, const Job& job,
                        double total_seconds) {
  const Prompt& prompt = job.prompt;
  JsonWriter json;
  json.begin_object();
  json.key("text").string(result.text);
  json.key("finish_reason").string(engine::finish_reason_name(result.finish));
  add_ids(json, "prompt_ids", prompt.ids);
  add_ids(json, "ids", result.ids);
  json.key("seed").unsigned_integer(job.sampling.seed);
  json.key("usage").begin_object();
  json.key("prompt_tokens").unsigned_integer(prompt.ids.size());
  json.key("completion_tokens").unsigned_integer(result.ids.size());
  json.key("total_tokens").unsigned_integer(prompt.ids.size() + result.ids.size());
  json.end_object();
  json.key("timings").begin_object();
  json.key("load_seconds").number(job.loaded.seconds);
  json.key("prefill_seconds").number(result.prefill_seconds);
  json.key("decode_seconds").number(result.decode_seconds);
  json.key("sample_seconds").number(result.sample_seconds);
  json.key("total_seconds").number(total_seconds);
  const engine::SpeculationCounts ahead = job.speculation.counts();
  json.key("draft_tokens").integer(ahead.drafted);
  json.key("draft_tokens_accepted").integer(ahead.accepted);
  json.end_object();
  json.key("warnings").begin_array();
  for (const std::string& warning : job.choice.warnings) json.string(warning);
  json.end_array();
  json.end_object();
  return json.text() + "\n";
}

int exit_code(const engine::GenerateResult& result, const Job& job, const Output& out) {
  if (received_signal() != 0) return 128 + received_signal();
  if (!out.status().ok()) {
    print_error(out.status().message());
    return 1;
  }
  if (result.finish == engine::FinishReason::kFailed) {
    print_error(result.status.message());
    return exit_status(result.status.code());
  }
  const bool context_full = result.finish == engine::FinishReason::kContext;
  const bool cut = context_full || result.finish == engine::FinishReason::kLength;
  if (cut && job.constraint != nullptr && !job.constraint->is_complete()) {
    print_error(incomplete_note(job.grammar, context_full));
    return kExitIncomplete;
  }
  return 0;
}

Result<Job> prepare(const Invocation& invocation, const EnvSwitches& env) {
  const Options& options = invocation.options;
  Job job;
  MINFER_ASSIGN_OR_RETURN(job.sampling, sampler_settings(options));
  MINFER_ASSIGN_OR_RETURN(job.grammar, output_grammar(invocation));
  if (options.raw && !options.system.empty()) {
    return invalid_argument("--system and --raw exclude each other");
  }
  MINFER_ASSIGN_OR_RETURN(const auto text, read_prompt(options));
  // A program that is started without input often has an empty pipe.
  if (!text || (text->empty() && !options.has_prompt && options.files.empty())) {
    return invalid_argument(fmt::format(
        "no prompt given. Example: minfer {0} \"Hello\", or a pipe: git diff | minfer {0} \"Review "
        "this\"",
        options.model));
  }
  MINFER_ASSIGN_OR_RETURN(job.loaded, load(invocation, env));
  const model::Model& model = job.loaded.model();
  MINFER_ASSIGN_OR_RETURN(job.prompt, make_prompt(model, options, *text));
  MINFER_ASSIGN_OR_RETURN(job.constraint,
                          make_constraint(job.grammar, *model.tokenizer(),
                                          static_cast<std::int32_t>(model.hparams().n_vocab)));
  MINFER_RETURN_IF_ERROR(take_file_settings(invocation, model.file(), job.sampling));
  job.n_predict =
      job.prompt.raw && !invocation.was_given("predict") ? kRawPredict : options.predict;
  MINFER_ASSIGN_OR_RETURN(
      job.choice, open_session(job.loaded, invocation, env,
                               static_cast<std::int32_t>(job.prompt.ids.size()), job.n_predict));
  if (invocation.was_given("prefix")) {
    MINFER_ASSIGN_OR_RETURN(PrefixUse use,
                            use_prefix(options.prefix, job.loaded, job.choice, job.prompt.ids));
    job.n_prefix = use.n_tokens;
    if (!use.note.empty()) job.choice.warnings.push_back(std::move(use.note));
  }
  MINFER_ASSIGN_OR_RETURN(job.speculation,
                          open_speculation(job.loaded, job.choice, invocation, env));
  if (!job.prompt.note.empty()) job.choice.warnings.push_back(job.prompt.note);
  return job;
}

Result<engine::GenerateResult> generate(Job& job, const Options& options, const EnvSwitches& env,
                                        Output& out) {
  const text::Tokenizer& tokenizer = *job.loaded.model().tokenizer();
  const auto eog = tokenizer.vocab().end_of_generation();
  const std::int64_t n_vocab = job.loaded.model().hparams().n_vocab;
  const std::vector<std::string> breakers = breaker_bytes(job.sampling, tokenizer, n_vocab);
  MINFER_ASSIGN_OR_RETURN(sampling::Sampler sampler,
                          sampling::Sampler::create(job.sampling, n_vocab, eog, breakers));
  sampler.set_constraint(job.constraint.get());
  engine::GenerateOptions settings;
  settings.n_predict = job.n_predict;
  settings.ignore_eos = options.ignore_eos;
  settings.stops = options.stops;
  settings.eog = eog;
  settings.cancel = &stop_flag();
  settings.trace_timing = env.timing;
  if (!options.json) {
    settings.on_text = [&out](std::string_view piece) { return out.write(piece); };
  }
  // Whoever has seen the header gets a summary too.
  const StopTarget target(*job.choice.session);
  print_header(job.loaded, job.choice, options);
  std::optional<StopTarget> draft_target;
  if (engine::DraftModel* draft = job.speculation.draft_model; draft != nullptr) {
    draft_target.emplace(draft->session());
  }
  TokenizerBytes bytes(tokenizer);
  engine::LogitsSource* source = job.choice.session.get();
  if (job.speculation.source != nullptr) source = job.speculation.source.get();
  settings.window = job.prompt.ids;
  const auto rest = std::span(job.prompt.ids).subspan(static_cast<std::size_t>(job.n_prefix));
  return engine::generate(*source, sampler, bytes, rest, settings);
}

}  // namespace

Result<int> run_command(const Invocation& invocation, const EnvSwitches& env) {
  const Options& options = invocation.options;
  for (const auto& [name, file] : {std::pair("dump-graph", options.dump_graph),
                                   std::pair("dump-graph-json", options.dump_graph_json)}) {
    if (invocation.was_given(name)) {
      MINFER_RETURN_IF_ERROR(check_output_file(file, options.model));
    }
  }
  const auto start = Clock::now();
  MINFER_ASSIGN_OR_RETURN(Job job, prepare(invocation, env));
  engine::Session& session = *job.choice.session;
  if (!options.dump_graph.empty() || !options.dump_graph_json.empty()) {
    MINFER_RETURN_IF_ERROR(dump_graphs(session, options, job.prompt.ids.size()));
    return 0;
  }
  Output out;
  MINFER_ASSIGN_OR_RETURN(const engine::GenerateResult result, generate(job, options, env, out));
  const std::string cut = cut_note(result, options, job.choice.n_ctx);
  if (!cut.empty()) job.choice.warnings.push_back(cut);
  const double total = std::chrono::duration<double>(Clock::now() - start).count();
  if (options.json) {
    out.write(json_result(result, job, total));
  } else if (!result.text.empty() && !result.text.ends_with('\n') && out.terminal()) {
    out.write("\n");
  }
  if (!options.quiet) {
    if (!cut.empty()) print_error(cut);
    print_note(summary(result, session, job.speculation.counts(), total, job.sampling.seed));
  }
  if (env.op_timing) print_note(op_timing_table(*job.loaded.engine, session.forward()));
  return exit_code(result, job, out);
}

}  // namespace minfer::app

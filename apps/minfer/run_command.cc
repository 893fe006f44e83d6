// minfer MODEL [PROMPT]: one prompt, one answer.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <random>

#include "base/json_writer.h"
#include "base/memory.h"
#include "chat/chatml.h"
#include "commands.h"
#include "engine/generate.h"
#include "ir/print.h"
#include "load.h"
#include "prompt_input.h"
#include "signals.h"
#include "terminal.h"

namespace minfer::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int32_t kRawPredict = 512;

class TokenizerBytes final : public engine::TokenBytes {
 public:
  explicit TokenizerBytes(const text::Tokenizer& tokenizer)
      : text_(tokenizer, /*show_special=*/false, /*at_text_start=*/false) {}
  void append(engine::TokenId token, std::string& out) override { text_.append(token, out); }

 private:
  text::TokenText text_;
};

Result<std::vector<sampling::LogitBias>> parse_biases(const std::vector<std::string>& texts) {
  std::vector<sampling::LogitBias> biases;
  for (const std::string& text : texts) {
    sampling::LogitBias bias;
    const char* end = text.data() + text.size();
    const auto id = std::from_chars(text.data(), end, bias.token);
    const bool colon = id.ec == std::errc() && id.ptr != end && *id.ptr == ':';
    const auto value = colon ? std::from_chars(id.ptr + 1, end, bias.bias) : id;
    if (!colon || value.ec != std::errc() || value.ptr != end) {
      return invalid_argument(
          fmt::format("--logit-bias does not take \"{}\": write ID:BIAS, as in 42:-100", text));
    }
    biases.push_back(bias);
  }
  return biases;
}

/// Overwrites an option that was not given with the model file's key, where it has it.
template <class T>
Status from_file(const Invocation& invocation, const gguf::File& file, std::string_view option,
                 std::string_view key, T& to) {
  if (invocation.was_given(option) || !file.has(key)) return ok_status();
  MINFER_ASSIGN_OR_RETURN(const double value, file.f64(key));
  to = static_cast<T>(value);
  return ok_status();
}

Result<sampling::SamplerOptions> sampler_options(const Invocation& invocation,
                                                 const gguf::File& file) {
  const Options& o = invocation.options;
  sampling::SamplerOptions s;
  s.temp = o.temp;
  s.top_k = o.top_k;
  s.top_p = o.top_p;
  s.min_p = o.min_p;
  s.repeat_penalty = o.repeat_penalty;
  s.repeat_last_n = o.repeat_last_n;
  s.frequency_penalty = o.frequency_penalty;
  s.presence_penalty = o.presence_penalty;
  if (o.sampling == "file") {
    const auto take = [&](std::string_view option, std::string_view key, auto& to) {
      return from_file(invocation, file, option, key, to);
    };
    MINFER_RETURN_IF_ERROR(take("temp", "general.sampling.temp", s.temp));
    MINFER_RETURN_IF_ERROR(take("top-k", "general.sampling.top_k", s.top_k));
    MINFER_RETURN_IF_ERROR(take("top-p", "general.sampling.top_p", s.top_p));
    MINFER_RETURN_IF_ERROR(take("min-p", "general.sampling.min_p", s.min_p));
    MINFER_RETURN_IF_ERROR(
        take("repeat-penalty", "general.sampling.penalty_repeat", s.repeat_penalty));
    MINFER_RETURN_IF_ERROR(
        take("repeat-last-n", "general.sampling.penalty_last_n", s.repeat_last_n));
  }
  if (o.greedy) s.set_greedy();
  s.seed = o.seed >= 0 ? static_cast<std::uint64_t>(o.seed) : std::random_device{}();
  MINFER_ASSIGN_OR_RETURN(s.logit_bias, parse_biases(o.logit_bias));
  return s;
}

struct Prompt {
  std::vector<engine::TokenId> ids;
  bool raw = false;
  std::string note;
};

Result<Prompt> make_prompt(const model::Model& model, const Options& options,
                           const std::string& text) {
  const text::Tokenizer* tokenizer = model.tokenizer();
  if (tokenizer == nullptr || !tokenizer->has_text()) {
    return unsupported(fmt::format(
        "{} has no tokenizer: only `minfer logits MODEL --tokens` can run it", options.model));
  }
  Prompt prompt;
  prompt.raw = options.raw;
  if (!options.raw && model.chat_template().empty()) {
    prompt.raw = true;
    prompt.note = "the model has no chat template: completing the prompt as it is (--raw)";
    if (!options.system.empty()) {
      return invalid_argument("--system needs a chat template, and this model has none");
    }
  }
  if (prompt.raw) {
    if (!options.system.empty()) return invalid_argument("--system and --raw exclude each other");
    MINFER_ASSIGN_OR_RETURN(prompt.ids,
                            tokenizer->encode(text, {.parse_special = true, .add_special = true}));
  } else {
    std::vector<chat::Message> messages;
    if (!options.system.empty()) messages.push_back({"system", options.system});
    messages.push_back({"user", text});
    MINFER_ASSIGN_OR_RETURN(const auto spans, chat::render(model.chat_template(), messages));
    std::vector<text::TextSpan> views;
    for (const chat::PromptSpan& span : spans) views.push_back({span.text, span.from_template});
    MINFER_ASSIGN_OR_RETURN(prompt.ids, tokenizer->encode(views, /*add_special=*/true));
  }
  if (prompt.ids.empty()) {
    return invalid_argument("the prompt is empty and the model has no begin-of-text token");
  }
  return prompt;
}

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
                    double total_seconds, std::uint64_t seed) {
  const plan::GraphCacheStats& stats = session.forward().cache().stats();
  const double prefill = result.prefill_seconds;
  std::string text = fmt::format("Prefill: {} tokens in {:.2f} s ({})\n", result.n_prefill, prefill,
                                 rate(result.n_prefill, prefill));
  text += fmt::format("Generated: {} tokens in {:.2f} s ({})\n", result.ids.size(),
                      result.decode_seconds, rate(result.n_decode_forwards, result.decode_seconds));
  text += fmt::format(
      "Total: {:.2f} s | graphs: built {} in {:.2f} ms, reused {} | peak memory {} | seed {}\n",
      total_seconds, stats.built, stats.build_seconds * 1e3, stats.reused,
      megabytes(peak_memory_bytes()), seed);
  return text;
}

std::string cut_note(const engine::GenerateResult& result, const Options& options,
                     std::int32_t n_ctx) {
  if (result.finish == engine::FinishReason::kLength && options.predict != 0) {
    return fmt::format("minfer: cut after {} tokens (--predict)\n", result.ids.size());
  }
  if (result.finish == engine::FinishReason::kContext) {
    return fmt::format("minfer: the context of {} is full: the answer is cut\n", n_ctx);
  }
  return {};
}

std::string json_result(const engine::GenerateResult& result, const Prompt& prompt,
                        std::uint64_t seed, const std::vector<std::string>& warnings) {
  JsonWriter json;
  json.begin_object();
  json.key("text").string(result.text);
  json.key("finish_reason").string(engine::finish_reason_name(result.finish));
  json.key("ids").begin_array();
  for (const engine::TokenId id : result.ids) json.integer(id);
  json.end_array();
  json.key("seed").unsigned_integer(seed);
  json.key("usage").begin_object();
  json.key("prompt_tokens").unsigned_integer(prompt.ids.size());
  json.key("completion_tokens").unsigned_integer(result.ids.size());
  json.end_object();
  json.key("timings").begin_object();
  json.key("prefill_seconds").number(result.prefill_seconds);
  json.key("decode_seconds").number(result.decode_seconds);
  json.key("sample_seconds").number(result.sample_seconds);
  json.end_object();
  json.key("warnings").begin_array();
  for (const std::string& warning : warnings) json.string(warning);
  json.end_array();
  json.end_object();
  return json.text() + "\n";
}

int exit_code(const engine::GenerateResult& result, const Output& out) {
  if (received_signal() != 0) return 128 + received_signal();
  if (!out.status().ok()) {
    print_error(out.status().message());
    return 1;
  }
  if (result.finish == engine::FinishReason::kFailed) {
    print_error(result.status.message());
    return exit_status(result.status.code());
  }
  return 0;
}

}  // namespace

Result<int> run_command(const Invocation& invocation, const EnvSwitches& env) {
  const Options& options = invocation.options;
  const auto start = Clock::now();
  MINFER_ASSIGN_OR_RETURN(const auto text, read_prompt(options));
  if (!text) {
    return invalid_argument(fmt::format(
        "no prompt given. Example: minfer {} \"Hello\", or a pipe: git diff | minfer {} \"Review "
        "this\"",
        options.model, options.model));
  }
  MINFER_ASSIGN_OR_RETURN(Loaded loaded, load(invocation, env));
  const model::Model& model = loaded.model();
  MINFER_ASSIGN_OR_RETURN(const Prompt prompt, make_prompt(model, options, *text));
  MINFER_ASSIGN_OR_RETURN(const sampling::SamplerOptions sampler_opts,
                          sampler_options(invocation, model.file()));
  const auto eog = model.tokenizer()->vocab().end_of_generation();
  MINFER_ASSIGN_OR_RETURN(sampling::Sampler sampler,
                          sampling::Sampler::create(sampler_opts, model.hparams().n_vocab, eog));

  engine::GenerateOptions generate_options;
  generate_options.n_predict =
      prompt.raw && !invocation.was_given("predict") ? kRawPredict : options.predict;
  MINFER_ASSIGN_OR_RETURN(
      SessionChoice choice,
      open_session(loaded, invocation, env, static_cast<std::int32_t>(prompt.ids.size()),
                   generate_options.n_predict));
  engine::Session& session = *choice.session;
  if (!options.dump_graph.empty() || !options.dump_graph_json.empty()) {
    MINFER_RETURN_IF_ERROR(dump_graphs(session, options, prompt.ids.size()));
    return 0;
  }

  std::vector<std::string> warnings;
  for (const std::string& note : {prompt.note, choice.note}) {
    if (!note.empty()) warnings.push_back(note);
  }
  if (!options.quiet) {
    print_note(header_line(loaded, choice));
    for (const std::string& warning : warnings) print_error(warning);
  }
  Output out;
  generate_options.ignore_eos = options.ignore_eos;
  generate_options.stops = options.stops;
  generate_options.eog = eog;
  generate_options.cancel = &stop_flag();
  generate_options.trace_timing = env.timing;
  if (!options.json) {
    generate_options.on_text = [&out](std::string_view piece) { return out.write(piece); };
  }
  TokenizerBytes bytes(*model.tokenizer());
  engine::GenerateResult result;
  {
    const StopTarget target(session);
    result = engine::generate(session, sampler, bytes, prompt.ids, generate_options);
  }
  if (options.json) {
    out.write(json_result(result, prompt, sampler_opts.seed, warnings));
  } else if (!result.text.empty() && !result.text.ends_with('\n') && out.terminal()) {
    out.write("\n");
  }
  if (!options.quiet) {
    // On a terminal the answer has ended its line by now; in a pipe stderr stands by itself.
    print_note(cut_note(result, options, choice.n_ctx));
    print_note(summary(result, session, std::chrono::duration<double>(Clock::now() - start).count(),
                       sampler_opts.seed));
  }
  if (env.op_timing) print_note(op_timing_table(*loaded.engine, session));
  return exit_code(result, out);
}

}  // namespace minfer::app

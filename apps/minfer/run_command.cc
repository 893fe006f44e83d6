// minfer MODEL [PROMPT]: one prompt, one answer.
#include <fmt/format.h>

#include <chrono>

#include "base/json_writer.h"
#include "base/write_file.h"
#include "chat_screen.h"
#include "commands.h"
#include "engine/choices.h"
#include "engine/generate.h"
#include "engine/grammar_vocab.h"
#include "ir/print.h"
#include "load.h"
#include "output_grammar.h"
#include "prefix.h"
#include "prompt_input.h"
#include "reply_reader.h"
#include "run_prompt.h"
#include "run_report.h"
#include "sampling_settings.h"
#include "signals.h"
#include "speculation_choice.h"
#include "terminal.h"

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
  /// One a choice; null where the answer is free.
  std::vector<std::unique_ptr<sampling::Constraint>> constraints;
};

int exit_code(std::span<const RunAnswer> answers, const Job& job, const Status& output) {
  if (received_signal() != 0) return 128 + received_signal();
  if (!output.ok()) {
    print_error(output.message());
    return 1;
  }
  int code = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const engine::GenerateResult& result = answers[i].result;
    if (result.finish == engine::FinishReason::kFailed) {
      print_error(result.status.message());
      return exit_status(result.status.code());
    }
    const bool context_full = result.finish == engine::FinishReason::kContext;
    const bool cut = context_full || result.finish == engine::FinishReason::kLength;
    if (code == 0 && cut && job.constraints[i] != nullptr && !job.constraints[i]->is_complete()) {
      print_error(incomplete_note(job.grammar, context_full));
      code = kExitIncomplete;
    }
  }
  return code;
}

Status no_prompt(const Options& options) {
  return invalid_argument(fmt::format(
      "no prompt given. Example: minfer {0} \"Hello\", or a pipe: git diff | minfer {0} \"Review "
      "this\"",
      options.model));
}

/// Options that exclude each other.
Status check_run_options(const Options& options, const OutputGrammar& grammar) {
  if (grammar && !options.tools.empty()) {
    return invalid_argument("--tools and a grammar of the answer exclude each other");
  }
  if (options.raw) {
    for (const auto& [name, value] :
         {std::pair("--system", &options.system), std::pair("--tools", &options.tools),
          std::pair("--messages", &options.messages)}) {
      if (!value->empty()) {
        return invalid_argument(fmt::format("{} and --raw exclude each other", name));
      }
    }
    if (options.reasoning != "auto") {
      return invalid_argument("--reasoning asks the chat template, and --raw leaves it out");
    }
  }
  if (options.messages.empty()) return ok_status();
  if (options.has_prompt || !options.files.empty() || !options.system.empty()) {
    return invalid_argument(
        "--messages holds the whole conversation: leave out the prompt, -f and "
        "--system");
  }
  return ok_status();
}

/// One for each choice: of the answer's grammar, or of calls.
Status make_constraints(Job& job, const Options& options) {
  const text::Tokenizer& tokenizer = *job.loaded.model().tokenizer();
  const auto n_vocab = static_cast<std::int32_t>(job.loaded.model().hparams().n_vocab);
  const bool calls = job.prompt.tool_program.grammar != nullptr;
  if (calls && job.grammar) {
    return invalid_argument("a request with tools and a grammar of the answer exclude each other");
  }
  const auto vocab = calls ? engine::make_grammar_vocab(tokenizer, n_vocab) : nullptr;
  if (calls) job.grammar.noun = "tool call";
  for (std::int32_t i = 0; i < options.choices; ++i) {
    auto constraint = calls ? engine::make_tool_constraint(job.prompt.tool_program, vocab)
                            : make_constraint(job.grammar, tokenizer, n_vocab);
    MINFER_RETURN_IF_ERROR(constraint.status());
    job.constraints.push_back(std::move(*constraint));
  }
  return ok_status();
}

Result<Job> prepare(const Invocation& invocation, const EnvSwitches& env) {
  const Options& options = invocation.options;
  Job job;
  MINFER_ASSIGN_OR_RETURN(job.sampling, sampler_settings(options));
  MINFER_ASSIGN_OR_RETURN(job.grammar, output_grammar(invocation));
  MINFER_RETURN_IF_ERROR(check_run_options(options, job.grammar));
  std::optional<std::string> text = "";
  if (options.messages.empty()) {
    MINFER_ASSIGN_OR_RETURN(text, read_prompt(options));
    // A program that is started without input often has an empty pipe.
    if (!text || (text->empty() && !options.has_prompt && options.files.empty())) {
      return no_prompt(options);
    }
  }
  MINFER_ASSIGN_OR_RETURN(job.loaded, load(invocation, env));
  const model::Model& model = job.loaded.model();
  MINFER_ASSIGN_OR_RETURN(job.prompt, make_prompt(model, options, *text));
  MINFER_RETURN_IF_ERROR(make_constraints(job, options));
  MINFER_RETURN_IF_ERROR(take_file_settings(invocation, model.file(), job.sampling));
  job.n_predict =
      job.prompt.raw && !invocation.was_given("predict") ? kRawPredict : options.predict;
  MINFER_ASSIGN_OR_RETURN(
      SessionPlan plan,
      plan_session(job.loaded, invocation, env, static_cast<std::int32_t>(job.prompt.ids.size()),
                   job.n_predict));
  if (options.choices > 1) {
    plan.options.max_sequences = options.choices + 1;  // and the prompt's
    plan.options.batch_size = std::max(plan.options.batch_size, options.choices);
  }
  MINFER_ASSIGN_OR_RETURN(job.choice, open_planned_session(job.loaded, plan));
  if (invocation.was_given("prefix")) {
    MINFER_ASSIGN_OR_RETURN(PrefixUse use,
                            use_prefix(options.prefix, job.loaded, job.choice, job.prompt.ids));
    job.n_prefix = use.n_tokens;
    if (!use.note.empty()) job.choice.warnings.push_back(std::move(use.note));
  }
  if (options.choices == 1) {
    MINFER_ASSIGN_OR_RETURN(
        job.speculation,
        open_speculation(job.loaded, job.choice, invocation, env,
                         std::span(job.prompt.ids).first(static_cast<std::size_t>(job.n_prefix))));
  }
  if (!job.prompt.note.empty()) job.choice.warnings.push_back(job.prompt.note);
  return job;
}

/// One choice on its way: what draws it and what reads it.
struct Drawing {
  sampling::Sampler sampler;
  std::unique_ptr<engine::TokenBytes> bytes;
  std::unique_ptr<ReplyReader> reader;
  ThoughtBudget budget;
  engine::GenerateOptions settings;
};

/// `screen`: null for an answer that is shown later, or not.
Result<std::unique_ptr<Drawing>> make_drawing(const Job& job, const Options& options,
                                              std::uint32_t index, ChatScreen* screen) {
  const text::Tokenizer& tokenizer = *job.loaded.model().tokenizer();
  const ReplyShape& shape = *job.prompt.shape;
  sampling::SamplerOptions sampling = job.sampling;
  sampling.attempt = index;
  const std::int64_t n_vocab = job.loaded.model().hparams().n_vocab;
  MINFER_ASSIGN_OR_RETURN(
      sampling::Sampler sampler,
      sampling::Sampler::create(sampling, n_vocab, tokenizer.vocab().end_of_generation(),
                                breaker_bytes(sampling, tokenizer, n_vocab)));
  MINFER_ASSIGN_OR_RETURN(std::vector<engine::TokenId> thought_end, shape.thought_end());
  ReplySinks sinks;
  if (screen != nullptr) {
    sinks.answer = [screen](std::string_view piece) { return screen->answer(piece); };
    sinks.thought = [screen](std::string_view piece) { return screen->thought(piece); };
  }
  const chat::ToolSet* tools = job.prompt.tools.empty() ? nullptr : &job.prompt.tools;
  auto drawing = std::make_unique<Drawing>(
      Drawing{std::move(sampler),
              shape.token_bytes(),
              std::make_unique<ReplyReader>(shape, shape.start(job.prompt.ids), tools,
                                            job.sampling.seed + index, std::move(sinks)),
              ThoughtBudget(options.reasoning_budget, std::move(thought_end)),
              {}});
  Drawing* self = drawing.get();
  sampling::Constraint* constraint = job.constraints[index].get();
  engine::GenerateOptions& settings = drawing->settings;
  settings.n_predict = job.n_predict;
  settings.ignore_eos = options.ignore_eos;
  settings.stops = options.stops;
  settings.eog = tokenizer.vocab().end_of_generation();
  settings.cancel = &stop_flag();
  settings.window = job.prompt.ids;
  drawing->sampler.set_constraint(constraint);
  settings.on_text = [self](std::string_view piece) { return self->reader->feed(piece); };
  settings.forced = [self, constraint, tools] {
    const bool thinks = self->reader->in_thought();
    const auto token = self->budget.next(thinks);
    // A grammar is of the answer: a thought before it is free. That of calls knows of thoughts.
    const bool free = thinks || token.has_value();
    if (tools == nullptr) self->sampler.set_constraint(free ? nullptr : constraint);
    return token;
  };
  return drawing;
}

Result<std::vector<RunAnswer>> generate(Job& job, const Options& options, const EnvSwitches& env,
                                        ChatScreen& screen) {
  std::vector<std::unique_ptr<Drawing>> drawings;
  for (std::int32_t i = 0; i < options.choices; ++i) {
    MINFER_ASSIGN_OR_RETURN(auto drawing,
                            make_drawing(job, options, static_cast<std::uint32_t>(i),
                                         i == 0 && !options.json ? &screen : nullptr));
    drawing->settings.trace_timing = env.timing;
    drawings.push_back(std::move(drawing));
  }
  // Whoever has seen the header gets a summary too.
  const StopTarget target(*job.choice.session);
  print_header(job.loaded, job.choice, options);
  std::optional<StopTarget> draft_target;
  if (engine::DraftModel* draft = job.speculation.draft_model; draft != nullptr) {
    draft_target.emplace(draft->session());
  }
  const auto rest = std::span(job.prompt.ids).subspan(static_cast<std::size_t>(job.n_prefix));
  std::vector<engine::GenerateResult> results;
  if (drawings.size() == 1) {
    Drawing& one = *drawings.front();
    engine::LogitsSource* source = job.choice.session.get();
    if (job.speculation.source != nullptr) source = job.speculation.source.get();
    results.push_back(engine::generate(*source, one.sampler, *one.bytes, rest, one.settings));
  } else {
    std::vector<engine::Choice> choices;
    for (const auto& one : drawings) {
      choices.push_back({&one->sampler, one->bytes.get(), one->settings});
    }
    MINFER_ASSIGN_OR_RETURN(results, engine::generate_choices(*job.choice.session, choices, rest));
  }
  std::vector<RunAnswer> answers;
  for (std::size_t i = 0; i < drawings.size(); ++i) {
    drawings[i]->reader->finish();
    answers.push_back({std::move(results[i]), drawings[i]->reader->reply()});
  }
  return answers;
}

/// What was not shown while it was drawn: calls, and all choices but the first.
void show_rest(std::span<const RunAnswer> answers, bool quiet, ChatScreen& screen) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const chat::Reply& reply = answers[i].reply;
    if (i > 0) {
      screen.end_reply();
      if (!quiet) print_note(fmt::format("--- {} of {} ---\n", i + 1, answers.size()));
      screen.thought(reply.reasoning);
      screen.answer(reply.content);
    }
    for (const chat::ToolCall& call : reply.tool_calls) {
      if (!reply.content.empty() && !reply.content.ends_with('\n')) screen.answer("\n");
      JsonWriter name;
      name.string(call.name);
      screen.answer(
          fmt::format("{{\"name\": {}, \"arguments\": {}}}\n", name.text(), call.arguments));
    }
  }
  screen.end_reply();
}

/// --session: the prompt is the next message of the conversation in the file.
Result<int> run_in_session(const Invocation& invocation, const EnvSwitches& env) {
  for (const char* name : {"raw", "messages", "tools", "tool-choice", "choices", "json",
                           "dump-graph", "dump-graph-json"}) {
    if (invocation.was_given(name)) {
      return invalid_argument(fmt::format("--session and --{} exclude each other", name));
    }
  }
  MINFER_ASSIGN_OR_RETURN(auto text, read_prompt(invocation.options));
  if (!text || text->empty()) return no_prompt(invocation.options);
  Invocation chat = invocation;
  chat.options.prompt = std::move(*text);
  chat.options.has_prompt = true;
  chat.options.single_turn = true;
  return chat_command(chat, env);
}

}  // namespace

Result<int> run_command(const Invocation& invocation, const EnvSwitches& env) {
  const Options& options = invocation.options;
  if (invocation.was_given("session")) return run_in_session(invocation, env);
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
  ChatScreen screen({.color = use_color(options),
                     .quiet = options.quiet,
                     .hide_thoughts = options.hide_reasoning,
                     .bare = options.choices == 1});
  MINFER_ASSIGN_OR_RETURN(const std::vector<RunAnswer> answers,
                          generate(job, options, env, screen));
  const std::string cut = cut_note(answers.front().result, options, job.choice.n_ctx);
  if (!cut.empty()) job.choice.warnings.push_back(cut);
  const RunReport report = {
      .answers = answers,
      .prompt = job.prompt.ids,
      .seed = job.sampling.seed,
      .load_seconds = job.loaded.seconds,
      .total_seconds = std::chrono::duration<double>(Clock::now() - start).count(),
      .ahead = job.speculation.counts(),
      .warnings = job.choice.warnings};
  Output out;
  if (options.json) {
    out.write(run_json(report));
  } else {
    show_rest(answers, options.quiet, screen);
  }
  if (!options.quiet) {
    if (!cut.empty()) print_error(cut);
    print_note(run_summary(report, session));
  }
  if (env.op_timing) print_note(op_timing_table(*job.loaded.engine, session.forward()));
  return exit_code(answers, job, options.json ? out.status() : screen.status());
}

}  // namespace minfer::app

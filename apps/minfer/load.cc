#include "load.h"

#include <fmt/format.h>

#include <chrono>

#include "backend/known_backends.h"
#include "base/memory.h"
#include "base/printable.h"
#include "cpu/cpu_backend.h"
#include "engine/context_size.h"
#include "signals.h"
#include "terminal.h"

namespace minfer::app {
namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// "SmolLM2 135M | llama Q4_1, 98.4 MB | context 8192 (trained) | 2 threads (physical cores) |
/// avx2"
std::string header_line(const Loaded& loaded, const SessionPlan& session) {
  const model::Model& model = loaded.model();
  return fmt::format("{} | {} {}, {} | context {} ({}) | {} thread{} ({}) | {}\n",
                     printable(model.display_name()), model.arch_name(), model.type_name(),
                     megabytes(model.weight_bytes()), session.n_ctx, session.n_ctx_reason,
                     loaded.threads.n_threads, loaded.threads.n_threads == 1 ? "" : "s",
                     loaded.threads.reason, cpu::isa_name(loaded.isa));
}

/// The context that the options ask for, or the automatic one.
engine::ContextRequest context_request(const Options& options, const MemoryLimit& memory,
                                       const model::Model& model, const backend::Backend& cpu,
                                       backend::KvFormat format) {
  engine::ContextRequest request;
  request.wanted = options.ctx_size;
  request.trained = model.hparams().n_ctx_train;
  request.weight_bytes = model.weight_bytes();
  request.kv_bytes_per_position =
      model.kv_bytes_per_position(cpu, format) * static_cast<std::uint64_t>(options.choices);
  request.memory = memory;
  return request;
}

/// Refuses backends that this build lacks, and notes GPU options that change nothing.
Status check_backends(const Options& options, std::vector<std::string>& warnings) {
  std::string_view list = options.backend;
  if (list == "auto") list = {};
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (Status status = backend::check_backend_name(list.substr(0, comma)); !status.ok()) {
      return invalid_argument("--backend: " + status.message());
    }
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  const std::string& layers = options.gpu_layers;
  const bool number =
      !layers.empty() && layers.find_first_not_of("0123456789") == std::string::npos;
  if (!number && layers != "auto" && layers != "all") {
    return invalid_argument(
        fmt::format("--gpu-layers does not take \"{}\": a number, auto or all", layers));
  }
  if (layers != "auto" && layers != "0") {
    warnings.push_back("this build has no GPU backend: --gpu-layers changes nothing");
  }
  return ok_status();
}

/// Why `copy_bytes` of re-ordered weights should not be made: they, the KV and a tenth do not fit.
/// Empty: they do.
std::string reason_against_copy(const Options& options, const MemoryLimit& memory,
                                const model::Model& model, const backend::Backend& cpu,
                                std::uint64_t copy_bytes) {
  std::uint64_t kv_bytes = 0;
  const auto format = backend::kv_format_from_name(options.kv_type);
  if (!format.ok()) return {};  // reported where the session is made
  const engine::ContextRequest request = context_request(options, memory, model, cpu, *format);
  if (const auto context = engine::choose_context(request); context.ok()) {
    kv_bytes = static_cast<std::uint64_t>(context->n_ctx) * request.kv_bytes_per_position;
  }
  if (engine::copy_fits(memory, copy_bytes, kv_bytes)) return {};
  return fmt::format(
      "weights stay in the order of the file, which is slower: re-ordered ({}) with a KV of {} "
      "they do not fit in the {} of {}",
      megabytes(copy_bytes), megabytes(kv_bytes), megabytes(memory.bytes), memory.reason);
}

}  // namespace

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

Result<Loaded> load(const Invocation& invocation, const EnvSwitches& env) {
  const Options& options = invocation.options;
  const double start = now_seconds();
  const StopNote note(options.quiet ? nullptr : "stopped while loading");
  Loaded loaded;
  MINFER_RETURN_IF_ERROR(check_backends(options, loaded.warnings));
  MINFER_ASSIGN_OR_RETURN(loaded.isa, cpu::choose_isa(env.isa));
  loaded.threads =
      options.threads > 0 ? ThreadChoice{options.threads, "--threads"} : default_threads();

  model::LoadOptions load_options;
  load_options.check_tensors = options.check_tensors;
  std::unique_ptr<model::Model> model;
  {
    ProgressBar bar("checking weights", !options.quiet && options.check_tensors);
    load_options.progress = [&bar](double share) {
      bar.update(share);
      return true;
    };
    MINFER_ASSIGN_OR_RETURN(model, model::Model::load(options.model, load_options));
  }
  loaded.memory = memory_limit();  // with the file mapped, before weights are copied
  ProgressBar bar("loading weights", !options.quiet);
  cpu::CpuOptions cpu_options;
  cpu_options.n_threads = loaded.threads.n_threads;
  cpu_options.isa = loaded.isa;
  cpu_options.op_timing = env.op_timing;
  cpu_options.load_progress = [&bar](double share) { bar.update(share); };
  cpu_options.repack = !options.no_repack;
  const model::Model* loading = model.get();
  const backend::Backend* cpu = nullptr;
  cpu_options.may_copy = [&](std::uint64_t copy_bytes) {
    std::string why = reason_against_copy(options, loaded.memory, *loading, *cpu, copy_bytes);
    if (why.empty()) return true;
    loaded.warnings.push_back(std::move(why));
    return false;
  };
  engine::BackendList backends;
  MINFER_ASSIGN_OR_RETURN(auto backend, cpu::make_cpu_backend(cpu_options));
  cpu = backend.get();
  backends.push_back(std::move(backend));
  MINFER_ASSIGN_OR_RETURN(loaded.engine,
                          engine::Engine::create(std::move(model), std::move(backends)));
  loaded.seconds = now_seconds() - start;
  return loaded;
}

Result<SessionPlan> plan_session(const Loaded& loaded, const Invocation& invocation,
                                 const EnvSwitches& env, std::int32_t n_prompt,
                                 std::int32_t n_predict) {
  const Options& options = invocation.options;
  MINFER_ASSIGN_OR_RETURN(const backend::KvFormat format,
                          backend::kv_format_from_name(options.kv_type));
  const model::Model& model = loaded.model();
  engine::ContextRequest request =
      context_request(options, loaded.memory, model, loaded.engine->cpu(), format);
  request.n_prompt = n_prompt;
  request.n_predict = n_predict;
  MINFER_ASSIGN_OR_RETURN(const engine::ContextChoice context, engine::choose_context(request));

  SessionPlan plan;
  plan.options.n_ctx = context.n_ctx;
  plan.options.batch_size = options.batch_size;
  plan.options.kv_format = format;
  plan.options.fuse_qkv = !env.no_fuse_qkv;
  plan.options.fuse_ffn = !env.no_fuse_ffn;
  plan.options.trace_graph = env.graph_trace;
  plan.options.trace_rebuilds = env.rebuild_trace;
  plan.options.dump_dir = env.graph_dump;
  plan.n_ctx = context.n_ctx;
  plan.n_ctx_reason = context.reason;
  plan.warnings = loaded.warnings;
  if (const text::Tokenizer* tokenizer = model.tokenizer(); tokenizer != nullptr) {
    plan.warnings.insert(plan.warnings.end(), tokenizer->warnings().begin(),
                         tokenizer->warnings().end());
  }
  if (!context.note.empty()) plan.warnings.push_back(context.note);
  return plan;
}

Result<SessionChoice> open_planned_session(const Loaded& loaded, const SessionPlan& plan) {
  SessionChoice choice;
  static_cast<SessionPlan&>(choice) = plan;
  auto session = engine::Session::create(*loaded.engine, choice.options);
  if (!session.ok()) {
    if (session.status().code() != StatusCode::kOutOfMemory) return session.status();
    return session.status().with_context(
        fmt::format("no room for a context of {} (try a smaller --ctx-size)", choice.n_ctx));
  }
  choice.session = std::move(*session);
  return choice;
}

Result<SessionChoice> open_session(const Loaded& loaded, const Invocation& invocation,
                                   const EnvSwitches& env, std::int32_t n_prompt,
                                   std::int32_t n_predict) {
  MINFER_ASSIGN_OR_RETURN(const SessionPlan plan,
                          plan_session(loaded, invocation, env, n_prompt, n_predict));
  return open_planned_session(loaded, plan);
}

void print_header(const Loaded& loaded, const SessionPlan& session, const Options& options) {
  if (options.quiet) return;
  print_note(header_line(loaded, session));
  for (const std::string& warning : session.warnings) print_error(warning);
}

std::string op_timing_table(const engine::Engine& engine, plan::Forward& forward) {
  std::string text = fmt::format("{:<28} {:>9} {:>10} {:>7} {:>9} {:>9}\n", "op", "calls", "ms",
                                 "share", "GB/s", "GFLOP/s");
  const std::vector<backend::OpTiming> timings = engine.cpu().take_op_timings();
  double total = 0;
  for (const backend::OpTiming& timing : timings) total += timing.seconds;
  for (const backend::OpTiming& timing : timings) {
    const double seconds = timing.seconds > 0 ? timing.seconds : 1e-12;
    text += fmt::format("{:<28} {:>9} {:>10.3f} {:>6.1f}% {:>9.2f} {:>9.2f}\n", timing.op,
                        timing.calls, timing.seconds * 1e3, timing.seconds / total * 100,
                        static_cast<double>(timing.bytes) / seconds / 1e9,
                        static_cast<double>(timing.flops) / seconds / 1e9);
  }
  const std::int32_t n_layer = engine.model().hparams().n_layer;
  if (auto decode = forward.compiled(1, 1); decode.ok()) {
    std::int32_t barriers = 0;
    for (const plan::Split& split : (*decode)->splits) barriers += split.program->barriers();
    text += fmt::format("barriers a decode step: {} ({:.1f} a layer)\n", barriers,
                        static_cast<double>(barriers) / n_layer);
  }
  return text;
}

}  // namespace minfer::app

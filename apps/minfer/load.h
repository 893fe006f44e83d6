// Loading a model for a command: threads, instruction set, backend, weights, session.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/memory.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "cpu/isa.h"
#include "engine/engine.h"
#include "engine/session.h"
#include "parse.h"

namespace minfer::app {

struct Loaded {
  std::unique_ptr<engine::Engine> engine;
  ThreadChoice threads;
  cpu::Isa isa{};
  MemoryLimit memory;  // with the file mapped, before weights were copied
  std::vector<std::string> warnings;
  double seconds = 0;

  [[nodiscard]] const model::Model& model() const { return engine->model(); }
};

/// Opens the model and hands its weights to the CPU, with a progress bar on a terminal.
Result<Loaded> load(const Invocation& invocation, const EnvSwitches& env);

struct SessionPlan {
  engine::SessionOptions options;
  std::int32_t n_ctx = 0;
  std::string n_ctx_reason;
  std::vector<std::string> warnings;  // lines for the user: of loading, tokenizer and context
};

/// What a session will be, with the context of engine/context_size.h. `n_prompt`, `n_predict`: see
/// there.
Result<SessionPlan> plan_session(const Loaded& loaded, const Invocation& invocation,
                                 const EnvSwitches& env, std::int32_t n_prompt,
                                 std::int32_t n_predict);

struct SessionChoice : SessionPlan {
  std::unique_ptr<engine::Session> session;
};

/// A plan, opened.
Result<SessionChoice> open_planned_session(const Loaded& loaded, const SessionPlan& plan);
/// plan_session(), opened.
Result<SessionChoice> open_session(const Loaded& loaded, const Invocation& invocation,
                                   const EnvSwitches& env, std::int32_t n_prompt,
                                   std::int32_t n_predict);

/// Unless --quiet: the header and the session's warnings, to stderr.
void print_header(const Loaded& loaded, const SessionPlan& session, const Options& options);

/// The op timings of MINFER_OP_TIMING as a table.
std::string op_timing_table(const engine::Engine& engine, plan::Forward& forward);

/// "98.4 MB".
std::string megabytes(std::uint64_t bytes);

}  // namespace minfer::app

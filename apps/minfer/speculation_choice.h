// What --spec asks for, made ready: the draft and the source that runs it ahead of the decode loop.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/draft_model.h"
#include "engine/prompt_lookup.h"
#include "engine/speculation.h"
#include "load.h"

namespace minfer::app {

/// Must go before the session that it runs ahead of.
struct SpeculationChoice {
  Loaded draft_loaded;  // with a draft model
  std::unique_ptr<engine::Draft> draft;
  engine::DraftModel* draft_model = nullptr;          // `draft`, if it is one
  std::unique_ptr<engine::SpeculativeSource> source;  // null: off

  [[nodiscard]] engine::SpeculationCounts counts() const {
    return source != nullptr ? source->counts() : engine::SpeculationCounts{};
  }
};

/// The draft alone, or none. Loads the draft model where --spec names one. Errors: those of loading
/// (with "--spec" before them), another vocabulary.
Result<SpeculationChoice> open_draft(const Loaded& loaded, std::int32_t n_ctx,
                                     const Invocation& invocation, const EnvSwitches& env);

/// How much is drafted, by --spec and --spec-n.
engine::GainOptions speculation_gain(const Options& options);
/// What speculation measures time with.
engine::SpeculativeSource::Clock speculation_clock();

/// open_draft(), and the source before `session` that uses it. `before`: the tokens in the session.
Result<SpeculationChoice> open_speculation(const Loaded& loaded, const SessionChoice& session,
                                           const Invocation& invocation, const EnvSwitches& env,
                                           std::span<const engine::TokenId> before);

}  // namespace minfer::app

#include "speculation_choice.h"

#include <chrono>

namespace minfer::app {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Status open_draft_model(const Loaded& loaded, std::int32_t n_ctx, const Invocation& invocation,
                        const EnvSwitches& env, SpeculationChoice& choice) {
  Invocation draft = invocation;
  draft.options.model = invocation.options.spec;
  draft.options.ctx_size = n_ctx;
  EnvSwitches quiet;  // what is observed is the model, not its draft
  quiet.isa = env.isa;
  MINFER_ASSIGN_OR_RETURN(choice.draft_loaded, load(draft, quiet));
  const text::Tokenizer* tokenizer = choice.draft_loaded.model().tokenizer();
  const text::Vocab& vocab = loaded.model().tokenizer()->vocab();
  if (tokenizer == nullptr) return invalid_argument("the draft model has no tokenizer");
  MINFER_RETURN_IF_ERROR(engine::check_same_vocabulary(vocab, tokenizer->vocab()));
  MINFER_ASSIGN_OR_RETURN(SessionChoice opened,
                          open_session(choice.draft_loaded, draft, quiet, /*n_prompt=*/0,
                                       /*n_predict=*/0));
  auto model = std::make_unique<engine::DraftModel>(
      std::move(opened.session), loaded.model().hparams().n_vocab, vocab.end_of_generation());
  choice.draft_model = model.get();
  choice.draft = std::move(model);
  return ok_status();
}

}  // namespace

engine::GainOptions speculation_gain(const Options& options) {
  return {.max_draft = options.spec_n, .always_on = options.spec != "auto"};
}

engine::SpeculativeSource::Clock speculation_clock() { return steady_seconds; }

Result<SpeculationChoice> open_draft(const Loaded& loaded, std::int32_t n_ctx,
                                     const Invocation& invocation, const EnvSwitches& env) {
  const std::string& mode = invocation.options.spec;
  SpeculationChoice choice;
  if (mode == "off") return choice;
  if (mode == "auto" || mode == "lookup") {
    choice.draft = std::make_unique<engine::PromptLookup>();
  } else {
    const Status opened = open_draft_model(loaded, n_ctx, invocation, env, choice);
    if (!opened.ok()) return opened.with_context("--spec " + mode);
  }
  return choice;
}

Result<SpeculationChoice> open_speculation(const Loaded& loaded, const SessionChoice& session,
                                           const Invocation& invocation, const EnvSwitches& env,
                                           std::span<const engine::TokenId> before) {
  MINFER_ASSIGN_OR_RETURN(SpeculationChoice choice,
                          open_draft(loaded, session.n_ctx, invocation, env));
  if (choice.draft == nullptr) return choice;
  choice.source = std::make_unique<engine::SpeculativeSource>(*session.session, *choice.draft,
                                                              speculation_gain(invocation.options),
                                                              steady_seconds, before);
  return choice;
}

}  // namespace minfer::app

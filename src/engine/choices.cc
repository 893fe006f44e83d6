#include "engine/choices.h"

#include <chrono>
#include <deque>

#include "engine/growing_reply.h"

namespace minfer::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A reply that grows in a sequence of its own.
struct Growing {
  GrowingReply reply;
  std::unique_ptr<BranchingSource> source;
  bool ended = false;
};

}  // namespace

Result<std::vector<GenerateResult>> generate_choices(Session& session,
                                                     std::span<const Choice> choices,
                                                     std::span<const TokenId> prompt) {
  std::deque<Growing> all;
  for (const Choice& choice : choices) {
    all.push_back({GrowingReply(*choice.sampler, *choice.bytes, choice.options, session.n_ctx()),
                   nullptr, choice.options.n_predict == 0});
    all.back().reply.begin(prompt);
  }
  GenerateResult times;
  if (!all.front().ended) {
    const auto start = Clock::now();
    const std::int32_t before = session.cursor();
    auto logits = session.advance(prompt);
    times.prefill_seconds = seconds_since(start);
    times.n_prefill = session.cursor() - before;
    for (Growing& one : all) {
      if (logits.ok()) {
        one.ended = one.reply.step(*logits, session.cursor());
      } else {
        one.reply.fail(logits.status());
        one.ended = true;
      }
      if (!one.ended) {
        MINFER_ASSIGN_OR_RETURN(one.source, session.fork());
      }
    }
  }

  const auto start = Clock::now();
  std::vector<Session*> sessions;
  std::vector<TokenId> tokens;
  std::vector<Growing*> live;
  while (true) {
    sessions.clear();
    tokens.clear();
    live.clear();
    for (Growing& one : all) {
      if (one.ended) continue;
      live.push_back(&one);
      sessions.push_back(static_cast<Session*>(one.source.get()));
      tokens.push_back(one.reply.last());
    }
    if (live.empty()) break;
    const auto logits = advance_together(sessions, tokens);
    for (std::size_t i = 0; i < live.size(); ++i) {
      Growing& one = *live[i];
      if (logits.ok()) {
        one.ended = one.reply.step(logits->row(static_cast<std::int32_t>(i)), one.source->cursor());
        ++times.n_decode_steps;
      } else {
        one.reply.fail(logits.status());
        one.ended = true;
      }
      // The pages of a reply that has ended are free for the others.
      if (one.ended) one.source.reset();
    }
  }
  times.decode_seconds = seconds_since(start);

  std::vector<GenerateResult> results;
  for (Growing& one : all) results.push_back(one.reply.finish());
  results.front().prefill_seconds = times.prefill_seconds;
  results.front().n_prefill = times.n_prefill;
  results.front().decode_seconds = times.decode_seconds;
  results.front().n_decode_steps = times.n_decode_steps;
  return results;
}

}  // namespace minfer::engine

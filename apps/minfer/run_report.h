// What a single run tells when it is over: the summary on stderr, the object of --json.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "chat/reply_parser.h"
#include "engine/generate.h"
#include "engine/session.h"
#include "engine/speculation.h"

namespace minfer::app {

/// One answer.
struct RunAnswer {
  engine::GenerateResult result;
  chat::Reply reply;

  /// "tool_calls" where the model ended its turn with calls.
  [[nodiscard]] std::string_view finish_reason() const;
};

struct RunReport {
  std::span<const RunAnswer> answers;  // at least one; times are in the first
  std::span<const engine::TokenId> prompt;
  std::uint64_t seed = 0;
  double load_seconds = 0;
  double total_seconds = 0;
  engine::SpeculationCounts ahead;
  std::vector<std::string> warnings;
};

std::string run_summary(const RunReport& report, engine::Session& session);
std::string run_json(const RunReport& report);

}  // namespace minfer::app

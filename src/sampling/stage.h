// A stage of the sampler's chain: what it works on, and the table of all of them.
//
// To add one: a row in stages.def where it belongs, a function in one of the files named there, and
// its numbers in sampler_numbers.def.
// Thread-safety: one thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/status.h"
#include "sampling/candidates.h"
#include "sampling/constraint.h"
#include "sampling/dry.h"
#include "sampling/history.h"
#include "sampling/random.h"
#include "sampling/row.h"
#include "sampling/sampler_options.h"

namespace minfer::sampling {

/// The choice of one token on its way through the chain.
struct Step {
  const SamplerOptions& options;
  std::span<const TokenId> banned;
  std::span<const TokenId> never_penalized;
  std::int64_t position;
  Draws draws;
  const History& history;
  Constraint* constraint;  // null: none

  Row& row;                // what stages up to the mask change
  Dry& dry;                //
  Candidates& candidates;  // what stages behind the mask cut
  double& mu;              // mirostat's state
  std::optional<TokenId> chosen;
};

struct Stage {
  std::string_view name;
  Status (*run)(Step& step);
};

/// In order.
std::span<const Stage> stages();

#define MINFER_STAGE(name) Status stage_##name(Step& step);
#include "sampling/stages.def"
#undef MINFER_STAGE

}  // namespace minfer::sampling

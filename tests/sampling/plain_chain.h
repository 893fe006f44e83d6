// The sampler's chain as its description reads: full sorts, full copies, binary64 and libm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sampling/sampler_options.h"

namespace minfer::sampling {

struct PlainInput {
  std::vector<float> logits;
  SamplerOptions options;
  std::vector<TokenId> history;  // oldest first
  std::vector<TokenId> eog;
  std::vector<TokenId> banned;
  std::vector<bool> allowed;             // empty: all
  std::vector<std::string> token_bytes;  // empty: no sequence breakers
  std::int64_t position = 0;
  double mu = 0.0;
};

struct PlainEntry {
  TokenId id;
  double logit;
  double p;
};

/// The tokens that are left when the stages up to "xtc" have run, likeliest first, with their
/// probabilities at temperature 1.
std::vector<PlainEntry> plain_candidates(const PlainInput& input);

/// The token; `mu` becomes what it is after it. -1: no token is legal.
TokenId plain_sample(PlainInput& input);

}  // namespace minfer::sampling

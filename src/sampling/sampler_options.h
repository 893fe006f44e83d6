// SamplerOptions: what a user can set about the choice of a token.
//
// The numbers are declared once, in sampler_numbers.def.
// Thread-safety: values and constants.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "sampling/token_id.h"

namespace minfer::sampling {

/// Tokens that a window holds at most; a window of -1 holds so many.
inline constexpr std::int32_t kMaxWindow = 1 << 20;

/// The bytes of each token, [n_vocab]; null where nobody needs them.
using TokenStrings = std::shared_ptr<const std::vector<std::string>>;

/// The options that are one number.
struct SamplerNumbers {
#define MINFER_SAMPLER_NUMBER(field, type, default_value, low, high, option, value, key, help) \
  type field = static_cast<type>(default_value);
#include "sampling/sampler_numbers.def"
#undef MINFER_SAMPLER_NUMBER
};

/// A row of sampler_numbers.def.
struct SamplerNumberRow {
  std::string_view option;  // "top-k"
  std::variant<float SamplerNumbers::*, std::int32_t SamplerNumbers::*> field;
  double low, high;
  std::string_view file_key;  // "general.sampling.top_k"; empty: none
};
std::span<const SamplerNumberRow> sampler_number_table();

struct LogitBias {
  TokenId token = 0;
  float bias = 0.0F;
};

struct SamplerOptions : SamplerNumbers {
  std::uint64_t seed = 42;
  std::uint32_t attempt = 0;  // the choice's index, or how often the reply was drawn again
  std::vector<LogitBias> logit_bias;
  /// Texts that no repetition of DRY's reaches across.
  std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};

  /// Greedy, all penalties off.
  void set_greedy();

  /// kInvalidArgument: a number out of its range, a bias for an id outside the vocabulary or one
  /// that is no number or above 1e30.
  [[nodiscard]] Status check(std::int64_t n_vocab) const;
};

}  // namespace minfer::sampling

#include "sampling/sampler_options.h"

#include <fmt/format.h>

namespace minfer::sampling {
namespace {

/// The file's key, or nothing where a row has none.
constexpr std::string_view key_of(std::string_view key) {
  constexpr std::string_view kPrefix = "general.sampling.";
  return key == kPrefix ? std::string_view() : key;
}

constexpr SamplerNumberRow kNumbers[] = {
#define MINFER_SAMPLER_NUMBER(field, type, default_value, low, high, option, value, key, help) \
  {option, &SamplerNumbers::field, low, high, key_of("general.sampling." key)},
#include "sampling/sampler_numbers.def"
#undef MINFER_SAMPLER_NUMBER
};

// Larger ones could make a logit infinite.
constexpr float kMaxBias = 1e30F;

}  // namespace

std::span<const SamplerNumberRow> sampler_number_table() { return kNumbers; }

void SamplerOptions::set_greedy() {
  temp = 0.0F;
  repeat_penalty = 1.0F;
  frequency_penalty = 0.0F;
  presence_penalty = 0.0F;
  dry_multiplier = 0.0F;
}

Status SamplerOptions::check(std::int64_t n_vocab) const {
  for (const SamplerNumberRow& row : kNumbers) {
    const double value =
        std::visit([this](auto field) { return static_cast<double>(this->*field); }, row.field);
    if (value >= row.low && value <= row.high) continue;
    return invalid_argument(fmt::format("{} is {}: it must be between {} and {}", row.option, value,
                                        row.low, row.high));
  }
  for (const LogitBias& bias : logit_bias) {
    if (bias.token < 0 || bias.token >= n_vocab) {
      return invalid_argument(fmt::format(
          "logit-bias: token {} is not in the vocabulary of {} tokens", bias.token, n_vocab));
    }
    if (!(bias.bias <= kMaxBias)) {
      return invalid_argument(fmt::format("logit-bias: the bias of token {} is {}: at most {}",
                                          bias.token, bias.bias, kMaxBias));
    }
  }
  return ok_status();
}

}  // namespace minfer::sampling

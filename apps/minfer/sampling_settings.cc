#include "sampling_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>

#include "base/printable.h"

namespace minfer::app {
namespace {

Result<sampling::LogitBias> parse_bias(std::string_view text) {
  sampling::LogitBias bias;
  const char* end = text.data() + text.size();
  const auto id = std::from_chars(text.data(), end, bias.token);
  const bool colon = id.ec == std::errc() && bias.token >= 0 && id.ptr != end && *id.ptr == ':';
  const auto value = colon ? std::from_chars(id.ptr + 1, end, bias.bias) : id;
  if (!colon || value.ec != std::errc() || value.ptr != end || std::isnan(bias.bias)) {
    return invalid_argument(fmt::format(
        "--logit-bias does not take \"{}\": write ID:BIAS, as in 42:-100", printable(text)));
  }
  return bias;
}

const OptionRow& row_of(std::string_view option) {
  return *std::ranges::find_if(option_table(),
                               [&](const OptionRow& row) { return row.name == option; });
}

template <class T>
Status take(const Invocation& invocation, const gguf::File& file, std::string_view option,
            std::string_view key, T& to) {
  if (invocation.was_given(option) || !file.has(key)) return ok_status();
  const OptionRow& row = row_of(option);
  const Result<double> value = file.f64(key);
  if (!value.ok()) return corrupt(value.status().message());
  if (!(*value >= row.low && *value <= row.high)) {
    return corrupt(
        fmt::format("{}: {} is {}, which is not from {} to {}: give --{}, or --sampling builtin",
                    invocation.options.model, key, *value, row.low, row.high, option));
  }
  to = static_cast<T>(*value);
  return ok_status();
}

}  // namespace

Result<sampling::SamplerOptions> sampler_settings(const Options& options) {
  sampling::SamplerOptions settings;
  settings.temp = options.temp;
  settings.top_k = options.top_k;
  settings.top_p = options.top_p;
  settings.min_p = options.min_p;
  settings.repeat_penalty = options.repeat_penalty;
  settings.repeat_last_n = options.repeat_last_n;
  settings.frequency_penalty = options.frequency_penalty;
  settings.presence_penalty = options.presence_penalty;
  if (options.greedy) settings.set_greedy();
  settings.seed =
      options.seed >= 0 ? static_cast<std::uint64_t>(options.seed) : std::random_device{}();
  for (const std::string& text : options.logit_bias) {
    MINFER_ASSIGN_OR_RETURN(const sampling::LogitBias bias, parse_bias(text));
    settings.logit_bias.push_back(bias);
  }
  return settings;
}

Status take_file_settings(const Invocation& invocation, const gguf::File& file,
                          sampling::SamplerOptions& settings) {
  if (invocation.options.sampling != "file" || invocation.options.greedy) return ok_status();
  const auto take_to = [&](std::string_view option, std::string_view key, auto& to) {
    return take(invocation, file, option, key, to);
  };
  MINFER_RETURN_IF_ERROR(take_to("temp", "general.sampling.temp", settings.temp));
  MINFER_RETURN_IF_ERROR(take_to("top-k", "general.sampling.top_k", settings.top_k));
  MINFER_RETURN_IF_ERROR(take_to("top-p", "general.sampling.top_p", settings.top_p));
  MINFER_RETURN_IF_ERROR(take_to("min-p", "general.sampling.min_p", settings.min_p));
  MINFER_RETURN_IF_ERROR(
      take_to("repeat-penalty", "general.sampling.penalty_repeat", settings.repeat_penalty));
  return take_to("repeat-last-n", "general.sampling.penalty_last_n", settings.repeat_last_n);
}

}  // namespace minfer::app

#include "sampling_settings.h"

#include <fmt/format.h>

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

template <class T>
Status take(const Invocation& invocation, const gguf::File& file,
            const sampling::SamplerNumberRow& row, T& to) {
  if (invocation.was_given(row.option) || !file.has(row.file_key)) return ok_status();
  const Result<double> value = file.f64(row.file_key);
  if (!value.ok()) return corrupt(value.status().message());
  if (!(*value >= row.low && *value <= row.high)) {
    return corrupt(
        fmt::format("{}: {} is {}, which is not from {} to {}: give --{}, or --sampling builtin",
                    invocation.options.model, row.file_key, *value, row.low, row.high, row.option));
  }
  to = static_cast<T>(*value);
  return ok_status();
}

/// Mirostat cuts by itself, and cuts before it would keep the surprise from what it aims at: those
/// that nobody asked for are off.
void leave_cuts_to_mirostat(const Invocation& invocation, sampling::SamplerOptions& settings) {
  const auto turn_off = [&](std::string_view option, auto& number, auto off) {
    if (!invocation.was_given(option)) number = off;
  };
  turn_off("top-k", settings.top_k, 0);
  turn_off("typical", settings.typical, 1.0F);
  turn_off("top-p", settings.top_p, 1.0F);
  turn_off("min-p", settings.min_p, 0.0F);
  turn_off("top-n-sigma", settings.top_n_sigma, -1.0F);
  turn_off("xtc-probability", settings.xtc_probability, 0.0F);
}

}  // namespace

Result<sampling::SamplerOptions> sampler_settings(const Options& options) {
  sampling::SamplerOptions settings;
  static_cast<sampling::SamplerNumbers&>(settings) = options;
  if (options.greedy) settings.set_greedy();
  settings.seed =
      options.seed >= 0 ? static_cast<std::uint64_t>(options.seed) : std::random_device{}();
  for (const std::string& text : options.logit_bias) {
    MINFER_ASSIGN_OR_RETURN(const sampling::LogitBias bias, parse_bias(text));
    settings.logit_bias.push_back(bias);
  }
  if (!options.dry_sequence_breakers.empty()) settings.dry_sequence_breakers.clear();
  for (const std::string& text : options.dry_sequence_breakers) {
    if (text == "none") {
      settings.dry_sequence_breakers.clear();
    } else if (!text.empty()) {
      settings.dry_sequence_breakers.push_back(text);
    }
  }
  return settings;
}

Status take_file_settings(const Invocation& invocation, const gguf::File& file,
                          sampling::SamplerOptions& settings) {
  if (invocation.options.sampling == "file" && !invocation.options.greedy) {
    for (const sampling::SamplerNumberRow& row : sampling::sampler_number_table()) {
      if (row.file_key.empty()) continue;
      MINFER_RETURN_IF_ERROR(std::visit(
          [&](auto field) { return take(invocation, file, row, settings.*field); }, row.field));
    }
  }
  if (settings.mirostat != 0) leave_cuts_to_mirostat(invocation, settings);
  return ok_status();
}

sampling::TokenStrings breaker_bytes(const sampling::SamplerOptions& settings,
                                     const text::Tokenizer& tokenizer, std::int64_t n_vocab) {
  if (settings.dry_multiplier == 0.0F || settings.dry_sequence_breakers.empty()) return nullptr;
  std::vector<std::string> bytes;
  for (std::int32_t id = 0; id < n_vocab; ++id) bytes.push_back(tokenizer.token_bytes(id));
  return std::make_shared<const std::vector<std::string>>(std::move(bytes));
}

}  // namespace minfer::app

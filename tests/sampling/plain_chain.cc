#include "tests/sampling/plain_chain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "sampling/random.h"

namespace minfer::sampling {
namespace {

// Sums of probabilities that are equal in exact arithmetic (0.05 twenty times, and 1) differ by so
// much here.
constexpr double kNoise = 1e-12;
constexpr float kImpossible = -std::numeric_limits<float>::infinity();

bool contains(const std::vector<TokenId>& list, TokenId token) {
  return std::find(list.begin(), list.end(), token) != list.end();
}

std::vector<TokenId> tail(const std::vector<TokenId>& tokens, std::int32_t n) {
  if (n < 0 || n >= std::ssize(tokens)) return tokens;
  return {tokens.end() - n, tokens.end()};
}

void penalize(PlainInput& in) {
  const SamplerOptions& options = in.options;
  const auto window = tail(in.history, options.repeat_last_n);
  for (std::size_t id = 0; id < in.logits.size(); ++id) {
    const auto token = static_cast<TokenId>(id);
    const auto count = std::count(window.begin(), window.end(), token);
    if (count == 0 || contains(in.eog, token)) continue;
    float& x = in.logits[id];
    if (x == kImpossible) continue;
    x = x > 0 ? x / options.repeat_penalty : x * options.repeat_penalty;
    x -= static_cast<float>(count) * options.frequency_penalty + options.presence_penalty;
  }
}

/// A breaker ends in the last `n` bytes of `text`.
bool ends_breaker(const SamplerOptions& options, const std::string& text, std::size_t n) {
  for (const std::string& breaker : options.dry_sequence_breakers) {
    for (std::size_t end = text.size() - n + 1; end <= text.size(); ++end) {
      if (!breaker.empty() && breaker.size() <= end &&
          text.compare(end - breaker.size(), breaker.size(), breaker) == 0) {
        return true;
      }
    }
  }
  return false;
}

void dry(PlainInput& in) {
  const SamplerOptions& options = in.options;
  if (options.dry_multiplier == 0.0F) return;
  const auto bytes = [&](TokenId token) {
    return in.token_bytes.empty() ? std::string() : in.token_bytes[static_cast<std::size_t>(token)];
  };
  std::string text;
  std::size_t since = 0;
  for (const TokenId token : in.history) {
    text += bytes(token);
    since = ends_breaker(options, text, bytes(token).size()) ? 0 : since + 1;
  }
  const auto window = tail(in.history, options.dry_penalty_last_n);
  std::map<TokenId, std::size_t> longest;
  for (std::size_t next = 1; next < window.size(); ++next) {
    std::size_t n = 0;
    while (n < next && n < since && window[next - 1 - n] == window[window.size() - 1 - n]) ++n;
    std::size_t& best = longest[window[next]];
    best = std::max(best, n);
  }
  for (const auto& [token, n] : longest) {
    const auto allowed = static_cast<std::size_t>(options.dry_allowed_length);
    if (n < allowed || contains(in.eog, token)) continue;
    if (ends_breaker(options, text + bytes(token), bytes(token).size())) continue;
    const double growth = std::pow(static_cast<double>(options.dry_base), n - allowed);
    float& x = in.logits[static_cast<std::size_t>(token)];
    x = static_cast<float>(x - options.dry_multiplier * std::min(growth, 1e30));
  }
}

void normalize(std::vector<PlainEntry>& entries, double temperature = 1.0) {
  double sum = 0.0;
  double largest = -std::numeric_limits<double>::infinity();
  for (const PlainEntry& e : entries) largest = std::max(largest, e.logit);
  for (PlainEntry& e : entries) sum += e.p = std::exp((e.logit - largest) / temperature);
  for (PlainEntry& e : entries) e.p /= sum;
}

void cut(std::vector<PlainEntry>& entries, std::size_t n) {
  entries.resize(std::min(entries.size(), std::max<std::size_t>(n, 1)));
  normalize(entries);
}

bool likelier(const PlainEntry& a, const PlainEntry& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

void keep_typical(std::vector<PlainEntry>& entries, double p) {
  double entropy = 0.0;
  for (const PlainEntry& e : entries) {
    if (e.p > 0.0) entropy -= e.p * std::log(e.p);
  }
  const double z = std::log(entries[0].p) - entries[0].logit;
  const auto distance = [&](const PlainEntry& e) { return std::abs(-(e.logit + z) - entropy); };
  std::sort(entries.begin(), entries.end(), [&](const PlainEntry& a, const PlainEntry& b) {
    return distance(a) != distance(b) ? distance(a) < distance(b) : likelier(a, b);
  });
  double sum = 0.0;
  std::size_t n = 0;
  while (n < entries.size() && (n == 0 || sum < p - kNoise)) sum += entries[n++].p;
  entries.resize(n);
  std::sort(entries.begin(), entries.end(), likelier);
  normalize(entries);
}

void keep_top_p(std::vector<PlainEntry>& entries, double p) {
  double sum = 0.0;
  std::size_t n = 0;
  while (n < entries.size() && (n == 0 || sum < p - kNoise)) sum += entries[n++].p;
  cut(entries, n);
}

double deviation(const std::vector<float>& logits) {
  double n = 0.0;
  double mean = 0.0;
  for (const float x : logits) {
    if (x != kImpossible) n += 1.0, mean += x;
  }
  mean /= n;
  double squares = 0.0;
  for (const float x : logits) {
    if (x != kImpossible) squares += (x - mean) * (x - mean);
  }
  return std::sqrt(squares / n);
}

std::size_t zipf_cut(const std::vector<PlainEntry>& entries, double n_vocab, double mu) {
  double products = 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i + 1 < std::min<std::size_t>(100, entries.size()); ++i) {
    const double t = std::log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
    products += t * (entries[i].logit - entries[i + 1].logit);
    squares += t * t;
  }
  if (entries.size() == 1) return 1;
  const double s = std::max(products / squares, 1e-6);
  const double epsilon = s - 1.0;
  const double k =
      std::pow(epsilon * std::pow(2.0, mu) / (1.0 - std::pow(n_vocab, -epsilon)), 1.0 / s);
  return k < n_vocab ? static_cast<std::size_t>(k) : entries.size();
}

TokenId draw(const std::vector<PlainEntry>& entries, double u) {
  for (const PlainEntry& e : entries) {
    u -= e.p;
    if (u < 0.0) return e.id;
  }
  return entries.back().id;
}

}  // namespace

std::vector<PlainEntry> plain_candidates(const PlainInput& input) {
  PlainInput in = input;
  const SamplerOptions& options = in.options;
  for (const LogitBias& bias : options.logit_bias) {
    in.logits[static_cast<std::size_t>(bias.token)] += bias.bias;
  }
  penalize(in);
  dry(in);
  std::vector<PlainEntry> entries;
  for (std::size_t id = 0; id < in.logits.size(); ++id) {
    const auto token = static_cast<TokenId>(id);
    const bool allowed = in.allowed.empty() || in.allowed[id];
    if (contains(in.banned, token) || !allowed || in.logits[id] == kImpossible) continue;
    entries.push_back({token, in.logits[id], 0.0});
  }
  std::sort(entries.begin(), entries.end(), likelier);
  if (entries.empty()) return entries;
  cut(entries, options.temp == 0.0F ? 1
               : options.top_k > 0  ? static_cast<std::size_t>(options.top_k)
                                    : entries.size());
  if (options.temp == 0.0F) return entries;
  if (options.typical < 1.0F) keep_typical(entries, options.typical);
  if (options.top_p < 1.0F) keep_top_p(entries, options.top_p);
  if (options.min_p > 0.0F) {
    const double least = static_cast<double>(options.min_p) * entries[0].p;
    cut(entries,
        static_cast<std::size_t>(std::count_if(
            entries.begin(), entries.end(), [&](const auto& e) { return e.p >= least - kNoise; })));
  }
  if (options.top_n_sigma > 0.0F) {
    const double least =
        entries[0].logit - static_cast<double>(options.top_n_sigma) * deviation(input.logits);
    cut(entries,
        static_cast<std::size_t>(std::count_if(entries.begin(), entries.end(), [&](const auto& e) {
          return e.logit >= least - kNoise;
        })));
  }
  const double coin =
      draws_at(options.seed, options.attempt, static_cast<std::uint64_t>(in.position)).coin;
  if (coin < static_cast<double>(options.xtc_probability)) {
    const auto n = std::count_if(entries.begin(), entries.end(), [&](const auto& e) {
      return e.p >= static_cast<double>(options.xtc_threshold) - kNoise;
    });
    if (n > 1) entries.erase(entries.begin(), entries.begin() + n - 1);
    normalize(entries);
  }
  return entries;
}

TokenId plain_sample(PlainInput& in) {
  std::vector<PlainEntry> entries = plain_candidates(in);
  const SamplerOptions& options = in.options;
  if (entries.empty()) return -1;
  if (options.temp == 0.0F) return entries[0].id;
  const double u =
      draws_at(options.seed, options.attempt, static_cast<std::uint64_t>(in.position)).token;
  if (options.mirostat == 0) {
    normalize(entries, options.temp);
    return draw(entries, u);
  }
  const std::vector<PlainEntry> before = entries;
  if (options.mirostat == 1) {
    cut(entries, zipf_cut(entries, static_cast<double>(in.logits.size()), in.mu));
  } else {
    cut(entries,
        static_cast<std::size_t>(std::count_if(entries.begin(), entries.end(), [&](const auto& e) {
          return -std::log2(e.p) <= in.mu;
        })));
  }
  const TokenId token = draw(entries, u);
  const auto chosen =
      std::find_if(before.begin(), before.end(), [&](const auto& e) { return e.id == token; });
  in.mu -= static_cast<double>(options.mirostat_eta) *
           (-std::log2(chosen->p) - static_cast<double>(options.mirostat_tau));
  return token;
}

}  // namespace minfer::sampling

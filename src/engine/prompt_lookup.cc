#include "engine/prompt_lookup.h"

#include <algorithm>

namespace minfer::engine {
namespace {

constexpr int kTableBits = 16;
/// How far behind the place that the text has left, and for how many tokens, it may be met again.
constexpr std::size_t kReach = 16;
/// Shorter matches are not followed for long enough to be left.
constexpr std::size_t kFirm = 4;

/// By grade: found again, then suffixes of 2, 4, 8 and 16 tokens or more.
constexpr std::array<double, 5> kPriors = {0.6, 0.3, 0.5, 0.7, 0.85};

std::size_t hash(std::span<const TokenId> tokens) {
  std::uint64_t h = tokens.size();
  for (const TokenId token : tokens) {
    h = (h ^ static_cast<std::uint32_t>(token)) * 0x9E3779B97F4A7C15U;
    h ^= h >> 29;
  }
  return static_cast<std::size_t>(h >> (64 - kTableBits));
}

}  // namespace

PromptLookup::PromptLookup() {
  for (auto& table : places_) table.assign(std::size_t{1} << kTableBits, 0);
}

std::span<const double> PromptLookup::priors() const { return kPriors; }

Status PromptLookup::observe(std::span<const TokenId> history) {
  if (observed_ > history.size()) {
    observed_ = history.size();
    next_ = length_ = left_ = 0;
  }
  for (; observed_ < history.size(); ++observed_) {
    follow(history, observed_);
    insert(history, observed_);
  }
  find(history);
  return ok_status();
}

/// Takes the token at `at`: does the text still follow its place?
void PromptLookup::follow(std::span<const TokenId> history, std::size_t at) {
  if (left_ != 0 && ++left_age_ > kReach) left_ = 0;
  if (next_ == 0) return;
  if (history[next_] == history[at]) {
    ++next_;
    if (++length_ >= kFirm) left_ = 0;
    return;
  }
  if (left_ == 0) {
    left_ = next_;
    left_age_ = 0;
  }
  next_ = 0;
  length_ = 0;
}

/// Remembers the place `end` behind the tokens that stand before it.
void PromptLookup::insert(std::span<const TokenId> history, std::size_t end) {
  for (std::size_t i = 0; i < kOrders.size(); ++i) {
    if (end < kOrders[i]) continue;
    places_[i][hash(history.subspan(end - kOrders[i], kOrders[i]))] =
        static_cast<std::uint32_t>(end);
  }
}

void PromptLookup::find(std::span<const TokenId> history) {
  for (const std::size_t order : kOrders) {
    if (length_ >= order) return;
    // A place that was just left is better evidence than a few tokens from anywhere.
    if (order < 8 && find_again(history)) return;
    if (find_suffix(history, order)) return;
  }
}

bool PromptLookup::find_suffix(std::span<const TokenId> history, std::size_t order) {
  if (history.size() <= order) return false;
  const auto index =
      static_cast<std::size_t>(std::find(kOrders.begin(), kOrders.end(), order) - kOrders.begin());
  const auto suffix = history.last(order);
  const std::size_t place = places_[index][hash(suffix)];
  if (place < order || place >= history.size()) return false;
  const auto before = history.subspan(place - order, order);
  if (!std::equal(suffix.begin(), suffix.end(), before.begin())) return false;
  next_ = place;
  length_ = order;
  again_ = false;
  return true;
}

/// Looks for the last token behind the place that the text has left.
bool PromptLookup::find_again(std::span<const TokenId> history) {
  if (next_ != 0 && again_) return true;
  if (left_ == 0) return false;
  const std::size_t end = std::min(left_ + kReach, history.size() - 1);
  for (std::size_t at = left_; at < end; ++at) {
    if (history[at] != history.back()) continue;
    next_ = at + 1;
    length_ = 1;
    again_ = true;
    return true;
  }
  return false;
}

std::optional<std::size_t> PromptLookup::grade() {
  if (next_ == 0) return std::nullopt;
  if (again_ && length_ < kFirm) return 0;
  if (length_ >= 16) return 4;
  if (length_ >= 8) return 3;
  return length_ >= 4 ? 2 : 1;
}

Status PromptLookup::propose(std::span<const TokenId> history, std::size_t n,
                             std::vector<TokenId>& out) {
  out.clear();
  if (next_ == 0) return ok_status();
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t from = next_ + i;
    out.push_back(from < history.size() ? history[from] : out[from - history.size()]);
  }
  return ok_status();
}

}  // namespace minfer::engine

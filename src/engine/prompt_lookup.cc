#include "engine/prompt_lookup.h"

#include <algorithm>

namespace minfer::engine {
namespace {

constexpr int kTableBits = 16;
/// How far behind the place that the text has left, and for how many tokens, it may be met again.
constexpr std::size_t kReach = 16;
/// Tokens for which a place must have been followed before that says something.
constexpr std::size_t kFirm = 3;

/// By grade: met again, then suffixes of 2, 4, 8 and 16 tokens or more. Low, since it costs nothing
/// to watch a guess that is not run.
constexpr std::array<double, 5> kPriors = {0.25, 0.1, 0.25, 0.5, 0.7};

std::size_t hash(std::span<const TokenId> tokens) {
  std::uint64_t h = tokens.size();
  for (const TokenId token : tokens) {
    h = (h ^ static_cast<std::uint32_t>(token)) * 0x9E3779B97F4A7C15U;
    h ^= h >> 29;
  }
  return static_cast<std::size_t>(h >> (64 - kTableBits));
}

bool same_tokens(std::span<const TokenId> a, std::span<const TokenId> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

PromptLookup::PromptLookup() { restart(); }

void PromptLookup::restart() {
  for (auto& table : tables_) table.assign(std::size_t{1} << kTableBits, 0);
  observed_ = 0;
  place_ = {};
  length_ = left_ = 0;
  again_ = false;
  forget_changes();
}

std::span<const double> PromptLookup::priors() const { return kPriors; }

Status PromptLookup::observe(std::span<const TokenId> history) {
  if (observed_ > history.size()) {
    observed_ = history.size();
    place_ = {};
    length_ = left_ = 0;
    again_ = false;
  }
  for (; observed_ < history.size(); ++observed_) {
    follow(history, observed_);
    insert(history, observed_);
  }
  find(history);
  return ok_status();
}

/// Takes the text's token at `text_at`: does it still follow its place?
void PromptLookup::follow(std::span<const TokenId> history, std::size_t text_at) {
  if (left_ != 0 && text_at - left_text_ > kReach) left_ = 0;
  if (place_.at == 0) return;
  MINFER_CHECK(place_.at < text_at);
  const TokenId token = history[text_at];
  if (place_.change != nullptr && place_.done == 0 && token != place_.change->after[0] &&
      token == history[place_.at]) {
    forget_changes();  // it was no rule
  }
  const TokenId guess =
      place_.change != nullptr ? place_.change->after[place_.done] : history[place_.at];
  if (token != guess) return leave(text_at);
  step(history.first(text_at), place_);
  if (++length_ == kFirm && again_) learn(history.first(text_at));
}

void PromptLookup::leave(std::size_t text_at) {
  if (length_ >= kFirm) {
    left_ = place_.at;
    left_text_ = text_at - place_.done;
  }
  place_ = {};
  length_ = 0;
  again_ = false;
}

/// Remembers the place `end` behind the tokens that stand before it.
void PromptLookup::insert(std::span<const TokenId> history, std::size_t end) {
  for (std::size_t i = 0; i < kOrders.size(); ++i) {
    if (end < kOrders[i]) continue;
    tables_[i][hash(history.subspan(end - kOrders[i], kOrders[i]))] =
        static_cast<std::uint32_t>(end);
  }
}

void PromptLookup::find(std::span<const TokenId> history) {
  // A place that was just left is better evidence than tokens from anywhere.
  if (again_ || find_again(history)) return;
  for (std::size_t i = 0; i < kOrders.size(); ++i) {
    if (length_ >= kOrders[i] || find_suffix(history, i)) return;
  }
}

bool PromptLookup::find_suffix(std::span<const TokenId> history, std::size_t index) {
  const std::size_t order = kOrders[index];
  if (history.size() <= order) return false;
  const auto suffix = history.last(order);
  const std::size_t at = tables_[index][hash(suffix)];
  if (at < order || at >= history.size()) return false;
  if (!same_tokens(suffix, history.subspan(at - order, order))) return false;
  place_ = {.at = at};
  look_for_change(history, place_);
  length_ = order;
  again_ = false;
  return true;
}

/// Looks for the last token behind the place that the text has left.
bool PromptLookup::find_again(std::span<const TokenId> history) {
  if (left_ == 0) return false;
  const std::size_t end = std::min(left_ + kReach, history.size() - 1);
  for (std::size_t at = left_; at < end; ++at) {
    if (history[at] != history.back()) continue;
    place_ = {.at = at + 1};
    look_for_change(history, place_);
    length_ = 1;
    again_ = true;
    met_ = at;
    met_text_ = history.size() - 1;
    return true;
  }
  return false;
}

/// The text follows the place again: what lies between is a change.
void PromptLookup::learn(std::span<const TokenId> history) {
  if (left_ == 0 || met_ == left_ || met_text_ == left_text_) return;
  const auto before = history.subspan(left_, met_ - left_);
  const auto after = history.subspan(left_text_, met_text_ - left_text_);
  left_ = 0;
  Change* change = std::find_if(changes_.begin(), changes_.end(), [&](const Change& known) {
    return same_tokens(known.before, before);
  });
  if (change == changes_.end()) {
    change = &changes_[next_change_];
    next_change_ = (next_change_ + 1) % changes_.size();
  }
  // A place inside this change would not know where it is.
  place_.change = nullptr;
  place_.done = 0;
  change->before.assign(before.begin(), before.end());
  change->after.assign(after.begin(), after.end());
  look_for_change(history, place_);
}

void PromptLookup::forget_changes() {
  for (Change& change : changes_) change = {};
  place_.change = nullptr;
  place_.done = 0;
}

void PromptLookup::look_for_change(std::span<const TokenId> history, Place& place) const {
  for (const Change& change : changes_) {
    const std::size_t n = change.before.size();
    if (n == 0 || place.at >= history.size() || history.size() - place.at < n) continue;
    if (!same_tokens(change.before, history.subspan(place.at, n))) continue;
    place.change = &change;
    place.done = 0;
    return;
  }
}

/// Moves the place behind the token that it guesses.
void PromptLookup::step(std::span<const TokenId> history, Place& place) const {
  if (place.change == nullptr) {
    ++place.at;
  } else if (++place.done < place.change->after.size()) {
    return;
  } else {
    place = {.at = place.at + place.change->before.size()};
  }
  look_for_change(history, place);
}

std::optional<std::size_t> PromptLookup::grade() {
  if (place_.at == 0) return std::nullopt;
  if (again_ && length_ < kFirm) return 0;
  if (length_ >= 16) return 4;
  if (length_ >= 8) return 3;
  return length_ >= 4 ? 2 : 1;
}

Status PromptLookup::propose(std::span<const TokenId> history, std::size_t n,
                             std::vector<TokenId>& out) {
  out.clear();
  if (place_.at == 0) return ok_status();
  Place place = place_;
  while (out.size() < n) {
    if (place.change != nullptr) {
      out.push_back(place.change->after[place.done]);
    } else if (place.at < history.size()) {
      out.push_back(history[place.at]);
    } else if (place.at - history.size() < out.size()) {
      out.push_back(out[place.at - history.size()]);
    } else {
      return ok_status();
    }
    step(history, place);
  }
  return ok_status();
}

}  // namespace minfer::engine

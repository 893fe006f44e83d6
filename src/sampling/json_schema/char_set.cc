#include "sampling/json_schema/char_set.h"

#include <algorithm>

namespace minfer::sampling::schema {
namespace {

constexpr char32_t kLast = 0x10FFFF;
constexpr char32_t kBeforeSurrogates = 0xD7FF;
constexpr char32_t kAfterSurrogates = 0xE000;

}  // namespace

CharSet::CharSet(std::initializer_list<Range> ranges) : ranges_(ranges) { normalise(); }

CharSet CharSet::all() { return {{0, kLast}}; }

void CharSet::add(char32_t first, char32_t last) {
  ranges_.emplace_back(first, last);
  normalise();
}

void CharSet::add(const CharSet& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  normalise();
}

void CharSet::normalise() {
  std::vector<Range> pieces;
  for (const auto& [first, last] : ranges_) {
    if (first <= kBeforeSurrogates) pieces.emplace_back(first, std::min(last, kBeforeSurrogates));
    if (last >= kAfterSurrogates)
      pieces.emplace_back(std::max(first, kAfterSurrogates), std::min(last, kLast));
  }
  std::sort(pieces.begin(), pieces.end());
  ranges_.clear();
  for (const auto& [first, last] : pieces) {
    if (first > last) continue;
    // Ranges on either side of the surrogates stay apart, which no operation minds.
    if (!ranges_.empty() && first <= ranges_.back().second + 1) {
      ranges_.back().second = std::max(ranges_.back().second, last);
    } else {
      ranges_.emplace_back(first, last);
    }
  }
}

CharSet CharSet::complement() const {
  CharSet out;
  char32_t next = 0;
  for (const auto& [first, last] : ranges_) {
    if (first > next) out.ranges_.emplace_back(next, first - 1);
    next = last + 1;
  }
  if (next <= kLast) out.ranges_.emplace_back(next, kLast);
  out.normalise();
  return out;
}

CharSet CharSet::intersect(const CharSet& other) const {
  CharSet out;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < ranges_.size() && j < other.ranges_.size()) {
    const char32_t first = std::max(ranges_[i].first, other.ranges_[j].first);
    const char32_t last = std::min(ranges_[i].second, other.ranges_[j].second);
    if (first <= last) out.ranges_.emplace_back(first, last);
    if (ranges_[i].second < other.ranges_[j].second) {
      ++i;
    } else {
      ++j;
    }
  }
  return out;
}

bool CharSet::contains(char32_t code) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), code,
                                      [](char32_t c, const Range& r) { return c < r.first; });
  return after != ranges_.begin() && code <= std::prev(after)->second;
}

}  // namespace minfer::sampling::schema

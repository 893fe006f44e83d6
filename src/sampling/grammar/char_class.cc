#include "sampling/grammar/char_class.h"

#include <algorithm>

namespace minfer::sampling {
namespace {

using Range = CharClass::Range;

std::vector<Range> merged(std::vector<Range> ranges) {
  std::ranges::sort(ranges, {}, &Range::first);
  std::vector<Range> out;
  for (const Range& range : ranges) {
    if (!out.empty() && range.first <= out.back().last + 1) {
      out.back().last = std::max(out.back().last, range.last);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

std::vector<Range> complement(const std::vector<Range>& ranges) {
  std::vector<Range> out;
  char32_t next = 0;
  for (const Range& range : ranges) {
    if (range.first > next) out.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kMaxCharacter) out.push_back({next, kMaxCharacter});
  return out;
}

std::vector<Range> without_surrogates(const std::vector<Range>& ranges) {
  std::vector<Range> out;
  for (const Range& range : ranges) {
    if (range.first < 0xD800) out.push_back({range.first, std::min<char32_t>(range.last, 0xD7FF)});
    if (range.last > 0xDFFF) out.push_back({std::max<char32_t>(range.first, 0xE000), range.last});
  }
  return out;
}

}  // namespace

CharClass::CharClass(std::vector<Range> ranges, bool negated) : ranges_(merged(std::move(ranges))) {
  if (negated) ranges_ = complement(ranges_);
  ranges_ = without_surrogates(ranges_);
  for (const Range& range : ranges_) {
    for (char32_t code = range.first; code <= range.last && code < 128; ++code) {
      ascii_[code / 64] |= std::uint64_t{1} << (code % 64);
    }
  }
}

bool CharClass::intersects(char32_t first, char32_t last) const {
  const auto at = std::ranges::lower_bound(ranges_, first, {}, &Range::last);
  return at != ranges_.end() && at->first <= last;
}

bool CharClass::covers(char32_t first, char32_t last) const {
  auto at = std::ranges::lower_bound(ranges_, first, {}, &Range::last);
  while (at != ranges_.end() && at->first <= first) {
    if (at->last >= last) return true;
    first = at->last == 0xD7FF ? 0xE000 : at->last + 1;
    ++at;
  }
  return false;
}

}  // namespace minfer::sampling

#include "quant/grids.h"

#include <algorithm>
#include <cmath>

#include "quant/blocks.h"

namespace minfer::quant {
namespace {

#include "quant/grids.inc"

template <class Entry, int kBits, std::size_t kEntries, std::size_t kLevels>
constexpr Grid<Entry, kEntries> expand(const std::uint16_t (&codes)[kEntries],
                                       const int (&levels)[kLevels]) {
  Grid<Entry, kEntries> grid{};
  for (std::size_t i = 0; i < kEntries; ++i) {
    for (unsigned j = 0; j < sizeof(Entry); ++j) {
      const int level = levels[(codes[i] >> (kBits * j)) & ((1u << kBits) - 1)];
      grid.entry[i] |= static_cast<Entry>(level & 0xff) << (8 * j);
    }
  }
  return grid;
}

constexpr int kLevelsIq1[] = {-8, 0, 8};
constexpr int kLevelsIq2[] = {8, 25, 43};
constexpr int kLevelsIq3Xxs[] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr int kLevelsIq3S[] = {1, 3, 5, 7, 9, 11, 13, 15};

}  // namespace

constinit const Grid<std::uint64_t, 256> kGridIq2Xxs =
    expand<std::uint64_t, 2>(kIq2XxsCodes, kLevelsIq2);
constinit const Grid<std::uint64_t, 512> kGridIq2Xs =
    expand<std::uint64_t, 2>(kIq2XsCodes, kLevelsIq2);
constinit const Grid<std::uint64_t, 1024> kGridIq2S =
    expand<std::uint64_t, 2>(kIq2SCodes, kLevelsIq2);
constinit const Grid<std::uint64_t, 2048> kGridIq1S =
    expand<std::uint64_t, 2>(kIq1SCodes, kLevelsIq1);
constinit const Grid<std::uint32_t, 256> kGridIq3Xxs =
    expand<std::uint32_t, 3>(kIq3XxsCodes, kLevelsIq3Xxs);
constinit const Grid<std::uint32_t, 512> kGridIq3S =
    expand<std::uint32_t, 3>(kIq3SCodes, kLevelsIq3S);

void GridSearch::build(std::size_t n_elements) {
  n_elements_ = n_elements;
  levels_ = elements_;
  std::sort(levels_.begin(), levels_.end());
  levels_.erase(std::unique(levels_.begin(), levels_.end()), levels_.end());
  std::size_t n_patterns = 1;
  for (std::size_t j = 0; j < n_elements; ++j) n_patterns *= levels_.size();
  entry_of_pattern_.resize(n_patterns);
  std::vector<int> pattern(n_elements);
  for (std::size_t p = 0; p < n_patterns; ++p) {
    for (std::size_t j = 0, rest = p; j < n_elements; ++j, rest /= levels_.size()) {
      pattern[j] = levels_[rest % levels_.size()];
    }
    int best = 1 << 30;
    for (std::size_t at = 0; at < elements_.size(); at += n_elements) {
      int distance = 0;
      for (std::size_t j = 0; j < n_elements && distance < best; ++j) {
        const int difference = pattern[j] - elements_[at + j];
        distance += difference * difference;
      }
      if (distance >= best) continue;
      best = distance;
      entry_of_pattern_[p] = static_cast<std::uint16_t>(at / n_elements);
    }
  }
}

unsigned GridSearch::nearest(const float* x, float inverse) const {
  std::size_t pattern = 0;
  for (std::size_t j = n_elements_; j-- > 0;) {
    const float value = x[j] * inverse;
    std::size_t level = 0;
    while (level + 1 < levels_.size() &&
           value * 2 > static_cast<float>(levels_[level] + levels_[level + 1])) {
      ++level;
    }
    pattern = pattern * levels_.size() + level;
  }
  return entry_of_pattern_[pattern];
}

SignedGroup split_signs(const float* x, bool even) {
  SignedGroup group{};
  unsigned signs = 0;
  int smallest = 0;
  for (int j = 0; j < 8; ++j) {
    group.magnitude[j] = std::fabs(x[j]);
    signs |= (x[j] < 0.0f ? 1u : 0u) << j;
    if (group.magnitude[j] < group.magnitude[smallest]) smallest = j;
  }
  if (even && even_signs(signs & 0x7fu) != signs) signs ^= 1u << smallest;
  group.signs = static_cast<std::uint8_t>(signs);
  return group;
}

int odd_scale_code(float scale, float unit, int highest) {
  return nearest_code((scale * reciprocal(unit) - 1.0f) / 2.0f, 0, highest);
}

}  // namespace minfer::quant

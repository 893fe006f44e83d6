// grids: entries of the codebooks (grid_tables.h) as elements, and the search for the nearest.
//
// Thread-safety: constants and pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "quant/grid_tables.h"

namespace minfer::quant {

/// 7 sign bits, and as bit 7 the one that makes their number even.
constexpr std::uint8_t even_signs(std::uint32_t seven) {
  std::uint32_t parity = seven ^ (seven >> 4);
  parity ^= parity >> 2;
  return static_cast<std::uint8_t>(seven | (((parity ^ (parity >> 1)) & 1u) << 7));
}

/// The `n` elements of an entry, those whose bit is set in `signs` negated, to `to`.
template <class Entry>
void signed_elements(Entry entry, std::uint32_t signs, std::int8_t* to) {
  for (unsigned j = 0; j < sizeof(Entry); ++j) {
    const int value = static_cast<std::int8_t>((entry >> (8 * j)) & 0xffu);
    to[j] = static_cast<std::int8_t>(((signs >> j) & 1u) != 0 ? -value : value);
  }
}

/// Encoding: x is rounded to the levels element by element, then to the nearest entry.
class GridSearch {
 public:
  template <class Entry, std::size_t kEntries>
  explicit GridSearch(const Grid<Entry, kEntries>& grid) {
    for (const Entry entry : grid.entry) {
      for (unsigned j = 0; j < sizeof(Entry); ++j) {
        elements_.push_back(static_cast<std::int8_t>((entry >> (8 * j)) & 0xffu));
      }
    }
    build(sizeof(Entry));
  }

  /// The entry near to x * inverse, sizeof(Entry) floats.
  [[nodiscard]] unsigned nearest(const float* x, float inverse) const;

 private:
  void build(std::size_t n_elements);

  std::size_t n_elements_ = 0;
  std::vector<std::int8_t> levels_;    // rising
  std::vector<std::int8_t> elements_;  // [entry][n_elements_]
  std::vector<std::uint16_t> entry_of_pattern_;
};

/// The magnitudes of 8 elements, and the bits of the negative ones.
struct SignedGroup {
  float magnitude[8];
  std::uint8_t signs;
};
/// `even`: an even number of signs; where there are more, the smallest element loses or gets one.
SignedGroup split_signs(const float* x, bool even);

/// For scales that are odd multiples 2 s + 1 of a unit: s in 0..highest for a scale of `scale`.
int odd_scale_code(float scale, float unit, int highest);

}  // namespace minfer::quant

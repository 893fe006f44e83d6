// grid_tables.h: the codebooks of the IQ1, IQ2 and IQ3 types as constants. No functions: vector
// code includes this.
//
// Thread-safety: constants.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minfer::quant {

/// Entries of sizeof(Entry) elements, element j in byte j.
template <class Entry, std::size_t kEntries>
struct Grid {
  Entry entry[kEntries];
};

// Magnitudes 8, 25, 43.
extern const Grid<std::uint64_t, 256> kGridIq2Xxs;
extern const Grid<std::uint64_t, 512> kGridIq2Xs;
extern const Grid<std::uint64_t, 1024> kGridIq2S;
// Magnitudes 4, 12, 20, 28, 36, 44, 52, 62.
extern const Grid<std::uint32_t, 256> kGridIq3Xxs;
// Magnitudes 1, 3, ..., 15.
extern const Grid<std::uint32_t, 512> kGridIq3S;
// -8, 0 or 8 in two's complement; of IQ1_S and IQ1_M.
extern const Grid<std::uint64_t, 2048> kGridIq1S;

}  // namespace minfer::quant

// How a family picks its table of kernels: rows of kernels.inc stand in rising order of instruction
// sets, and the last one that `isa` includes wins.
#pragma once

#include <span>

#include "cpu/isa.h"

namespace minfer::cpu {

template <class Table>
struct KernelRow {
  const Table* table;
  Isa isa;
};

template <class Table>
const Table& select_kernels(std::span<const KernelRow<Table>> rows, Isa isa) {
  const Table* best = rows.front().table;
  for (const KernelRow<Table>& row : rows) {
    if (isa_includes(isa, row.isa)) best = row.table;
  }
  return *best;
}

}  // namespace minfer::cpu

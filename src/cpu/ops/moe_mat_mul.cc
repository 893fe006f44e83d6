#include <algorithm>

#include "cpu/kernels/mat_mul/layout.h"
#include "cpu/mat_mul.h"
#include "cpu/node_compiler.h"
#include "cpu/ops/drivers.h"

namespace minfer::cpu {
namespace {

/// Bytes that x_rows counts: every part of a row starts at a multiple of them.
constexpr std::int64_t kXUnit = sizeof(float);
static_assert(sizeof(Q8ABlock) % kXUnit == 0 && alignof(Q8ABlock) <= kXUnit);

/// What the experts have to do in a step, made by one thread before the products.
struct ExpertLists {
  RowsRef x_rows;   // I32 [pairs]: x of each (row, rank) pair, by expert, in units of kXUnit bytes
  RowsRef y_rows;   // I32 [pairs]: y of it, in floats
  RowsRef offsets;  // I32 [n_expert + 1]: where an expert's pairs begin
  RowsRef active;   // I32 [1 + n_expert]: how many experts have pairs, and which
};

std::int32_t* ints(const PhaseContext& c, const RowsRef& rows) {
  return reinterpret_cast<std::int32_t*>(rows.row(c, 0));
}

struct MoeProduct {
  const PackedWeight* weight;
  ValueRef ids, y;
  RowsRef x;
  ir::MoeMatMulAttrs attrs;
  std::int64_t x_sub_bytes;  // bytes from one rank's part of a row of x to the next
  ExpertLists lists;
};

/// Sorts the pairs by expert, rows in order inside one (counting sort).
void group_by_expert(const PhaseContext& c, const MoeProduct& p) {
  const std::int64_t rows = p.y.live(c.step);
  const std::int64_t n_expert = p.weight->n_matrices;
  const std::int64_t n = p.weight->n_rows;
  std::int32_t* offsets = ints(c, p.lists.offsets);
  std::fill_n(offsets, n_expert + 1, 0);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int32_t k = 0; k < p.attrs.n_used; ++k) ++offsets[p.ids.ints(c.step, r)[k] + 1];
  }
  std::int32_t* active = ints(c, p.lists.active);
  active[0] = 0;
  for (std::int64_t e = 0; e < n_expert; ++e) {
    if (offsets[e + 1] > 0) active[++active[0]] = static_cast<std::int32_t>(e);
    offsets[e + 1] += offsets[e];
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int32_t k = 0; k < p.attrs.n_used; ++k) {
      const std::int32_t at = offsets[p.ids.ints(c.step, r)[k]]++;
      const std::int64_t x = r * static_cast<std::int64_t>(p.x.row_bytes) + k * p.x_sub_bytes;
      const std::int64_t y = r * static_cast<std::int64_t>(p.y.row_bytes / sizeof(float)) + k * n;
      ints(c, p.lists.x_rows)[at] = static_cast<std::int32_t>(x / kXUnit);
      ints(c, p.lists.y_rows)[at] = static_cast<std::int32_t>(y);
    }
  }
  // Every offset has moved to its expert's end, which is where the next one begins.
  for (std::int64_t e = n_expert; e > 0; --e) offsets[e] = offsets[e - 1];
  offsets[0] = 0;
}

class GroupPhase final : public Phase {
 public:
  explicit GroupPhase(const MoeProduct& product) : p_(product) {}

  /// One thread's work always: the lists are one.
  [[nodiscard]] std::int64_t cost(const backend::StepContext& /*step*/) const override { return 0; }
  void run(const PhaseContext& c) override { group_by_expert(c, p_); }

 private:
  MoeProduct p_;
};

/// An item is some tiles of one expert, for all pairs that chose it: its weight is read once.
class ExpertsPhase final : public Phase {
 public:
  explicit ExpertsPhase(const MoeProduct& product) : p_(product) {}

  [[nodiscard]] std::int64_t cost(const backend::StepContext& step) const override {
    return p_.y.live(step) > 0 ? kParallel : 0;
  }
  void run(const PhaseContext& c) override {
    const std::int64_t tiles = (p_.weight->n_rows + kTileRows - 1) / kTileRows;
    const std::int64_t parts = std::int64_t{8} * c.n_threads;
    const std::int64_t chunk = std::max<std::int64_t>((tiles + parts - 1) / parts, 1);
    const std::int64_t chunks = (tiles + chunk - 1) / chunk;
    const std::int32_t* active = ints(c, p_.lists.active);
    const std::int32_t* offsets = ints(c, p_.lists.offsets);
    MatMulArgs args;
    args.weight = p_.weight;
    args.tile = c.tile;
    args.x = p_.x.row(c, 0);
    args.x_stride = kXUnit;
    args.y = p_.y.floats(c, 0);
    args.y_stride = 1;
    RangeItems items(c, active[0] * chunks);
    for (std::int64_t i = items.next(); i >= 0; i = items.next()) {
      const std::int32_t expert = active[1 + i / chunks];
      args.matrix = expert;
      args.x_rows = ints(c, p_.lists.x_rows) + offsets[expert];
      args.y_rows = ints(c, p_.lists.y_rows) + offsets[expert];
      args.n_x = offsets[expert + 1] - offsets[expert];
      const std::int64_t begin = i % chunks * chunk;
      mat_mul(c.isa, args, begin, std::min(begin + chunk, tiles));
    }
  }

 private:
  MoeProduct p_;
};

}  // namespace

Status compile_moe_mat_mul(NodeCompiler& compiler) {
  MoeProduct p;
  const ValueRef x = compiler.input(0);
  p.ids = compiler.input(1);
  p.y = compiler.output(0);
  p.attrs = compiler.attrs<ir::MoeMatMulAttrs>();
  MINFER_ASSIGN_OR_RETURN(p.weight, compiler.matrix(2));
  MINFER_ASSIGN_OR_RETURN(p.x, compiler.product_rows(x, *p.weight));
  // Q8A rows are blocks of 32 laid end to end, so a part of whole blocks is a row too.
  const bool quantized = takes_quantized_rows(p.weight->dtype);
  const std::int64_t part = quantized ? p.weight->n_cols / 32 * std::int64_t{sizeof(Q8ABlock)}
                                      : p.weight->n_cols * std::int64_t{sizeof(float)};
  p.x_sub_bytes = p.attrs.shared_input ? 0 : part;
  const std::int64_t pairs = p.y.capacity() * p.attrs.n_used;
  const std::int64_t n_expert = p.weight->n_matrices;
  const auto int_row = [&](std::int64_t n) {
    return compiler.shared_rows(1, static_cast<std::uint64_t>(n) * sizeof(std::int32_t));
  };
  p.lists = {int_row(pairs), int_row(pairs), int_row(n_expert + 1), int_row(n_expert + 1)};
  if (pairs * static_cast<std::int64_t>(p.weight->n_rows) > INT32_MAX / 2) {
    return unsupported("[cpu] the batch is too large for this model's experts");
  }
  compiler.add(std::make_unique<GroupPhase>(p));
  compiler.add(std::make_unique<ExpertsPhase>(p));
  return ok_status();
}

}  // namespace minfer::cpu

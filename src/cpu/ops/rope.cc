#include "cpu/kernels/rope/rope.h"

#include "cpu/node_compiler.h"
#include "cpu/ops/drivers.h"
#include "cpu/rope_table.h"

namespace minfer::cpu {
namespace {

/// Rotates rows; the table's rows are made before the program runs.
class RopePhase final : public Phase {
 public:
  RopePhase(const ValueRef& x, const ValueRef& to, const ValueRef& positions, RopeTable* table,
            const ir::RopeAttrs& attrs)
      : x_(x), to_(to), positions_(positions), table_(table), attrs_(attrs) {}

  [[nodiscard]] std::int64_t cost(const backend::StepContext& step) const override {
    return to_.live(step) * to_.elements();
  }
  void prepare(const backend::StepContext& step) override {
    table_->fill({positions_.ints(step, 0), static_cast<std::size_t>(to_.live(step))});
  }
  void run(const PhaseContext& c) override {
    const auto rope = rope_kernels(c.isa).rope;
    const std::int64_t live = to_.live(c.step);
    for_each_chunk(c, live, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int32_t position = *positions_.ints(c.step, r);
        rope(attrs_.mode, x_.floats(c, r), to_.floats(c, r), attrs_.n_head, attrs_.head_dim,
             attrs_.n_rot, table_->cosine(position), table_->sine(position));
      }
    });
  }

 private:
  ValueRef x_, to_, positions_;
  RopeTable* table_;
  ir::RopeAttrs attrs_;
};

}  // namespace

Status compile_rope(NodeCompiler& compiler) {
  const auto& attrs = compiler.attrs<ir::RopeAttrs>();
  const int factors = compiler.node().inputs.size() > 2 ? 2 : -1;
  MINFER_ASSIGN_OR_RETURN(RopeTable * table, compiler.rope_table(attrs, factors));
  compiler.add(std::make_unique<RopePhase>(compiler.input(0), compiler.output(0), compiler.input(1),
                                           table, attrs));
  return ok_status();
}

}  // namespace minfer::cpu

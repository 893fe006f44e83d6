#include <algorithm>

#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/node_compiler.h"
#include "cpu/ops/drivers.h"

namespace minfer::cpu {
namespace {

/// h = fma(decay, h, x) for each sequence, row after row; an item is a range of elements.
class ScanPhase final : public Phase {
 public:
  explicit ScanPhase(NodeCompiler& compiler)
      : x_(compiler.input(0)),
        sequence_(compiler.input(1)),
        to_(compiler.output(0)),
        attrs_(compiler.attrs<ir::ScanAttrs>()) {}

  [[nodiscard]] std::int64_t cost(const backend::StepContext& step) const override {
    return to_.live(step) * to_.elements();
  }
  void run(const PhaseContext& c) override {
    for_each_chunk(c, to_.elements(),
                   [&](std::int64_t begin, std::int64_t end) { columns(c, begin, end - begin); });
  }

 private:
  void columns(const PhaseContext& c, std::int64_t begin, std::int64_t n) const {
    const auto decay_add = elementwise_kernels(c.isa).decay_add;
    const std::int64_t live = to_.live(c.step);
    for (std::int64_t r = 0; r < live; ++r) {
      const std::int32_t q = *sequence_.ints(c.step, r);
      std::int64_t before = r - 1;
      while (before >= 0 && *sequence_.ints(c.step, before) != q) --before;
      const auto slot = c.step.kv.slot_offset[static_cast<std::size_t>(attrs_.slot)];
      const float* h = before >= 0 ? to_.floats(c, before)
                                   : reinterpret_cast<const float*>(
                                         c.step.kv.state_read[static_cast<std::size_t>(q)] + slot);
      decay_add(attrs_.decay, h + begin, x_.floats(c, r) + begin, to_.floats(c, r) + begin, n);
      // The last row of a sequence is what stays.
      auto* kept =
          reinterpret_cast<float*>(c.step.kv.state_write[static_cast<std::size_t>(q)] + slot);
      std::copy_n(to_.floats(c, r) + begin, n, kept + begin);
    }
  }

  ValueRef x_, sequence_, to_;
  ir::ScanAttrs attrs_;
};

}  // namespace

Status compile_scan(NodeCompiler& compiler) {
  compiler.add(std::make_unique<ScanPhase>(compiler));
  return ok_status();
}

}  // namespace minfer::cpu

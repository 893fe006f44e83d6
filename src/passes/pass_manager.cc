#include <fmt/format.h>

#include <chrono>

#include "ir/op.h"
#include "passes/pass.h"

namespace minfer::passes {
namespace {

constexpr Pass kPasses[] = {
#define MINFER_PASS(name) {#name, &name},
#include "passes/passes.def"
#undef MINFER_PASS
};
static_assert(std::size(kPasses) <= PassTimes::kMaxPasses);

#ifdef MINFER_DEBUG
constexpr bool kAlwaysVerify = true;
#else
constexpr bool kAlwaysVerify = false;
#endif

Status run_one(const Pass& pass, ir::Graph& graph, const PassContext& context) {
  MINFER_RETURN_IF_ERROR(pass.run(graph, context));
  return context.verify || kAlwaysVerify ? ir::verify(graph) : ok_status();
}

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

std::uint32_t pass_bit(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kPasses); ++i) {
    if (kPasses[i].name == name) return std::uint32_t{1} << i;
  }
  return 0;
}

Status run_passes(ir::Graph& graph, const PassContext& context, PassTimes* times) {
  using Clock = std::chrono::steady_clock;
  for (std::size_t i = 0; i < std::size(kPasses); ++i) {
    if ((context.disabled_passes >> i & 1U) != 0) continue;
    const auto start = Clock::now();
    if (Status status = run_one(kPasses[i], graph, context); !status.ok()) {
      return status.with_context(fmt::format("pass {}", kPasses[i].name));
    }
    if (times != nullptr) {
      times->seconds[i] = std::chrono::duration<double>(Clock::now() - start).count();
    }
  }
  return ok_status();
}

}  // namespace minfer::passes

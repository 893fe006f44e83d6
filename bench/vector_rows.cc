// Norm, RoPE and element by element, a benchmark a row of kernels.inc.
#include <memory>
#include <string_view>

#include "bench/kernel_bench.h"
#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/kernels/norm/norm.h"
#include "cpu/kernels/rope/rope.h"

namespace minfer::cpu {
#define MINFER_KERNELS(table, isa) extern const NormKernels table;
#include "cpu/kernels/norm/kernels.inc"
#undef MINFER_KERNELS
#define MINFER_KERNELS(table, isa) extern const RopeKernels table;
#include "cpu/kernels/rope/kernels.inc"
#undef MINFER_KERNELS
#define MINFER_KERNELS(table, isa) extern const ElementwiseKernels table;
#include "cpu/kernels/elementwise/kernels.inc"
#undef MINFER_KERNELS
}  // namespace minfer::cpu

namespace minfer::bench {
namespace {

constexpr std::int64_t kFloats = 2048;
constexpr std::int32_t kHeads = 32;
constexpr std::int32_t kHead = 64;
static_assert(kHeads * kHead == kFloats);

struct Rows {
  Floats x{kFloats}, y{kFloats}, to{kFloats};
};

/// `n_rows`: rows of kFloats read and written; `flops`: operations an element.
template <class Call>
void add_rows(std::string_view name, cpu::Isa isa, double n_rows, double flops, Call call) {
  add(std::string(name), isa, {.bytes = n_rows * kFloats * 4, .float_flops = flops * kFloats}, [=] {
    const auto rows = std::make_shared<Rows>();
    return [=] { call(*rows); };
  });
}

void add_norm(const cpu::NormKernels& table, cpu::Isa isa) {
  add_rows("norm/rms_norm", isa, 3, 4, [&table](Rows& r) {
    table.rms_norm(r.x.data(), r.y.data(), r.to.data(), kFloats, 1e-5F);
  });
}

void add_rope(const cpu::RopeKernels& table, cpu::Isa isa) {
  for (const auto& [name, mode] : {std::pair{"rope/normal", ir::RopeMode::kNormal},
                                   std::pair{"rope/neox", ir::RopeMode::kNeox}}) {
    add_rows(name, isa, 2, 3, [&table, mode = mode](Rows& r) {
      table.rope(mode, r.x.data(), r.to.data(), kHeads, kHead, kHead, r.y.data(),
                 r.y.data() + kHead);
    });
  }
}

void add_elementwise(const cpu::ElementwiseKernels& table, cpu::Isa isa) {
  using ir::Activation;
  add_rows("elementwise/add", isa, 3, 1,
           [&table](Rows& r) { table.add(r.x.data(), r.y.data(), r.to.data(), kFloats); });
  add_rows("elementwise/mul", isa, 3, 1,
           [&table](Rows& r) { table.mul(r.x.data(), r.y.data(), r.to.data(), kFloats); });
  add_rows("elementwise/scale", isa, 2, 1,
           [&table](Rows& r) { table.scale(r.x.data(), 0.5F, r.to.data(), kFloats); });
  add_rows("elementwise/add_scaled", isa, 3, 2,
           [&table](Rows& r) { table.add_scaled(1e-9F, r.x.data(), r.to.data(), kFloats); });
  add_rows("elementwise/decay_add", isa, 3, 2, [&table](Rows& r) {
    table.decay_add(0.5F, r.x.data(), r.y.data(), r.to.data(), kFloats);
  });
  // Functions: their polynomials are not counted.
  add_rows("elementwise/exp", isa, 2, 0,
           [&table](Rows& r) { table.exp(r.x.data(), r.to.data(), kFloats); });
  add_rows("elementwise/tanh", isa, 2, 0,
           [&table](Rows& r) { table.tanh(r.x.data(), r.to.data(), kFloats); });
  add_rows("elementwise/erf", isa, 2, 0,
           [&table](Rows& r) { table.erf(r.x.data(), r.to.data(), kFloats); });
  for (const auto& [name, kind] :
       {std::pair{"silu", Activation::kSilu}, std::pair{"gelu_tanh", Activation::kGeluTanh},
        std::pair{"gelu", Activation::kGelu}, std::pair{"relu", Activation::kRelu}}) {
    add_rows(std::string("elementwise/glu/") + name, isa, 3, 0, [&table, kind = kind](Rows& r) {
      table.glu(kind, r.x.data(), r.y.data(), r.to.data(), kFloats);
    });
    add_rows(std::string("elementwise/activation/") + name, isa, 2, 0,
             [&table, kind = kind](Rows& r) {
               table.activation(kind, r.x.data(), r.to.data(), kFloats);
             });
  }
}

}  // namespace

void add_vector_rows() {
#define MINFER_KERNELS(table, isa) add_norm(cpu::table, cpu::Isa::isa);
#include "cpu/kernels/norm/kernels.inc"
#undef MINFER_KERNELS
#define MINFER_KERNELS(table, isa) add_rope(cpu::table, cpu::Isa::isa);
#include "cpu/kernels/rope/kernels.inc"
#undef MINFER_KERNELS
#define MINFER_KERNELS(table, isa) add_elementwise(cpu::table, cpu::Isa::isa);
#include "cpu/kernels/elementwise/kernels.inc"
#undef MINFER_KERNELS
}

}  // namespace minfer::bench

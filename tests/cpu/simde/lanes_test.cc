// The lanes of AVX2 and AVX-512 on any machine, in SIMDe's vectors: each operation has the results
// of ScalarLanes, so that every kernel over lanes has them too.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "cpu/kernels/lanes/avx2.h"
#include "cpu/kernels/lanes/avx512.h"
#include "cpu/kernels/lanes/scalar.h"

namespace minfer::cpu {
namespace {

struct Operands {
  float a[kLanes], b[kLanes], c[kLanes];
};

/// Numbers of all sizes, zeros, infinities and NaNs.
Operands random_operands(std::mt19937& random) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float special[] = {0.0F, -0.0F, kInf, -kInf, std::nanf(""), 1e-40F, 1.0F};
  Operands o{};
  for (float* values : {o.a, o.b, o.c}) {
    for (int i = 0; i < kLanes; ++i) {
      const auto bits = static_cast<std::uint32_t>(random());
      const float any = std::bit_cast<float>((bits & 0x8fffffffU) | 0x30000000U);
      values[i] = random() % 8 == 0 ? special[random() % std::size(special)] : any;
    }
  }
  return o;
}

void expect_same(const float* got, const float* want, int n, const char* what) {
  for (int i = 0; i < n; ++i) {
    if (std::isnan(got[i]) && std::isnan(want[i])) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(want[i]))
        << what << ", lane " << i;
  }
}

/// Where f writes 32 floats with V and with ScalarLanes, they are the same.
template <class V, class F>
void check(const char* what, F f) {
  float got[2 * kLanes] = {};
  float want[2 * kLanes] = {};
  f.template operator()<V>(got);
  f.template operator()<ScalarLanes>(want);
  expect_same(got, want, 2 * kLanes, what);
}

template <class V>
void check_arithmetic(const Operands& o) {
  check<V>("add", [&]<class L>(float* to) { L::add(L::load(o.a), L::load(o.b)).store(to); });
  check<V>("sub", [&]<class L>(float* to) { L::sub(L::load(o.a), L::load(o.b)).store(to); });
  check<V>("mul", [&]<class L>(float* to) { L::mul(L::load(o.a), L::load(o.b)).store(to); });
  check<V>("div", [&]<class L>(float* to) { L::div(L::load(o.a), L::load(o.b)).store(to); });
  check<V>("fma",
           [&]<class L>(float* to) { L::fma(L::load(o.a), L::load(o.b), L::load(o.c)).store(to); });
  check<V>("max", [&]<class L>(float* to) { L::max(L::load(o.a), L::load(o.b)).store(to); });
  check<V>("min", [&]<class L>(float* to) { L::min(L::load(o.a), L::load(o.b)).store(to); });
  check<V>("neg", [&]<class L>(float* to) { L::neg(L::load(o.a)).store(to); });
  check<V>("abs", [&]<class L>(float* to) { L::abs(L::load(o.a)).store(to); });
  check<V>("select", [&]<class L>(float* to) {
    L::select_less(L::load(o.a), L::load(o.b), L::load(o.c), L::load(o.a)).store(to);
  });
  check<V>("with_sign",
           [&]<class L>(float* to) { L::with_sign(L::abs(L::load(o.a)), L::load(o.b)).store(to); });
  check<V>("sum", [&]<class L>(float* to) { to[0] = L::sum(L::load(o.a)); });
  check<V>("set1", [&]<class L>(float* to) { L::add(L::set1(o.a[3]), L::zero()).store(to); });
}

template <class V>
void check_memory(const Operands& o, int n) {
  float pairs[2 * kLanes];
  std::uint16_t halves[kLanes];
  std::int8_t bytes[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    pairs[2 * i] = o.a[i];
    pairs[2 * i + 1] = o.b[i];
    halves[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(o.c[i]) >> 7);
    bytes[i] = static_cast<std::int8_t>(std::bit_cast<std::uint32_t>(o.c[i]));
  }
  if (n > 0) {
    check<V>("load_n", [&]<class L>(float* to) { L::load_n(o.a, n).store(to); });
    check<V>("store_n", [&]<class L>(float* to) { L::load(o.a).store_n(to, n); });
  }
  check<V>("load_f16", [&]<class L>(float* to) { L::load_f16(halves).store(to); });
  check<V>("broadcast_f16", [&]<class L>(float* to) { L::broadcast_f16(halves[n]).store(to); });
  check<V>("store_f16", [&]<class L>(float* to) {
    L::load(o.a).store_f16(reinterpret_cast<std::uint16_t*>(to));
  });
  check<V>("load_i8", [&]<class L>(float* to) { L::load_i8(bytes).store(to); });
  check<V>("keep_range", [&]<class L>(float* to) {
    L::keep_range(L::load(o.a), n, (n + 5) % 17, L::load(o.b)).store(to);
  });
  check<V>("load_pairs", [&]<class L>(float* to) {
    L even, odd;
    L::load_pairs(pairs, even, odd);
    even.store(to);
    odd.store(to + kLanes);
  });
  check<V>("store_pairs",
           [&]<class L>(float* to) { L::store_pairs(to, L::load(o.a), L::load(o.b)); });
}

/// What exp_lanes asks of it: whole numbers, no NaN in `n`, and a largest of numbers alone.
template <class V>
void check_numbers(const Operands& o, std::mt19937& random) {
  float whole[kLanes];
  float numbers[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    whole[i] = static_cast<float>(static_cast<int>(random() % 507) - 252);
    numbers[i] = std::isnan(o.a[i]) ? 1.0F : o.a[i] + 0.0F;
  }
  check<V>("scale_by_power_of_2", [&]<class L>(float* to) {
    L::scale_by_power_of_2(L::load(o.a), L::load(whole)).store(to);
  });
  check<V>("largest", [&]<class L>(float* to) { to[0] = L::largest(L::load(numbers)); });
}

template <class V>
class EmulatedLanes : public testing::Test {};
using LanesTypes = testing::Types<Avx2Lanes, Avx512Lanes>;
TYPED_TEST_SUITE(EmulatedLanes, LanesTypes);

TYPED_TEST(EmulatedLanes, EqualScalarLanes) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const Operands o = random_operands(random);
    check_arithmetic<TypeParam>(o);
    check_memory<TypeParam>(o, round % kLanes);
    check_numbers<TypeParam>(o, random);
    if (this->HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace minfer::cpu

// Kernels alone: every instruction set against the scalar one with ==, and the scalar one against
// the mathematics in binary64.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/half.h"
#include "cpu/kernels/attention/attention.h"
#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/kernels/kv/kv.h"
#include "cpu/kernels/norm/norm.h"
#include "cpu/kernels/rope/rope.h"
#include "cpu/kv_layout.h"
#include "cpu/rope_table.h"
#include "tests/cpu/graph_rig.h"

namespace minfer::tests {
namespace {

using backend::KvFormat;
using cpu::Isa;

std::vector<float> random_floats(std::size_t n, float size, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> noise(0.0F, size);
  std::vector<float> values(n);
  for (float& value : values) value = noise(random);
  return values;
}

/// Distance in units of the last place of the right answer.
double ulps(float got, double wanted) {
  const auto nearest = static_cast<float>(wanted);
  const float next = std::nextafter(std::abs(nearest), std::numeric_limits<float>::infinity());
  return std::abs(static_cast<double>(got) - wanted) / (next - std::abs(nearest));
}

TEST(CpuMath, exp_tanh_erf_are_close_to_the_mathematics) {
  const auto& k = cpu::elementwise_kernels(Isa::kScalar);
  double worst_exp = 0;
  double worst_tanh = 0;
  double worst_erf = 0;
  for (double x = -87.0; x < 88.7; x += 0.0137) {
    const auto f = static_cast<float>(x);
    float y = 0;
    k.exp(&f, &y, 1);
    worst_exp = std::max(worst_exp, ulps(y, std::exp(double{f})));
    const float g = f / 8;
    k.tanh(&g, &y, 1);
    worst_tanh = std::max(worst_tanh, ulps(y, std::tanh(double{g})));
    const float h = f / 16;
    k.erf(&h, &y, 1);
    worst_erf = std::max(worst_erf, std::abs(double{y} - std::erf(double{h})));
  }
  std::printf("exp %.2f ulp, tanh %.2f ulp, erf %.1e\n", worst_exp, worst_tanh, worst_erf);
  EXPECT_LT(worst_exp, 1.5);
  EXPECT_LT(worst_tanh, 2.0);
  EXPECT_LT(worst_erf, 1.3e-7);
}

TEST(CpuMath, ends_and_nans) {
  const auto& k = cpu::elementwise_kernels(Isa::kScalar);
  const float inf = std::numeric_limits<float>::infinity();
  const float x[] = {0.0F, -inf, inf, 1000.0F, -1000.0F, std::nanf("")};
  float y[6];
  k.exp(x, y, 6);
  EXPECT_EQ(y[0], 1.0F);
  EXPECT_LT(y[1], 1.3e-38F);
  EXPECT_GT(y[2], 3.4e38F);
  EXPECT_TRUE(std::isnan(y[5]));
  k.tanh(x, y, 6);
  EXPECT_EQ(y[1], -1.0F);
  EXPECT_EQ(y[2], 1.0F);
  EXPECT_TRUE(std::isnan(y[5]));
  k.erf(x, y, 6);
  EXPECT_EQ(y[1], -1.0F);
  EXPECT_EQ(y[3], 1.0F);
  EXPECT_TRUE(std::isnan(y[5]));
}

TEST(CpuMath, rope_angles_are_those_of_libm) {
  for (const double x : {0.0, 1e-9, 0.5, 1.5707963, 3.0, 100.25, 32767.0, 131071.0, 1048575.5}) {
    const auto [sine, cosine] = cpu::sine_cosine_f64(x);
    EXPECT_NEAR(sine, std::sin(x), 3e-16) << x;
    EXPECT_NEAR(cosine, std::cos(x), 3e-16) << x;
  }
  for (const double x : {1e-30, 0.1, 1.0, 2.0, 10000.0, 1e6, 5e5}) {
    EXPECT_NEAR(cpu::log_f64(x), std::log(x), 1e-14) << x;
  }
  for (const double x : {-90.0, -13.8, -1.0, 0.0, 0.3, 50.0}) {
    EXPECT_NEAR(cpu::exp_f64(x) / std::exp(x), 1.0, 1e-15) << x;
  }
}

TEST(CpuMath, rope_table_rows_do_not_depend_on_the_order_they_are_filled_in) {
  cpu::RopeTableKey key;
  key.n_rot = 10;
  key.base = 1000000.0F;
  auto a = cpu::RopeTable::create(key, 5000).value();
  auto b = cpu::RopeTable::create(key, 5000).value();
  const std::int32_t up[] = {0, 1, 4999, 77};
  const std::int32_t down[] = {77, 4999};
  a.fill(up);
  b.fill(down);
  for (const std::int32_t position : down) {
    for (int i = 0; i < 5; ++i) {
      const double angle = position * std::pow(1e6, -2.0 * i / 10);
      EXPECT_EQ(a.cosine(position)[i], b.cosine(position)[i]);
      EXPECT_EQ(a.sine(position)[i], static_cast<float>(std::sin(angle)));
      EXPECT_EQ(a.cosine(position)[i], static_cast<float>(std::cos(angle)));
    }
  }
}

TEST(CpuKernels, elementwise_equal_the_scalar_ones) {
  const auto& scalar = cpu::elementwise_kernels(Isa::kScalar);
  for (const Isa isa : all_isas()) {
    const auto& k = cpu::elementwise_kernels(isa);
    for (const std::int64_t n : {1, 7, 15, 16, 17, 31, 33, 100}) {
      auto x = random_floats(static_cast<std::size_t>(n), 8.0F, 1);
      const auto y = random_floats(static_cast<std::size_t>(n), 2.0F, 2);
      x[0] = 1e-39F;  // below the normal numbers: nothing is flushed
      std::vector<float> a(x.size() + 1, 7.0F);
      auto b = a;
      const auto same = [&](const char* what) {
        EXPECT_EQ(bits(a), bits(b)) << what << ' ' << n;
        EXPECT_EQ(a.back(), 7.0F) << what << " writes past its row";
      };
      k.add(x.data(), y.data(), a.data(), n), scalar.add(x.data(), y.data(), b.data(), n);
      same("add");
      k.mul(x.data(), y.data(), a.data(), n), scalar.mul(x.data(), y.data(), b.data(), n);
      same("mul");
      k.scale(x.data(), 0.1F, a.data(), n), scalar.scale(x.data(), 0.1F, b.data(), n);
      same("scale");
      k.exp(x.data(), a.data(), n), scalar.exp(x.data(), b.data(), n);
      same("exp");
      for (const auto kind : {ir::Activation::kSilu, ir::Activation::kGeluTanh,
                              ir::Activation::kGelu, ir::Activation::kRelu}) {
        k.activation(kind, x.data(), a.data(), n), scalar.activation(kind, x.data(), b.data(), n);
        same("activation");
        k.glu(kind, x.data(), y.data(), a.data(), n);
        scalar.glu(kind, x.data(), y.data(), b.data(), n);
        same("glu");
      }
      k.add_scaled(0.3F, x.data(), a.data(), n), scalar.add_scaled(0.3F, x.data(), b.data(), n);
      same("add_scaled");
      const auto w = random_floats(static_cast<std::size_t>(n), 1.0F, 3);
      cpu::norm_kernels(isa).rms_norm(x.data(), w.data(), a.data(), n, 1e-5F);
      cpu::norm_kernels(Isa::kScalar).rms_norm(x.data(), w.data(), b.data(), n, 1e-5F);
      same("rms_norm");
    }
  }
}

TEST(CpuKernels, rms_norm_is_close_to_the_mathematics) {
  const auto x = random_floats(577, 3.0F, 4);
  const auto w = random_floats(577, 1.0F, 5);
  std::vector<float> y(577);
  cpu::norm_kernels(Isa::kScalar).rms_norm(x.data(), w.data(), y.data(), 577, 1e-5F);
  double squares = 0;
  for (const float v : x) squares += double{v} * v;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double wanted = x[i] / std::sqrt(squares / 577 + 1e-5) * w[i];
    EXPECT_NEAR(y[i], wanted, 1e-6 * std::abs(wanted) + 1e-12);
  }
}

/// Rows of a page: K, V and queries, and attention over it as the textbook has it.
struct PageCase {
  PageCase(KvFormat format, std::int32_t head_dim, std::int32_t n_rows)
      : layout(cpu::kv_head_layout(format, head_dim)), rows(n_rows) {
    page.resize(layout.bytes + 64);
    const auto n = static_cast<std::size_t>(head_dim);
    q = random_floats(n * static_cast<std::size_t>(n_rows), 1.0F, 6);
    const auto k = random_floats(n * 64, 1.0F, 7);
    const auto v = random_floats(n * 64, 1.0F, 8);
    for (std::int32_t j = 0; j < 64; ++j) {
      const auto at = static_cast<std::size_t>(j * head_dim);
      cpu::kv_store_head(Isa::kScalar, layout, data(), j, &k[at], &v[at]);
    }
    // Ranges that differ from row to row, some empty, some far apart.
    std::mt19937 random(9);
    for (std::int32_t r = 0; r < n_rows; ++r) {
      auto from = static_cast<std::int32_t>(random() % 65);
      auto to = static_cast<std::int32_t>(random() % 65);
      if (from > to) std::swap(from, to);
      if (r % 5 == 0) from = 0, to = 64 - r % 7;
      begin.push_back(from == to ? 0 : from);
      end.push_back(from == to ? 0 : to);
    }
  }
  std::byte* data() {
    void* start = page.data();
    std::size_t space = page.size();
    return static_cast<std::byte*>(std::align(64, layout.bytes, start, space));
  }
  struct Result {
    std::vector<float> m, l, o;
  };
  /// `direct`: the kernel reads the f16 page as it lies.
  Result run(Isa isa, std::int32_t first, std::int32_t n, bool direct = false) {
    const auto count = static_cast<std::size_t>(n);
    const auto stride = static_cast<std::size_t>(layout.v_stride);
    std::vector<float> k(static_cast<std::size_t>(layout.head_dim) * 64), v(stride * 64);
    std::vector<float> p(count * 64, std::nanf(""));
    Result result{std::vector<float>(count), std::vector<float>(count),
                  std::vector<float>(count * stride)};
    cpu::kv_widen_head(isa, layout, data(), 0, 64, k.data(), v.data());
    const auto halves = [&](std::uint64_t at) {
      return direct ? reinterpret_cast<const std::uint16_t*>(data() + at) : nullptr;
    };
    cpu::attention_kernels(isa).piece({.k = direct ? nullptr : k.data(),
                                       .v = direct ? nullptr : v.data(),
                                       .k_f16 = halves(0),
                                       .v_f16 = halves(layout.v),
                                       .head_dim = layout.head_dim,
                                       .v_stride = layout.v_stride,
                                       .n_rows = n,
                                       .q = q.data() + first * layout.head_dim,
                                       .begin = begin.data() + first,
                                       .end = end.data() + first,
                                       .p = p.data(),
                                       .m = result.m.data(),
                                       .l = result.l.data(),
                                       .o = result.o.data()});
    return result;
  }

  cpu::KvHeadLayout layout;
  std::int32_t rows;
  std::vector<std::byte> page;
  std::vector<float> q;
  std::vector<std::int32_t> begin, end;
};

TEST(CpuKernels, attention_pieces_are_close_to_the_mathematics) {
  for (const KvFormat format : {KvFormat::kF32, KvFormat::kF16, KvFormat::kQ8_0}) {
    PageCase c(format, 64, 9);
    const auto got = c.run(Isa::kScalar, 0, 9);
    std::vector<float> k(64), v(64);
    for (std::int32_t r = 0; r < 9; ++r) {
      if (c.begin[static_cast<std::size_t>(r)] == c.end[static_cast<std::size_t>(r)]) continue;
      std::vector<double> o(64);
      double l = 0;
      for (int j = c.begin[static_cast<std::size_t>(r)]; j < c.end[static_cast<std::size_t>(r)];
           ++j) {
        cpu::kv_read_head(c.layout, c.data(), j, k.data(), v.data());
        double score = 0;
        for (std::size_t d = 0; d < 64; ++d) {
          score += double{c.q[static_cast<std::size_t>(r) * 64 + d]} * k[d];
        }
        const double p = std::exp(score - double{got.m[static_cast<std::size_t>(r)]});
        EXPECT_LT(p, 1.001);
        l += p;
        for (std::size_t d = 0; d < 64; ++d) o[d] += p * v[d];
      }
      EXPECT_NEAR(got.l[static_cast<std::size_t>(r)] / l, 1.0, 1e-5);
      for (std::size_t d = 0; d < 64; ++d) {
        EXPECT_NEAR(got.o[static_cast<std::size_t>(r) * 64 + d], o[d], 1e-4);
      }
    }
  }
}

TEST(CpuKernels, attention_equals_the_scalar_one_row_by_row) {
  for (const KvFormat format : {KvFormat::kF32, KvFormat::kF16, KvFormat::kQ8_0}) {
    for (const std::int32_t head_dim : {6, 32, 40, 64, 96}) {
      if (!cpu::check_kv_format(format, head_dim).ok()) continue;
      for (const std::int32_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 17}) {
        PageCase c(format, head_dim, n);
        for (const Isa isa : all_isas()) {
          const auto together = c.run(isa, 0, n);
          if (format == KvFormat::kF16) {
            const auto direct = c.run(isa, 0, n, true);
            ASSERT_EQ(direct.m, together.m);
            ASSERT_EQ(direct.l, together.l);
            ASSERT_EQ(direct.o, together.o);
          }
          const auto stride = static_cast<std::size_t>(c.layout.v_stride);
          for (std::int32_t r = 0; r < n; ++r) {
            const auto i = static_cast<std::size_t>(r);
            if (c.begin[i] == c.end[i]) continue;
            const auto alone = c.run(Isa::kScalar, r, 1);
            EXPECT_EQ(together.m[i], alone.m[0]);
            EXPECT_EQ(together.l[i], alone.l[0]);
            for (std::size_t d = 0; d < static_cast<std::size_t>(head_dim); ++d) {
              ASSERT_EQ(together.o[i * stride + d], alone.o[d]) << cpu::isa_name(isa) << ' ' << d;
            }
          }
        }
      }
    }
  }
}

TEST(CpuKernels, merging_and_finishing_equal_the_scalar_ones) {
  // Three kinds of rows: merged, without a range, and the first piece; more rows than lanes.
  constexpr std::int32_t kRows = 21;
  constexpr std::int32_t kStride = 48;
  const auto o = random_floats(kRows * kStride, 1.0F, 11);
  const auto old_o = random_floats(kRows * kStride, 1.0F, 12);
  const auto m = random_floats(kRows, 2.0F, 13);
  const auto old_m = random_floats(kRows, 2.0F, 14);
  std::vector<float> l(kRows, 7.0F), old_l(kRows, 3.0F);
  std::vector<std::int32_t> begin(kRows, 2), end(kRows, 9);
  end[4] = begin[4];
  old_l[5] = cpu::kNoPiece;
  struct Sums {
    std::vector<float> m, l, o;
  };
  const auto merged = [&](Isa isa) {
    Sums s{old_m, old_l, old_o};
    cpu::attention_kernels(isa).merge({.n_rows = kRows,
                                       .stride = kStride,
                                       .begin = begin.data(),
                                       .end = end.data(),
                                       .m = m.data(),
                                       .l = l.data(),
                                       .o = o.data(),
                                       .big_m = s.m.data(),
                                       .big_l = s.l.data(),
                                       .big_o = s.o.data()});
    return s;
  };
  const Sums wanted = merged(Isa::kScalar);
  for (std::size_t r = 0; r < kRows; ++r) {
    const double top = std::max(double{m[r]}, double{old_m[r]});
    const double a = std::exp(double{old_m[r]} - top);
    const double b = std::exp(double{m[r]} - top);
    const std::size_t at = r * kStride + 17;
    EXPECT_NEAR(wanted.l[r], r == 4 ? 3.0 : r == 5 ? 7.0 : 3.0 * a + 7.0 * b, 1e-5);
    EXPECT_NEAR(wanted.o[at],
                r == 4   ? double{old_o[at]}
                : r == 5 ? double{o[at]}
                         : old_o[at] * a + o[at] * b,
                1e-5);
    EXPECT_EQ(wanted.m[r], r == 4 ? old_m[r] : r == 5 ? m[r] : static_cast<float>(top));
  }
  for (const Isa isa : all_isas()) {
    const Sums got = merged(isa);
    EXPECT_EQ(bits(got.m), bits(wanted.m));
    EXPECT_EQ(bits(got.l), bits(wanted.l));
    EXPECT_EQ(bits(got.o), bits(wanted.o));
    const std::vector<float>& a = got.o;
    std::vector<float> x(41, 9.0F), y(41, 9.0F);
    cpu::attention_kernels(isa).finish(3.7F, a.data(), x.data(), 40);
    cpu::attention_kernels(Isa::kScalar).finish(3.7F, a.data(), y.data(), 40);
    EXPECT_EQ(bits(x), bits(y));
    EXPECT_EQ(x[40], 9.0F);
  }
}

TEST(CpuKernels, kv_formats_round_once_and_read_back) {
  for (const std::int32_t head_dim : {32, 40, 128}) {
    const auto n = static_cast<std::size_t>(head_dim);
    auto k = random_floats(n, 2.0F, 13);
    const auto v = random_floats(n, 2.0F, 14);
    k[3] = 0.0F;
    for (const KvFormat format : {KvFormat::kF32, KvFormat::kF16, KvFormat::kQ8_0}) {
      if (format == KvFormat::kQ8_0 && head_dim % 32 != 0) {
        EXPECT_EQ(cpu::check_kv_format(format, head_dim).code(), StatusCode::kUnsupported);
        continue;
      }
      const auto layout = cpu::kv_head_layout(format, head_dim);
      std::vector<float> read_k(n), read_v(n);
      for (const Isa isa : all_isas()) {
        std::vector<std::byte> page(layout.bytes, std::byte{0xFF});
        cpu::kv_store_head(isa, layout, page.data(), 63, k.data(), v.data());
        cpu::kv_store_head(isa, layout, page.data(), 0, v.data(), k.data());
        cpu::kv_read_head(layout, page.data(), 63, read_k.data(), read_v.data());
        for (std::size_t d = 0; d < n; ++d) {
          if (format == KvFormat::kF32) {
            EXPECT_EQ(read_k[d], k[d]);
          }
          if (format == KvFormat::kF16) {
            EXPECT_EQ(read_v[d], f16_to_f32(f32_to_f16(v[d])));
          }
          if (format == KvFormat::kQ8_0) {
            EXPECT_NEAR(read_k[d], k[d], 8.0 / 127);
          }
        }
        cpu::kv_read_head(layout, page.data(), 0, read_k.data(), read_v.data());
        EXPECT_NEAR(read_k[1], v[1], 8.0 / 127);
        EXPECT_NEAR(read_v[1], k[1], 8.0 / 127);
      }
    }
  }
}

TEST(CpuKernels, a_broken_row_in_the_q8_0_cache_stays_broken) {
  const auto layout = cpu::kv_head_layout(KvFormat::kQ8_0, 32);
  std::vector<std::byte> page(layout.bytes);
  std::vector<float> k(32, 1.0F), v(32, 0.0F), read_k(32), read_v(32);
  k[5] = std::nanf("");
  v[7] = 1e-30F;  // a scale of zero: the block is zero
  cpu::kv_store_head(Isa::kScalar, layout, page.data(), 4, k.data(), v.data());
  cpu::kv_read_head(layout, page.data(), 4, read_k.data(), read_v.data());
  for (std::size_t d = 0; d < 32; ++d) {
    EXPECT_TRUE(std::isnan(read_k[d]));
    EXPECT_EQ(read_v[d], 0.0F);
  }
}

}  // namespace
}  // namespace minfer::tests

// Attention over one page of 64 positions, and the KV formats, a benchmark a row of kernels.inc.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <string_view>

#include "backend/backend.h"
#include "bench/kernel_bench.h"
#include "cpu/kernels/attention/attention.h"
#include "cpu/kernels/kv/kv.h"

namespace minfer::cpu {
#define MINFER_KERNELS(table, isa) extern const AttentionKernels table;
#include "cpu/kernels/attention/kernels.inc"
#undef MINFER_KERNELS
#define MINFER_KERNELS(table, isa) extern const KvKernels table;
#include "cpu/kernels/kv/kernels.inc"
#undef MINFER_KERNELS
}  // namespace minfer::cpu

namespace minfer::bench {
namespace {

constexpr std::int32_t kPage = backend::kPageRows;
constexpr std::int32_t kHead = 64;
constexpr std::int32_t kPageFloats = kPage * kHead;
constexpr std::int32_t kMostRows = 16;

/// One head's page, and what a block of queries needs beside it.
struct Piece {
  Piece(std::int32_t n_rows, bool f16) {
    begin.fill(0);
    end.fill(kPage);
    big_l.fill(1.0F);
    args.head_dim = kHead;
    args.v_stride = kHead;
    args.n_rows = n_rows;
    // As f16 the same bytes are numbers too.
    if (f16) {
      args.k_f16 = reinterpret_cast<const std::uint16_t*>(k.data());
      args.v_f16 = reinterpret_cast<const std::uint16_t*>(v.data());
    } else {
      args.k = k.data();
      args.v = v.data();
    }
    args.q = q.data();
    args.begin = begin.data();
    args.end = end.data();
    args.p = p.data();
    args.m = m.data();
    args.l = l.data();
    args.o = o.data();
    merge = {.n_rows = n_rows,
             .stride = kHead,
             .begin = begin.data(),
             .end = end.data(),
             .m = m.data(),
             .l = big_l.data(),
             .o = o.data(),
             .big_m = m.data(),
             .big_l = big_l.data(),
             .big_o = big_o.data()};
  }

  Floats k{kPageFloats}, v{kPageFloats}, q{kMostRows * kHead}, p{kMostRows * kPage};
  Floats o{kMostRows * kHead}, big_o{kMostRows * kHead};
  std::array<float, kMostRows> m{}, l{}, big_l{};
  std::array<std::int32_t, kMostRows> begin{}, end{};
  cpu::AttentionPiece args;
  cpu::AttentionMerge merge;
};

void add_attention(const cpu::AttentionKernels& table, cpu::Isa isa) {
  for (const std::int32_t n_rows : {1, kMostRows}) {
    for (const bool f16 : {false, true}) {
      const Work work = {.bytes = kPageFloats * (f16 ? 2.0 : 4.0) * 2,
                         .float_flops = 4.0 * kPageFloats * n_rows};
      add(fmt::format("attention/piece/{}/x{}", f16 ? "f16" : "f32", n_rows), isa, work,
          [=, &table] {
            const auto piece = std::make_shared<Piece>(n_rows, f16);
            return [=, &table] { table.piece(piece->args); };
          });
    }
  }
  const Work merge = {.bytes = kMostRows * kHead * 4.0 * 3};
  add(fmt::format("attention/merge/x{}", kMostRows), isa, merge, [&table] {
    const auto piece = std::make_shared<Piece>(kMostRows, false);
    return [=, &table] { table.merge(piece->merge); };
  });
  add("attention/finish", isa, {.bytes = kHead * 8.0}, [&table] {
    const auto piece = std::make_shared<Piece>(1, false);
    return [=, &table] { table.finish(2.0F, piece->o.data(), piece->big_o.data(), kHead); };
  });
}

void add_kv(const cpu::KvKernels& table, cpu::Isa isa) {
  struct Page {
    Floats floats{kPageFloats};
    std::vector<std::uint16_t> halves = std::vector<std::uint16_t>(kPageFloats, 0x3C00);
    std::vector<std::int8_t> bytes = std::vector<std::int8_t>(kPageFloats, 3);
  };
  const auto add_one = [&](std::string_view name, double bytes, auto call) {
    add(fmt::format("kv/{}", name), isa, {.bytes = bytes * kPageFloats}, [=] {
      const auto page = std::make_shared<Page>();
      return [=] { call(*page); };
    });
  };
  add_one("narrow_f16", 6, [&table](Page& page) {
    table.narrow_f16(page.floats.data(), page.halves.data(), kPageFloats);
  });
  add_one("widen_f16", 6, [&table](Page& page) {
    table.widen_f16(page.halves.data(), kHead, page.floats.data(), kHead, kPage, kHead);
  });
  add_one("widen_q8_k", 5 + 2.0 / 32, [&table](Page& page) {
    table.widen_q8_k(page.bytes.data(), page.halves.data(), page.floats.data(), kHead, kPage);
  });
  add_one("widen_q8_v", 5 + 2.0 / 32, [&table](Page& page) {
    table.widen_q8_v(page.bytes.data(), page.halves.data(), page.floats.data(), kHead, kPage,
                     kHead);
  });
}

}  // namespace

void add_attention_rows() {
#define MINFER_KERNELS(table, isa) add_attention(cpu::table, cpu::Isa::isa);
#include "cpu/kernels/attention/kernels.inc"
#undef MINFER_KERNELS
#define MINFER_KERNELS(table, isa) add_kv(cpu::table, cpu::Isa::isa);
#include "cpu/kernels/kv/kernels.inc"
#undef MINFER_KERNELS
}

}  // namespace minfer::bench

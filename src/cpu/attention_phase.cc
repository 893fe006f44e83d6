#include "cpu/attention_phase.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "cpu/kernels/attention/attention.h"
#include "cpu/kernels/elementwise/elementwise.h"

namespace minfer::cpu {
namespace {

constexpr std::int64_t kPage = backend::kPageRows;
constexpr std::int64_t kBlockQueries = 64;  // query rows (tokens x heads of a KV head) in a block
constexpr std::int64_t kMostSplitRows = 8;
/// So few queries read a page's f16 as it is: widening it first would cost more than it saves.
constexpr std::int64_t kDirectQueries = 8;

/// A thread's working memory for a block of query rows.
struct Block {
  float* k;  // [head_dim][64], the page widened
  float* v;  // [64][v_stride]
  float* q;  // [queries][head_dim], scaled
  float* p;  // [queries][64]
  float* m;  // of the piece, [queries]
  float* l;
  float* o;      // [queries][v_stride]
  float* big_m;  // of the pieces so far
  float* big_l;
  float* big_o;
  std::int32_t* begin;  // [queries]: positions of the page in the bounds
  std::int32_t* end;
};

class AttentionPhase final : public Phase {
 public:
  AttentionPhase(NodeCompiler& compiler, const ir::AttentionAttrs& attrs, const KvLayerRef& kv);

  [[nodiscard]] std::int64_t cost(const backend::StepContext& step) const override {
    return q_.live(step) > 0 ? kParallel : 0;
  }
  void prepare(const backend::StepContext& step) override;
  void run(const PhaseContext& c) override {
    if (split_) {
      run_split(c);
    } else {
      run_blocks(c);
    }
  }
  [[nodiscard]] Traffic traffic(const backend::StepContext& step) const override;

 private:
  [[nodiscard]] std::int64_t first(const backend::StepContext& step, std::int64_t row) const {
    return bounds_.ints(step, row)[0];
  }
  [[nodiscard]] std::int64_t last(const backend::StepContext& step, std::int64_t row) const {
    return bounds_.ints(step, row)[1];
  }
  Block make_block(std::byte* scratch, std::int64_t queries) const;
  std::uint64_t block_bytes(std::int64_t queries) const;
  void load_queries(const PhaseContext& c, const Block& b, std::int64_t row, std::int64_t n_rows,
                    std::int64_t kv_head) const;
  AttentionPiece piece_args(const PhaseContext& c, const Block& b, std::int64_t queries,
                            std::int64_t page, std::int32_t page_id, std::int64_t kv_head,
                            std::int64_t begin, std::int64_t end) const;

  void run_blocks(const PhaseContext& c) const;
  void run_block(const PhaseContext& c, std::int64_t row, std::int64_t end,
                 std::int64_t kv_head) const;
  void run_split(const PhaseContext& c);
  void run_pieces(const PhaseContext& c, std::int64_t row, std::int64_t kv_head,
                  std::int64_t page_begin, std::int64_t page_end) const;
  void merge_pieces(const PhaseContext& c, std::int64_t row, std::int64_t kv_head) const;

  /// The kept results of page `page` of a row's KV head: m and l [group], then o [group][v_stride].
  [[nodiscard]] float* partial(const PhaseContext& c, std::int64_t row, std::int64_t kv_head,
                               std::int64_t page) const {
    const std::int64_t index = (row * kv_.n_head_kv + kv_head) * n_pages_ + page;
    return partials_.floats(c, index);
  }

  ValueRef q_, bounds_, sequence_, pages_, to_;
  ir::AttentionAttrs attrs_;
  KvLayerRef kv_;
  std::int64_t group_;         // query heads of a KV head
  std::int64_t tokens_block_;  // rows of a block at most
  std::int64_t n_pages_;       // of a page table
  std::int64_t split_rows_;    // rows that partials_ has room for
  int n_threads_;
  RowsRef partials_;

  // Of the step.
  bool split_ = false;
  std::int64_t block_rows_ = 1;
  std::int64_t pages_per_item_ = 1;
  std::array<std::int64_t, kMostSplitRows> items_of_row_{};
  /// Items of a row's KV head that are not done yet.
  std::unique_ptr<std::atomic<std::int64_t>[]> open_items_;
};

std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

AttentionPhase::AttentionPhase(NodeCompiler& compiler, const ir::AttentionAttrs& attrs,
                               const KvLayerRef& kv)
    : q_(compiler.input(0)),
      bounds_(compiler.input(2)),
      sequence_(compiler.input(3)),
      pages_(compiler.input(4)),
      to_(compiler.output(0)),
      attrs_(attrs),
      kv_(kv),
      group_(attrs.n_head / attrs.n_head_kv),
      tokens_block_(std::max<std::int64_t>(kBlockQueries / group_, 1)),
      n_pages_(pages_.elements()),
      split_rows_(q_.capacity() <= kMostSplitRows ? q_.capacity() : 0),
      n_threads_(compiler.runtime().n_threads()) {
  const auto partial_floats = static_cast<std::uint64_t>(group_ * (kv_.layout.v_stride + 2));
  partials_ =
      compiler.shared_rows(split_rows_ * kv_.n_head_kv * n_pages_, partial_floats * sizeof(float));
  open_items_ = std::make_unique<std::atomic<std::int64_t>[]>(
      static_cast<std::size_t>(split_rows_ * kv_.n_head_kv));
  compiler.need_thread_scratch(block_bytes(tokens_block_ * group_));
}

void AttentionPhase::prepare(const backend::StepContext& step) {
  const std::int64_t rows = q_.live(step);
  const std::int64_t heads = kv_.n_head_kv;
  // Blocks: full ones unless that leaves threads without work.
  const std::int64_t wanted_items = std::int64_t{4} * n_threads_;
  const std::int64_t fair = std::max<std::int64_t>(rows * heads / wanted_items, 1);
  block_rows_ = std::min(tokens_block_, fair);
  split_ = false;
  if (rows > split_rows_ || n_threads_ == 1 || (heads * rows) % n_threads_ == 0) return;
  std::int64_t pages = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    pages += last(step, r) / kPage - first(step, r) / kPage + 1;
  }
  split_ = true;
  pages_per_item_ = std::max<std::int64_t>(pages * heads / wanted_items, 1);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t of_row = last(step, r) / kPage - first(step, r) / kPage + 1;
    const std::int64_t items = (of_row + pages_per_item_ - 1) / pages_per_item_;
    items_of_row_[static_cast<std::size_t>(r)] = items;
    for (std::int64_t h = 0; h < heads; ++h) {
      open_items_[static_cast<std::size_t>(r * heads + h)].store(items, std::memory_order_relaxed);
    }
  }
}

Block AttentionPhase::make_block(std::byte* scratch, std::int64_t queries) const {
  Block b;
  auto take = [&scratch](std::int64_t n) {
    auto* at = reinterpret_cast<float*>(scratch);
    scratch += aligned(static_cast<std::uint64_t>(n) * sizeof(float));
    return at;
  };
  const std::int64_t head_dim = kv_.layout.head_dim;
  const std::int64_t v_stride = kv_.layout.v_stride;
  b.k = take(head_dim * kPage);
  b.v = take(kPage * v_stride);
  b.q = take(queries * head_dim);
  b.p = take(queries * kPage);
  b.o = take(queries * v_stride);
  b.big_o = take(queries * v_stride);
  b.m = take(queries);
  b.l = take(queries);
  b.big_m = take(queries);
  b.big_l = take(queries);
  b.begin = reinterpret_cast<std::int32_t*>(take(queries));
  b.end = reinterpret_cast<std::int32_t*>(take(queries));
  return b;
}

std::uint64_t AttentionPhase::block_bytes(std::int64_t queries) const {
  const std::int64_t floats = kPage * (kv_.layout.head_dim + kv_.layout.v_stride) +
                              queries * (kv_.layout.head_dim + kPage + 2 * kv_.layout.v_stride + 6);
  constexpr std::uint64_t kArrays = 12;
  return static_cast<std::uint64_t>(floats) * sizeof(float) + kArrays * kAlignment;
}

void AttentionPhase::load_queries(const PhaseContext& c, const Block& b, std::int64_t row,
                                  std::int64_t n_rows, std::int64_t kv_head) const {
  const std::int64_t n = group_ * kv_.layout.head_dim;
  for (std::int64_t r = 0; r < n_rows; ++r) {
    const float* from = q_.floats(c, row + r) + kv_head * n;
    elementwise_kernels(c.isa).scale(from, attrs_.scale, b.q + r * n, n);
  }
}

AttentionPiece AttentionPhase::piece_args(const PhaseContext& c, const Block& b,
                                          std::int64_t queries, std::int64_t page,
                                          std::int32_t page_id, std::int64_t kv_head,
                                          std::int64_t begin, std::int64_t end) const {
  const std::int64_t base = page * kPage;
  const std::byte* head = kv_.head(c.step, page_id, kv_head);
  AttentionPiece args{.head_dim = kv_.layout.head_dim,
                      .v_stride = kv_.layout.v_stride,
                      .n_rows = static_cast<std::int32_t>(queries),
                      .q = b.q,
                      .begin = b.begin,
                      .end = b.end,
                      .p = b.p,
                      .m = b.m,
                      .l = b.l,
                      .o = b.o};
  if (kv_.layout.format == backend::KvFormat::kF16 && queries <= kDirectQueries) {
    args.k_f16 = reinterpret_cast<const std::uint16_t*>(head);
    args.v_f16 = reinterpret_cast<const std::uint16_t*>(head + kv_.layout.v);
    return args;
  }
  kv_widen_head(c.isa, kv_.layout, head, static_cast<std::int32_t>(std::max(begin, base) - base),
                static_cast<std::int32_t>(std::min(end, base + kPage) - base), b.k, b.v);
  args.k = b.k;
  args.v = b.v;
  return args;
}

/// The part of [first, last] that lies in the page from `base` on; empty ranges are [0, 0).
void page_range(std::int64_t first, std::int64_t last, std::int64_t base, std::int32_t& begin,
                std::int32_t& end) {
  const std::int64_t from = std::max(first - base, std::int64_t{0});
  const std::int64_t to = std::min(last + 1 - base, kPage);
  begin = static_cast<std::int32_t>(from < to ? from : 0);
  end = static_cast<std::int32_t>(from < to ? to : 0);
}

void AttentionPhase::run_blocks(const PhaseContext& c) const {
  const std::int64_t rows = q_.live(c.step);
  const std::int64_t blocks = (rows + block_rows_ - 1) / block_rows_;
  const std::int64_t items = blocks * kv_.n_head_kv;
  for (std::int64_t i = c.claim(); i < items; i = c.claim()) {
    // Later rows see more positions: the long items go first.
    const std::int64_t block = blocks - 1 - i / kv_.n_head_kv;
    const std::int64_t end = std::min((block + 1) * block_rows_, rows);
    for (std::int64_t row = block * block_rows_; row < end;) {
      const std::int32_t sequence = *sequence_.ints(c.step, row);
      std::int64_t next = row + 1;
      while (next < end && *sequence_.ints(c.step, next) == sequence) ++next;
      run_block(c, row, next, i % kv_.n_head_kv);
      row = next;
    }
  }
}

void AttentionPhase::run_block(const PhaseContext& c, std::int64_t row, std::int64_t end,
                               std::int64_t kv_head) const {
  const std::int64_t n_rows = end - row;
  const std::int64_t queries = n_rows * group_;
  const std::int64_t v_stride = kv_.layout.v_stride;
  const Block b = make_block(c.scratch, queries);
  const AttentionKernels& kernels = attention_kernels(c.isa);
  load_queries(c, b, row, n_rows, kv_head);
  std::int64_t lowest = first(c.step, row);
  std::int64_t highest = last(c.step, row);
  for (std::int64_t r = row; r < end; ++r) {
    lowest = std::min(lowest, first(c.step, r));
    highest = std::max(highest, last(c.step, r));
  }
  const std::int32_t* pages = pages_.ints(c.step, *sequence_.ints(c.step, row));
  std::fill_n(b.big_l, queries, kNoPiece);
  for (std::int64_t page = lowest / kPage; page <= highest / kPage; ++page) {
    std::int32_t any = 0;
    for (std::int64_t r = 0; r < n_rows; ++r) {
      std::int32_t* begin = b.begin + r * group_;
      std::int32_t* stop = b.end + r * group_;
      page_range(first(c.step, row + r), last(c.step, row + r), page * kPage, *begin, *stop);
      std::fill_n(begin + 1, group_ - 1, *begin);
      std::fill_n(stop + 1, group_ - 1, *stop);
      any |= *stop;
    }
    if (any == 0) continue;
    const AttentionPiece args =
        piece_args(c, b, queries, page, pages[page], kv_head, lowest, highest + 1);
    kernels.piece(args);
    kernels.merge({.n_rows = static_cast<std::int32_t>(queries),
                   .stride = kv_.layout.v_stride,
                   .begin = b.begin,
                   .end = b.end,
                   .m = b.m,
                   .l = b.l,
                   .o = b.o,
                   .big_m = b.big_m,
                   .big_l = b.big_l,
                   .big_o = b.big_o});
  }
  const std::int64_t head_dim = kv_.layout.head_dim;
  for (std::int64_t r = 0; r < n_rows; ++r) {
    float* to = to_.floats(c, row + r) + kv_head * group_ * head_dim;
    for (std::int64_t i = r * group_; i < (r + 1) * group_; ++i, to += head_dim) {
      kernels.finish(b.big_l[i], b.big_o + i * v_stride, to, static_cast<std::int32_t>(head_dim));
    }
  }
}

void AttentionPhase::run_split(const PhaseContext& c) {
  const std::int64_t rows = q_.live(c.step);
  const std::int64_t heads = kv_.n_head_kv;
  std::int64_t passed = 0;  // items of the rows before `row`
  std::int64_t row = 0;
  for (std::int64_t i = c.claim();; i = c.claim()) {
    while (row < rows && i >= passed + items_of_row_[static_cast<std::size_t>(row)] * heads) {
      passed += items_of_row_[static_cast<std::size_t>(row)] * heads;
      ++row;
    }
    if (row == rows) return;
    const std::int64_t kv_head = (i - passed) % heads;
    const std::int64_t begin = first(c.step, row) / kPage + (i - passed) / heads * pages_per_item_;
    const std::int64_t end = std::min(begin + pages_per_item_, last(c.step, row) / kPage + 1);
    run_pieces(c, row, kv_head, begin, end);
    auto& open = open_items_[static_cast<std::size_t>(row * heads + kv_head)];
    if (open.fetch_sub(1, std::memory_order_acq_rel) == 1) merge_pieces(c, row, kv_head);
  }
}

void AttentionPhase::run_pieces(const PhaseContext& c, std::int64_t row, std::int64_t kv_head,
                                std::int64_t page_begin, std::int64_t page_end) const {
  const Block b = make_block(c.scratch, group_);
  load_queries(c, b, row, 1, kv_head);
  const std::int32_t* pages = pages_.ints(c.step, *sequence_.ints(c.step, row));
  for (std::int64_t page = page_begin; page < page_end; ++page) {
    for (std::int64_t i = 0; i < group_; ++i) {
      page_range(first(c.step, row), last(c.step, row), page * kPage, b.begin[i], b.end[i]);
    }
    AttentionPiece args = piece_args(c, b, group_, page, pages[page], kv_head, first(c.step, row),
                                     last(c.step, row) + 1);
    float* kept = partial(c, row, kv_head, page);
    args.o = kept;
    args.m = kept + group_ * kv_.layout.v_stride;
    args.l = args.m + group_;
    attention_kernels(c.isa).piece(args);
  }
}

void AttentionPhase::merge_pieces(const PhaseContext& c, std::int64_t row,
                                  std::int64_t kv_head) const {
  const AttentionKernels& kernels = attention_kernels(c.isa);
  const std::int64_t v_stride = kv_.layout.v_stride;
  const std::int64_t begin = first(c.step, row) / kPage;
  const std::int64_t end = last(c.step, row) / kPage + 1;
  float* sums = partial(c, row, kv_head, begin);
  float* big_m = sums + group_ * v_stride;
  float* big_l = big_m + group_;
  const Block all = make_block(c.scratch, group_);
  std::fill_n(all.begin, group_, 0);
  std::fill_n(all.end, group_, 1);  // every piece between the bounds has positions
  for (std::int64_t page = begin + 1; page < end; ++page) {
    const float* piece = partial(c, row, kv_head, page);
    kernels.merge({.n_rows = static_cast<std::int32_t>(group_),
                   .stride = kv_.layout.v_stride,
                   .begin = all.begin,
                   .end = all.end,
                   .m = piece + group_ * v_stride,
                   .l = piece + group_ * v_stride + group_,
                   .o = piece,
                   .big_m = big_m,
                   .big_l = big_l,
                   .big_o = sums});
  }
  const std::int64_t head_dim = kv_.layout.head_dim;
  for (std::int64_t i = 0; i < group_; ++i) {
    kernels.finish(big_l[i], sums + i * v_stride,
                   to_.floats(c, row) + (kv_head * group_ + i) * head_dim,
                   static_cast<std::int32_t>(head_dim));
  }
}

Traffic AttentionPhase::traffic(const backend::StepContext& step) const {
  Traffic t;
  std::int64_t positions = 0;
  std::int64_t deepest = 0;
  for (std::int64_t r = 0; r < q_.live(step); ++r) {
    const std::int64_t n = last(step, r) - first(step, r) + 1;
    positions += n;
    deepest = std::max(deepest, n);
  }
  const std::int64_t row_flops = 4 * attrs_.n_head * kv_.layout.head_dim;
  t.flops = static_cast<std::uint64_t>(positions * row_flops);
  t.bytes = static_cast<std::uint64_t>(round_up(deepest, kPage) / kPage * kv_.n_head_kv) *
            kv_.layout.bytes;
  return t;
}

}  // namespace

std::unique_ptr<Phase> attention_phase(NodeCompiler& compiler, const ir::AttentionAttrs& attrs,
                                       const KvLayerRef& kv) {
  return std::make_unique<AttentionPhase>(compiler, attrs, kv);
}

}  // namespace minfer::cpu

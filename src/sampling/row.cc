#include "sampling/row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sampling/lanes.h"

namespace minfer::sampling {
namespace {

/// The largest of a block's logits; `odd` gets bits set where one is NaN or infinite.
float scan(Block logits, FloatBits& odd) {
  Floats left = load4(logits.data());
  Floats right = left;
  for (std::size_t i = 0; i < kBlock; i += 8) {
    const Floats a = load4(&logits[i]);
    const Floats b = load4(&logits[i + 4]);
    left = left > a ? left : a;
    right = right > b ? right : b;
    odd |= bits_of(a - a) | bits_of(b - b);  // 0 for finite numbers, else NaN
  }
  const Floats both = left > right ? left : right;
  return std::max(std::max(both[0], both[1]), std::max(both[2], both[3]));
}

}  // namespace

Row::Row(std::size_t n_vocab, std::size_t n_adjusted)
    : n_vocab_(n_vocab),
      slot_(n_vocab, -1),
      unchanged_((n_vocab + kBlock - 1) / kBlock),
      block_max_(unchanged_.size()) {
  adjusted_.reserve(std::min(n_vocab, n_adjusted));
}

Block Row::model_block(std::size_t block, std::span<float, kBlock> room, float filling) const {
  const auto all = logits_.subspan(block * kBlock);
  if (all.size() >= kBlock) return all.first<kBlock>();
  std::fill(std::copy(all.begin(), all.end(), room.begin()), room.end(), filling);
  return room;
}

Block Row::block(std::size_t block, std::span<float, kBlock> room) const {
  const Block model = model_block(block, room, kNever);
  const std::uint64_t bits = unchanged_[block];
  if (bits == ~std::uint64_t{0}) return model;
  for (std::size_t i = 0; i < kBlock; ++i) {
    room[i] = ((bits >> i) & 1) != 0 ? model[i] : kNever;
  }
  return room;
}

Status Row::set(std::span<const float> logits, std::int64_t position) {
  MINFER_CHECK(logits.size() == n_vocab_);
  for (const Adjusted& old : adjusted_) slot_[static_cast<std::size_t>(old.token)] = -1;
  adjusted_.clear();
  logits_ = logits;
  std::ranges::fill(unchanged_, ~std::uint64_t{0});
  if (n_vocab_ % kBlock != 0) unchanged_.back() >>= kBlock - n_vocab_ % kBlock;
  std::array<float, kBlock> room;
  FloatBits odd{};
  for (std::size_t block = 0; block < n_blocks(); ++block) {
    block_max_[block] = scan(model_block(block, room, logits.back()), odd);
  }
  const bool finite = (odd[0] | odd[1] | odd[2] | odd[3]) == 0;
  return finite ? ok_status() : name_non_finite(position);
}

Status Row::name_non_finite(std::int64_t position) const {
  for (std::size_t id = 0; id < n_vocab_; ++id) {
    if (std::isnan(logits_[id]) || logits_[id] == std::numeric_limits<float>::infinity()) {
      return numeric_error(fmt::format(
          "non-finite logits at position {} (token {} is {}): the model's weights are damaged or "
          "overflow; try --check-tensors",
          position, id, logits_[id]));
    }
  }
  return ok_status();
}

Row::Adjusted& Row::adjust(TokenId token) {
  const auto id = static_cast<std::size_t>(token);
  std::int32_t& slot = slot_[id];
  if (slot < 0) {
    slot = static_cast<std::int32_t>(adjusted_.size());
    adjusted_.push_back({token, logits_[id]});
    unchanged_[id / kBlock] &= ~(std::uint64_t{1} << (id % kBlock));
  }
  return adjusted_[static_cast<std::size_t>(slot)];
}

void Row::restrict_to(std::span<const std::uint64_t> allowed) {
  MINFER_CHECK(allowed.size() == unchanged_.size());
  for (std::size_t word = 0; word < allowed.size(); ++word) unchanged_[word] &= allowed[word];
  for (Adjusted& each : adjusted_) {
    const auto id = static_cast<std::size_t>(each.token);
    if (((allowed[id / kBlock] >> (id % kBlock)) & 1) == 0) each.logit = kNever;
  }
}

double Row::standard_deviation() const {
  const double largest = *std::ranges::max_element(block_max_);
  Doubles sum{};
  Doubles squares{};
  DoubleBits impossible{};
  std::array<float, kBlock> room;
  for (std::size_t block = 0; block < n_blocks(); ++block) {
    const Block logits = model_block(block, room, kNever);
    for (std::size_t i = 0; i < kBlock; i += 2) {
      const Doubles below = load2(&logits[i]) - largest;
      const auto finite = below > static_cast<double>(kNever);  // all bits set, or none
      const Doubles x = finite ? below : Doubles{};
      impossible += DoubleBits{1, 1} + reinterpret_cast<DoubleBits>(finite);
      sum += x;
      squares += x * x;
    }
  }
  const double n = static_cast<double>(n_blocks() * kBlock - impossible[0] - impossible[1]);
  const double total = sum[0] + sum[1];
  const double total_squares = squares[0] + squares[1];
  const double mean = total / n;
  return std::sqrt(std::max(0.0, total_squares / n - mean * mean));
}

}  // namespace minfer::sampling

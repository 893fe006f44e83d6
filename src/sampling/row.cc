#include "sampling/row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace minfer::sampling {
namespace {

/// The largest logit of a block, and whether one of them is NaN or infinite. Lanes, so that it
/// compiles to vector instructions.
struct Extremes {
  float largest;
  bool finite;
};

Extremes scan(Block logits) {
  constexpr std::size_t kLanes = 16;
  std::array<float, kLanes> largest;
  std::array<float, kLanes> zero;
  largest.fill(kNever);
  zero.fill(0.0F);
  for (std::size_t i = 0; i < kBlock; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float x = logits[i + lane];
      largest[lane] = largest[lane] > x ? largest[lane] : x;
      zero[lane] += x * 0.0F;  // NaN where x is no finite number
    }
  }
  float sum = 0.0F;
  for (const float each : zero) sum += each;
  return {*std::max_element(largest.begin(), largest.end()), sum == 0.0F};
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
  bool finite = true;
  for (std::size_t block = 0; block < n_blocks(); ++block) {
    const Extremes found = scan(model_block(block, room, logits.back()));
    block_max_[block] = found.largest;
    finite = finite && found.finite;
  }
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
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> sum{};
  std::array<double, kLanes> squares{};
  std::array<double, kLanes> count{};
  std::array<float, kBlock> room;
  for (std::size_t block = 0; block < n_blocks(); ++block) {
    const Block logits = model_block(block, room, kNever);
    for (std::size_t i = 0; i < kBlock; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const bool finite = logits[i + lane] > kNever;
        const double x = finite ? static_cast<double>(logits[i + lane]) - largest : 0.0;
        sum[lane] += x;
        squares[lane] += x * x;
        count[lane] += finite ? 1.0 : 0.0;
      }
    }
  }
  double n = 0.0;
  double total = 0.0;
  double total_squares = 0.0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    n += count[lane];
    total += sum[lane];
    total_squares += squares[lane];
  }
  const double mean = total / n;
  return std::sqrt(std::max(0.0, total_squares / n - mean * mean));
}

}  // namespace minfer::sampling

// Weights: unnormalised probabilities as whole numbers.
//
// A token's weight is 2^44 exp(x), rounded, where x <= 0 is how far its logit lies below the
// largest, over the temperature. Whole numbers have sums that do not depend on the order: what a
// row's tokens weigh together is the same for every layout of the vocabulary, for every block size
// and with or without vector instructions. A token below 2^-45 of the likeliest weighs nothing.
// The exponential is our own, so that every machine weighs alike.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace minfer::sampling {

/// A weight, or a sum of them over at most 2^19 tokens.
using Weight = std::uint64_t;

/// That of the likeliest token.
inline constexpr Weight kUnitWeight = Weight{1} << 44;

/// Of x in place of x <= 0 where x is larger.
Weight weight_of(double x);

/// weight_of() is 0 below.
inline constexpr double kWeightless = -31.5;

/// Logits that are summed together.
inline constexpr std::size_t kBlock = 64;
using Block = std::span<const float, kBlock>;

/// weight_of((logit - largest) * scale) of each.
void weights_of(Block logits, double largest, double scale, std::span<Weight, kBlock> weights);

/// Sum of weight_of((logit - largest) * scale).
Weight sum_of_weights(Block logits, double largest, double scale);

/// Sum of exp(x) * -x in the units of a weight, each rounded, for x = logit - largest.
Weight sum_of_depths(Block logits, double largest);
Weight depth_of(double x);

/// exp(x) for -700 <= x <= 700, to 13 digits.
double exponential(double x);

/// The natural logarithm of a positive finite x.
double natural_logarithm(double x);

}  // namespace minfer::sampling

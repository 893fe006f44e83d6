// plain_codes.h: the types of quant/codes.h as the scalar kernels read them; see plain.h.
//
// Each struct: Block, kSubs sub-blocks of 32 elements, kTwoScales (integer scales of 16 elements,
// else the float scale takes the integer one in), and kTwoMins (Q2_K alone).
// Thread-safety: types and constants.
#pragma once

#include "quant/codes.h"
#include "quant/iq1_m.h"
#include "quant/iq1_s.h"
#include "quant/iq2_s.h"
#include "quant/iq2_xs.h"
#include "quant/iq2_xxs.h"
#include "quant/iq3_s.h"
#include "quant/iq3_xxs.h"
#include "quant/iq4_nl.h"
#include "quant/iq4_xs.h"
#include "quant/mxfp4.h"
#include "quant/q2_k.h"
#include "quant/q3_k.h"
#include "quant/tq1_0.h"
#include "quant/tq2_0.h"

namespace minfer::cpu {

template <class BlockType, int kSubCount, bool kTwo>
struct PlainCodes {
  using Block = BlockType;
  static constexpr int kSubs = kSubCount;
  static constexpr bool kHasMin = false;
  static constexpr bool kTwoScales = kTwo;
  static constexpr bool kTwoMins = false;
};

struct PlainQ2_K : PlainCodes<quant::BlockQ2_K, 8, true> {
  static constexpr bool kTwoMins = true;
};
struct PlainQ3_K : PlainCodes<quant::BlockQ3_K, 8, true> {};
struct PlainIQ4_NL : PlainCodes<quant::BlockIQ4_NL, 1, false> {};
struct PlainIQ4_XS : PlainCodes<quant::BlockIQ4_XS, 8, false> {};
struct PlainMXFP4 : PlainCodes<quant::BlockMXFP4, 1, false> {};
struct PlainIQ3_S : PlainCodes<quant::BlockIQ3_S, 8, false> {};
struct PlainIQ3_XXS : PlainCodes<quant::BlockIQ3_XXS, 8, false> {};
struct PlainIQ2_S : PlainCodes<quant::BlockIQ2_S, 8, true> {};
struct PlainIQ2_XS : PlainCodes<quant::BlockIQ2_XS, 8, true> {};
struct PlainIQ2_XXS : PlainCodes<quant::BlockIQ2_XXS, 8, false> {};
struct PlainIQ1_S : PlainCodes<quant::BlockIQ1_S, 8, false> {};
struct PlainIQ1_M : PlainCodes<quant::BlockIQ1_M, 8, true> {};
struct PlainTQ1_0 : PlainCodes<quant::BlockTQ1_0, 8, false> {};
struct PlainTQ2_0 : PlainCodes<quant::BlockTQ2_0, 8, false> {};

}  // namespace minfer::cpu

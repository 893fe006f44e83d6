#include "quant/codec.h"

#include <array>

#define MINFER_QUANT_TYPE(enumerator, stem)                           \
  namespace minfer::quant {                                           \
  void decode_##stem(const std::byte* src, float* dst, std::int64_t); \
  void encode_##stem(const float* src, std::byte* dst, std::int64_t); \
  }
#include "quant/types.def"
#undef MINFER_QUANT_TYPE

namespace minfer::quant {
namespace {

constexpr std::array kCodecs = {
#define MINFER_QUANT_TYPE(enumerator, stem) Codec{DType::enumerator, decode_##stem, encode_##stem},
#include "quant/types.def"
#undef MINFER_QUANT_TYPE
};

}  // namespace

const Codec* codec(DType type) {
  for (const Codec& row : kCodecs) {
    if (row.dtype == type) return &row;
  }
  return nullptr;
}

std::span<const Codec> all_codecs() { return kCodecs; }

}  // namespace minfer::quant

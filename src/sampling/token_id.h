// TokenId: a token's number in the vocabulary.
#pragma once

#include <cstdint>

namespace minfer::sampling {

using TokenId = std::int32_t;

}  // namespace minfer::sampling

// One pass of a pre-tokenizer over one word.
//
// Thread-safety: pure function.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/pretokenizer.h"

namespace minfer::text {

/// Cuts `word` (not empty) by `pass` and appends the ends of the parts, each plus `offset`.
void split_word(const Pass& pass, std::string_view word, std::uint32_t offset,
                std::vector<std::uint32_t>& ends);

}  // namespace minfer::text

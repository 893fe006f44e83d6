// TokenModel: what turns a stretch of text without special tokens into ids, and an id into bytes.
//
// Thread-safety: implementations are immutable after create(); scratch memory is per call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocab.h"

namespace minfer::text {

class TokenModel {
 public:
  virtual ~TokenModel() = default;

  /// Appends the ids of `text` (any bytes, fewer than 2^30). Never fails: what has no token is
  /// replaced as the model's kind says. Linear in the text, up to the logarithm of a heap.
  virtual void encode(std::string_view text, std::vector<std::int32_t>& ids) const = 0;

  /// Appends the text that an ordinary token stands for.
  virtual void append_text(std::int32_t id, std::string& out) const = 0;
};

}  // namespace minfer::text

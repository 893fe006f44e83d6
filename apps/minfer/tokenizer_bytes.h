// TokenizerBytes: the bytes of drawn tokens, as the decode loop asks for them.
#pragma once

#include <string>

#include "engine/generate.h"
#include "text/tokenizer.h"

namespace minfer::app {

/// Control tokens have none. The tokenizer must outlive it; one a reply.
class TokenizerBytes final : public engine::TokenBytes {
 public:
  explicit TokenizerBytes(const text::Tokenizer& tokenizer)
      : text_(tokenizer, /*show_special=*/false, /*at_text_start=*/false) {}
  void append(engine::TokenId token, std::string& out) override { text_.append(token, out); }

 private:
  text::TokenText text_;
};

}  // namespace minfer::app

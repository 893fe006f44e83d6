// StreamDetokenizer: tokens in, whole UTF-8 characters out.
//
// Invariants: what push() and finish() return, joined, is valid UTF-8 and depends only on the ids,
// not on how they were cut into calls; it equals Tokenizer::decode with ill-formed stretches
// replaced by U+FFFD. No character is ever given in parts: at most 3 bytes wait.
// Thread-safety: none; one per text. The tokenizer must outlive it.
#pragma once

#include <cstdint>
#include <string>

#include "base/utf8.h"
#include "text/tokenizer.h"

namespace minfer::text {

struct DetokenizeOptions {
  /// Control tokens appear by their names.
  bool show_special = false;
  /// The tokens start a text; false where they continue one, whose first blank must stay.
  bool at_text_start = true;
};

class StreamDetokenizer {
 public:
  explicit StreamDetokenizer(const Tokenizer& tokenizer, DetokenizeOptions options = {})
      : text_(tokenizer, options.show_special, options.at_text_start) {}

  /// The characters that `id` completes; often empty.
  std::string push(std::int32_t id);
  /// What is left: empty, or one U+FFFD for a character that was never completed. Starts over.
  std::string finish();

 private:
  TokenText text_;
  std::string bytes_;
  Utf8Gate gate_;
};

}  // namespace minfer::text

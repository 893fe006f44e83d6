// vocab_glue: the tokenizer keys of a GGUF file as the plain struct that text/ takes.
//
// Thread-safety: pure functions.
#pragma once

#include "base/status.h"
#include "gguf/file.h"
#include "text/vocab.h"

namespace minfer::model {

/// Reads every tokenizer.ggml key. The views point into the file. Errors name file and key:
/// tokenizer.ggml.model is missing, or a key has another type than text::VocabSpec names.
Result<text::VocabSpec> read_vocab_spec(const gguf::File& file);

/// Whether `spec` says that the file has no tokenizer ("none", "no_vocab", "test").
bool says_no_vocab(const text::VocabSpec& spec);

}  // namespace minfer::model

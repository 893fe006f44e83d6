// tiny_vocab: the tokenizer of the tiny models.
#pragma once

#include "gguf/writer.h"

namespace minfer::tests {

/// Adds the tokenizer keys: a byte-level BPE of kTinyVocab pieces, or one that says "none"; and,
/// where asked for, ChatML as the chat template.
void add_tiny_vocab(gguf::Writer& writer, bool tokenizer, bool chat_template);

}  // namespace minfer::tests

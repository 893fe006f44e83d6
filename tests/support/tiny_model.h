// tiny_model: writes small models of every architecture and type in scope, for tests without a
// network or a real model.
//
// Sizes are odd on purpose: widths, head counts and the vocabulary are no multiple of any tile,
// unless the type's block asks for it. Weights are seeded noise: the same spec gives the same bytes
// on every machine.
// Thread-safety: pure functions, but for the file they write.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "tensor/dtype.h"

namespace minfer::tests {

struct TinyModelSpec {
  std::string arch = "llama";  // a row of model/archs.def
  DType dtype = DType::kF32;   // of all matrices; norms, biases and the router stay F32
  bool experts = false;        // 5, of which 2 are used (qwen3moe has them always)
  bool tied = false;           // no output.weight
  bool biases = false;         // also where real files have none: O, FFN, output
  bool rope_freqs = false;
  bool tokenizer = true;  // a byte-level BPE of our own with ChatML's control tokens; else "none"
  bool chat_template = true;
  std::int32_t n_layer = 3;
  std::int32_t n_ctx_train = 1024;
  std::int32_t window = 40;  // gemma3: of all layers but the second
  std::uint64_t seed = 1;

  // 0: the smallest odd size that the type allows.
  std::int32_t n_embd = 0;
  std::int32_t n_head = 0;
  std::int32_t n_head_kv = 0;
  std::int32_t head_dim = 0;
  std::int32_t n_ff = 0;
};

/// Tokens of every tiny model: 3 control tokens, the 256 bytes, some merges, the rest unused.
inline constexpr std::int32_t kTinyVocab = 307;
inline constexpr std::int32_t kTinyEndOfText = 0;  // "<|endoftext|>"
inline constexpr std::int32_t kTinyImStart = 1;    // "<|im_start|>", BOS
inline constexpr std::int32_t kTinyImEnd = 2;      // "<|im_end|>", EOS

/// "gemma3-Q4_0" or "llama-moe-F32-tied".
std::string tiny_model_name(const TinyModelSpec& spec);

/// Every architecture in F32, and llama in every type that minfer computes with.
std::vector<TinyModelSpec> all_tiny_models();

/// Writes the model; errors are those of the file system or of an impossible spec.
Status write_tiny_model(const TinyModelSpec& spec, const std::string& path);

}  // namespace minfer::tests

// How many positions a run gets, and whether re-ordered weights have room beside them.
#pragma once

#include <cstdint>
#include <string>

#include "base/memory.h"
#include "base/status.h"

namespace minfer::engine {

struct ContextRequest {
  std::int32_t wanted = 0;   // -c; 0: auto
  std::int32_t trained = 0;  // the model's context_length
  std::uint64_t weight_bytes = 0;
  std::uint64_t kv_bytes_per_position = 0;
  MemoryLimit memory;
  /// Single shot only: prompt tokens and -n (-1: no cap). Zero elsewhere.
  std::int32_t n_prompt = 0;
  std::int32_t n_predict = 0;
};

struct ContextChoice {
  std::int32_t n_ctx = 0;
  std::string reason;  // "trained", "-c", "lowered to fit 3/4 of free memory"
  std::string note;    // not empty: one line for the user
};

/// auto: the trained length, lowered (in pages of 64, at least 64) until weights + KV fit 3/4 of
/// the memory this process may use. An explicit value holds; only a single-shot prompt that does
/// not fit raises it, to min(trained, prompt + n), with a note. kOutOfRange: the prompt does not
/// fit.
Result<ContextChoice> choose_context(const ContextRequest& request);

/// True if a re-ordered copy of the weights, the KV and a tenth of both fit in `memory`. The file's
/// own pages do not count: they are given back while the copy is made.
bool copy_fits(const MemoryLimit& memory, std::uint64_t copy_bytes, std::uint64_t kv_bytes);

}  // namespace minfer::engine

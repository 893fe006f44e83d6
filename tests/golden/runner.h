// Runner: the logits of a model file for given ids, through the whole engine.
//
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/engine.h"

namespace minfer::tests {

/// The CPU with two threads and its best instruction set, or that of MINFER_ISA.
Result<std::unique_ptr<backend::Backend>> make_cpu();

class Runner {
 public:
  /// Loads `path` for a context of `n_ctx` with an F32 KV.
  static Result<Runner> create(const std::string& path, std::int32_t n_ctx,
                               std::unique_ptr<backend::Backend> backend);

  /// Logits [n][n_vocab] of all rows of `ids`, fed `chunk` rows at a time into a new sequence.
  Result<std::vector<float>> logits(std::span<const std::int32_t> ids, std::int32_t chunk);

 private:
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<plan::Forward> forward_;
};

}  // namespace minfer::tests

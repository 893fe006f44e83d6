// Engine: one model loaded for running: the file, the backend with its threads, the weights as the
// backend wants them.
//
// Owns: all of these. Sessions refer to it and must go first.
// Thread-safety: one session runs at a time (they share the thread pool).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/status.h"
#include "model/model.h"
#include "plan/forward.h"

namespace minfer::engine {

/// What the engine needs of the backends: a list in priority order, the CPU last. The program makes
/// it, so that the engine knows the interface alone.
using BackendList = std::vector<std::unique_ptr<backend::Backend>>;

struct SessionOptions {
  std::int32_t n_ctx = 0;
  std::int32_t batch_size = 512;
  std::int32_t max_sequences = 1;
  /// How many full contexts the KV has room for; 0: one a sequence. Sequences that share pages need
  /// less.
  std::int32_t kv_contexts = 0;
  backend::KvFormat kv_format = backend::KvFormat::kF16;
  bool fuse_qkv = true;
  bool fuse_ffn = true;
  bool trace_graph = false;
  bool trace_rebuilds = false;
  std::string dump_dir;
};

class Engine {
 public:
  /// Hands the model's weights to the backends.
  static Result<std::unique_ptr<Engine>> create(std::unique_ptr<model::Model> model,
                                                BackendList backends);

  [[nodiscard]] const model::Model& model() const { return *model_; }
  [[nodiscard]] backend::Backend& cpu() const { return *backends_.back(); }

  /// A forward over its own graph cache and KV: two of them share nothing but the weights.
  Result<std::unique_ptr<plan::Forward>> new_forward(const SessionOptions& options) const;

 private:
  Engine() = default;

  std::unique_ptr<model::Model> model_;
  BackendList backends_;
  std::vector<std::unique_ptr<backend::Weights>> weights_;
};

}  // namespace minfer::engine

// Rig: a model loaded for a test, with every setting that must not move a bit.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cpu/cpu_backend.h"
#include "engine/engine.h"
#include "engine/generate.h"
#include "engine/session.h"

namespace minfer::tests {

struct RigOptions {
  int n_threads = 2;
  std::string isa;  // empty: the best
  std::int32_t batch_size = 512;
  std::int32_t n_ctx = 512;
  std::int32_t max_sequences = 1;
  bool repack = true;
  bool fuse_qkv = true;
  bool fuse_ffn = true;
  backend::KvFormat kv_format = backend::KvFormat::kF16;
};

/// An engine and one forward over it. Fails the test and gives null where something cannot load.
class Rig {
 public:
  static std::unique_ptr<Rig> load(const std::string& path, const RigOptions& options = {});

  [[nodiscard]] plan::Forward& forward() { return *forward_; }
  [[nodiscard]] const engine::Engine& engine() const { return *engine_; }
  [[nodiscard]] std::int64_t n_vocab() const { return engine_->model().hparams().n_vocab; }

  /// A new forward with its own cache and KV.
  void rebuild();

  /// Runs `tokens` behind `sequence`'s end in chunks and returns the logits of all of them,
  /// [n][n_vocab].
  std::vector<float> run(plan::SequenceId sequence, std::span<const std::int32_t> tokens,
                         std::size_t chunk);
  /// A fresh sequence, run whole, closed again.
  std::vector<float> run_fresh(std::span<const std::int32_t> tokens, std::size_t chunk);
  plan::SequenceId open();

 private:
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<plan::Forward> forward_;
  engine::SessionOptions session_options_;
};

/// Letters, so that stop strings are met often and lie across tokens.
class Letters final : public engine::TokenBytes {
 public:
  void append(engine::TokenId token, std::string& out) override {
    out += static_cast<char>('a' + token % 7);
    if (token % 3 == 0) out += static_cast<char>('a' + token % 5);
  }
};

/// Ids that differ from one another in no simple way.
std::vector<std::int32_t> test_ids(std::size_t n, std::int64_t n_vocab, unsigned seed = 1);

/// Empty when the bits are equal, else the first place where they differ.
std::string first_difference(std::span<const float> a, std::span<const float> b,
                             std::int64_t n_vocab);

/// A real model of the set-up step, or empty (the test then skips): "S", "Q", "G".
std::string real_model(char letter);

}  // namespace minfer::tests

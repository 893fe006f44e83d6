#include "tests/engine/rig.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <random>

namespace minfer::tests {

std::unique_ptr<Rig> Rig::load(const std::string& path, const RigOptions& options) {
  auto rig = std::make_unique<Rig>();
  auto model = model::Model::load(path, {});
  if (!model.ok()) {
    ADD_FAILURE() << model.status().message();
    return nullptr;
  }
  const auto isa = cpu::choose_isa(options.isa);
  if (!isa.ok()) {
    ADD_FAILURE() << isa.status().message();
    return nullptr;
  }
  cpu::CpuOptions cpu_options;
  cpu_options.n_threads = options.n_threads;
  cpu_options.isa = *isa;
  cpu_options.repack = options.repack;
  auto backend = cpu::make_cpu_backend(cpu_options);
  if (!backend.ok()) {
    ADD_FAILURE() << backend.status().message();
    return nullptr;
  }
  engine::BackendList backends;
  backends.push_back(std::move(backend).value());
  auto engine = engine::Engine::create(std::move(model).value(), std::move(backends));
  if (!engine.ok()) {
    ADD_FAILURE() << engine.status().message();
    return nullptr;
  }
  rig->engine_ = std::move(engine).value();
  rig->session_options_.n_ctx = options.n_ctx;
  rig->session_options_.batch_size = options.batch_size;
  rig->session_options_.max_sequences = options.max_sequences;
  rig->session_options_.kv_format = options.kv_format;
  rig->session_options_.fuse_qkv = options.fuse_qkv;
  rig->session_options_.fuse_ffn = options.fuse_ffn;
  rig->rebuild();
  return rig->forward_ ? std::move(rig) : nullptr;
}

void Rig::rebuild() {
  auto forward = engine_->new_forward(session_options_);
  EXPECT_TRUE(forward.ok()) << forward.status().message();
  forward_ = forward.ok() ? std::move(forward).value() : nullptr;
}

plan::SequenceId Rig::open() {
  auto sequence = forward_->kv().open();
  EXPECT_TRUE(sequence.ok()) << sequence.status().message();
  return sequence.ok() ? *sequence : -1;
}

std::vector<float> Rig::run(plan::SequenceId sequence, std::span<const std::int32_t> tokens,
                            std::size_t chunk) {
  std::vector<float> logits;
  std::int32_t position = forward_->kv().length(sequence);
  while (!tokens.empty()) {
    const auto part = tokens.first(std::min(chunk, tokens.size()));
    tokens = tokens.subspan(part.size());
    std::vector<plan::Row> rows;
    for (const std::int32_t token : part) rows.push_back({token, position++, sequence, true});
    const auto view = forward_->run(rows);
    if (!view.ok()) {
      ADD_FAILURE() << view.status().message();
      return {};
    }
    logits.insert(logits.end(), view->data, view->data + view->n_rows * view->n_vocab);
  }
  return logits;
}

std::vector<float> Rig::run_fresh(std::span<const std::int32_t> tokens, std::size_t chunk) {
  const plan::SequenceId sequence = open();
  std::vector<float> logits = run(sequence, tokens, chunk);
  forward_->kv().close(sequence);
  return logits;
}

std::vector<std::int32_t> test_ids(std::size_t n, std::int64_t n_vocab, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<std::int32_t> ids(n);
  for (std::int32_t& id : ids) {
    id = static_cast<std::int32_t>(rng() % static_cast<std::uint32_t>(n_vocab));
  }
  return ids;
}

std::string first_difference(std::span<const float> a, std::span<const float> b,
                             std::int64_t n_vocab) {
  if (a.size() != b.size()) return fmt::format("{} values against {}", a.size(), b.size());
  if (a.empty()) return "no values";
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) {
      return fmt::format("row {}, id {}: {} against {}", i / static_cast<std::size_t>(n_vocab),
                         i % static_cast<std::size_t>(n_vocab), a[i], b[i]);
    }
  }
  return {};
}

std::string real_model(char letter) {
  const char* root = std::getenv("MINFER_SOURCE_DIR");
  const char* folder = std::getenv("MINFER_MODEL_DIR_TEST");
  const std::string dir =
      folder != nullptr ? folder : std::string(root != nullptr ? root : ".") + "/models";
  const char* name = letter == 'S'   ? "SmolLM2-135M-Instruct.Q4_1.gguf"
                     : letter == 'Q' ? "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
                                     : "gemma-3-270m-q4_k_m.gguf";
  const std::string path = dir + "/" + name;
  return access(path.c_str(), R_OK) == 0 ? path : std::string();
}

}  // namespace minfer::tests

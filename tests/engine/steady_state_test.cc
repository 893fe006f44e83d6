// A steady decode step and its draw: no allocation, one graph, one forward a token.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "engine/generate.h"
#include "sampling/sampler.h"
#include "tests/engine/rig.h"
#include "tests/support/tiny_model.h"

namespace {
std::atomic<std::uint64_t> g_allocations{0};

void* counted(std::size_t size) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* counted_aligned(std::size_t size, std::align_val_t alignment) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  const auto a = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(a, (size + a - 1) / a * a)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, std::align_val_t a) { return counted_aligned(size, a); }
void* operator new[](std::size_t size, std::align_val_t a) { return counted_aligned(size, a); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace minfer::tests {
namespace {

std::unique_ptr<engine::Session> open_session(const engine::Engine& engine) {
  engine::SessionOptions options;
  options.n_ctx = 256;
  auto session = engine::Session::create(engine, options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return session.ok() ? std::move(session).value() : nullptr;
}

class SteadyState : public testing::TestWithParam<TinyModelSpec> {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + std::to_string(getpid()) + "minfer_steady_" +
            tiny_model_name(GetParam()) + ".gguf";
    ASSERT_TRUE(write_tiny_model(GetParam(), path_).ok());
    rig_ = Rig::load(path_);
    ASSERT_NE(rig_, nullptr);
    session_ = open_session(rig_->engine());
    ASSERT_NE(session_, nullptr);
  }
  void TearDown() override { std::remove(path_.c_str()); }

  std::string path_;
  std::unique_ptr<Rig> rig_;
  std::unique_ptr<engine::Session> session_;
};

TEST_P(SteadyState, a_forward_and_a_draw_allocate_nothing) {
  const auto ids = test_ids(20, rig_->n_vocab());
  sampling::SamplerOptions options;
  options.repeat_penalty = 1.2F;
  auto sampler = sampling::Sampler::create(options, rig_->n_vocab(), {});
  ASSERT_TRUE(sampler.ok());
  auto logits = session_->advance(ids);
  ASSERT_TRUE(logits.ok()) << logits.status().message();
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t before = g_allocations.load();
    const auto token = sampler->sample(*logits, session_->cursor(), {});
    ASSERT_TRUE(token.ok());
    ASSERT_TRUE(sampler->accept(*token).ok());
    logits = session_->advance({&*token, 1});
    ASSERT_TRUE(logits.ok());
    // The first decode step builds its graph; every later one is steady, also across pages.
    if (i > 0) {
      ASSERT_EQ(g_allocations.load(), before) << "step " << i;
    }
  }
}

TEST_P(SteadyState, two_graphs_serve_a_hundred_tokens) {
  class NoBytes final : public engine::TokenBytes {
    void append(engine::TokenId, std::string&) override {}
  } bytes;
  auto sampler = sampling::Sampler::create({}, rig_->n_vocab(), {});
  engine::GenerateOptions options;
  options.n_predict = 100;
  const auto result =
      engine::generate(*session_, *sampler, bytes, test_ids(9, rig_->n_vocab()), options);
  EXPECT_EQ(result.finish, engine::FinishReason::kLength);
  EXPECT_EQ(result.n_decode_steps, 99);
  EXPECT_EQ(session_->cursor(), 9 + 99);
  const plan::GraphCacheStats& stats = session_->forward().cache().stats();
  EXPECT_EQ(stats.built, 2U);
  EXPECT_EQ(stats.reused, 98U);
}

INSTANTIATE_TEST_SUITE_P(Models, SteadyState,
                         testing::Values(TinyModelSpec{}, TinyModelSpec{.arch = "gemma3"},
                                         TinyModelSpec{.arch = "qwen3moe"},
                                         TinyModelSpec{.dtype = DType::kQ4_K}),
                         [](const auto& param_info) {
                           return "model" + std::to_string(param_info.index);
                         });

}  // namespace
}  // namespace minfer::tests

// Whole generated models cut between the hostile device and the real CPU: whatever the cut, the
// same bits as on the CPU alone, fused as far as it can.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "cpu/cpu_backend.h"
#include "model/model.h"
#include "plan/forward.h"
#include "tests/support/poison_backend.h"
#include "tests/support/tiny_model.h"

namespace minfer::tests {
namespace {

constexpr std::int32_t kContext = 200;
constexpr std::size_t kTokens = 75;  // past a page

std::unique_ptr<backend::Backend> make_cpu() {
  return cpu::make_cpu_backend({.n_threads = 2, .isa = cpu::choose_isa({}).value()}).value();
}

/// A forward of one model on the CPU, or on the device before it.
class ModelRig {
 public:
  ModelRig(const model::Model& model, std::uint32_t seed, bool with_device)
      : model_(model), cpu_(make_cpu()) {
    std::vector<backend::Backend*> backends;
    if (with_device) {
      device_ = std::make_unique<PoisonBackend>(seed);
      // The KV is the CPU's.
      device_->refused = {ir::OpKind::kKvStore, ir::OpKind::kAttention};
      device_->accepts = [seed](const ir::Node& node) {
        std::minstd_rand random(seed * 1000 + static_cast<std::uint32_t>(node.outputs[0]));
        random.discard(3);
        return seed == 0 || random() % 3 == 0;
      };
      backends.push_back(device_.get());
    }
    backends.push_back(cpu_.get());
    std::vector<const backend::Weights*> weights;
    for (backend::Backend* backend : backends) {
      weights_.push_back(backend->load_weights(model.weights()).value());
      weights.push_back(weights_.back().get());
    }
    const auto geometry = model.kv_geometry(*cpu_, backend::KvFormat::kF16, kContext).value();
    auto kv = plan::KvStore::create(*cpu_, geometry, {.poison = true}).value();
    auto cache = std::make_unique<plan::GraphCache>(
        backends, weights, std::move(kv),
        [this](const plan::GraphParams& params) { return model_.build_graph(params); },
        plan::GraphCacheOptions{.verify_reuse = true});
    plan::ForwardOptions options;
    options.max_batch = 64;
    options.n_vocab = model.hparams().n_vocab;
    options.base_params.n_ctx = kContext;
    options.base_params.backend_set = with_device ? 3 : 1;
    options.poison = true;
    forward_ = std::make_unique<plan::Forward>(std::move(cache), options);
  }

  std::vector<float> run(std::span<const std::int32_t> tokens, std::size_t chunk) {
    const plan::SequenceId id = forward_->kv().open().value();
    std::vector<float> logits;
    for (std::size_t at = 0; at < tokens.size(); at += chunk) {
      std::vector<plan::Row> rows;
      for (std::size_t i = at; i < std::min(at + chunk, tokens.size()); ++i) {
        rows.push_back({.token = tokens[i],
                        .position = static_cast<std::int32_t>(i),
                        .sequence = id,
                        .wants_output = true});
      }
      const plan::LogitsView view = forward_->run(rows).value();
      logits.insert(logits.end(), view.data, view.data + view.n_rows * view.n_vocab);
    }
    return logits;
  }

  std::size_t n_splits() { return forward_->compiled(1, 1).value()->splits.size(); }

 private:
  const model::Model& model_;
  std::unique_ptr<backend::Backend> cpu_;
  std::unique_ptr<PoisonBackend> device_;
  std::vector<std::unique_ptr<backend::Weights>> weights_;
  std::unique_ptr<plan::Forward> forward_;
};

TEST(Devices, generated_models_split_with_the_cpu) {
  std::string dir = (std::filesystem::temp_directory_path() / "minfer_split_XXXXXX").string();
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  std::mt19937 random(11);
  std::vector<std::int32_t> tokens(kTokens);
  for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random() % kTinyVocab);
  for (const TinyModelSpec& spec : all_tiny_models()) {
    if (spec.dtype != DType::kF32 && spec.dtype != DType::kQ4_K) continue;
    const std::string path = dir + "/" + tiny_model_name(spec) + ".gguf";
    ASSERT_TRUE(write_tiny_model(spec, path).ok());
    const auto model = model::Model::load(path, {.skip_vocab = true}).value();
    const std::vector<float> expected = ModelRig(*model, 0, false).run(tokens, 64);
    for (const std::uint32_t seed : {0U, 1U, 2U}) {
      ModelRig rig(*model, seed, true);
      EXPECT_TRUE(rig.run(tokens, seed == 1 ? 25 : 40) == expected)
          << tiny_model_name(spec) << " cut " << seed;
      EXPECT_GE(rig.n_splits(), 6U) << tiny_model_name(spec);
    }
  }
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace minfer::tests

#include "tests/plan/rig.h"

#include <algorithm>
#include <random>
#include <utility>

namespace minfer::tests {

PlanRig::PlanRig(PlanRigOptions rig_options)
    : options(std::move(rig_options)), model(options.tiny) {
  std::vector<backend::Backend*> backends;
  if (options.with_device) {
    device = std::make_unique<PoisonBackend>(options.tiny.seed);
    if (!options.kv_on_device) {
      device->refused = {ir::OpKind::kKvStore, ir::OpKind::kAttention, ir::OpKind::kScan};
    }
    backends.push_back(device.get());
  }
  backends.push_back(&host);
  std::vector<const backend::Weights*> weight_pointers;
  for (backend::Backend* backend : backends) {
    weights.push_back(backend->load_weights(model.sources()).value());
    weight_pointers.push_back(weights.back().get());
  }
  backend::Backend& kv_backend = *backends[options.kv_on_device ? 0 : backends.size() - 1];
  plan::KvStoreOptions kv_options = options.kv;
  kv_options.state_bytes = model.state_bytes();
  kv_options.slot_offset = model.slot_offset();
  auto store =
      plan::KvStore::create(kv_backend, model.geometry(kv_backend, options.format), kv_options);
  auto cache = std::make_unique<plan::GraphCache>(
      backends, weight_pointers, std::move(store).value(),
      [this](const plan::GraphParams& params) {
        return build_override ? build_override(params) : model.build(params);
      },
      options.cache);
  plan::ForwardOptions forward_options;
  forward_options.max_batch = options.max_batch;
  forward_options.n_vocab = TinyTransformer::kVocab;
  forward_options.base_params.n_ctx = options.tiny.n_ctx;
  forward_options.base_params.kv_format = options.format;
  forward_options.base_params.backend_set = options.with_device ? 3 : 1;
  forward_options.trace_graph = options.trace_graph;
  forward_options.dump_dir = options.dump_dir;
  forward_options.poison = true;
  forward = std::make_unique<plan::Forward>(std::move(cache), forward_options);
}

plan::SequenceId PlanRig::open() { return kv().open().value(); }

std::vector<plan::Row> PlanRig::rows(plan::SequenceId sequence,
                                     std::span<const std::int32_t> tokens, bool all_outputs) const {
  std::vector<plan::Row> result;
  std::int32_t position = forward->kv().length(sequence);
  for (std::int32_t token : tokens) {
    result.push_back({.token = token,
                      .position = position++,
                      .sequence = sequence,
                      .wants_output = all_outputs || result.size() + 1 == tokens.size()});
  }
  return result;
}

Result<std::vector<float>> PlanRig::run(const std::vector<plan::Row>& rows) {
  if (device != nullptr && forward->cache().size() > 0) device->poison(forward->cache().arena(0));
  MINFER_ASSIGN_OR_RETURN(const plan::LogitsView view, forward->run(rows));
  std::vector<float> copy;
  for (std::int32_t r = 0; r < view.n_rows; ++r) {
    copy.insert(copy.end(), view.row(r).begin(), view.row(r).end());
  }
  return copy;
}

std::vector<float> PlanRig::run_all(plan::SequenceId sequence, std::span<const std::int32_t> tokens,
                                    std::size_t chunk) {
  std::vector<float> all;
  for (std::size_t at = 0; at < tokens.size(); at += chunk) {
    const auto part = tokens.subspan(at, std::min(chunk, tokens.size() - at));
    const std::vector<float> logits = run(rows(sequence, part, true)).value();
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

std::vector<std::int32_t> random_tokens(std::size_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> tokens(n);
  for (std::int32_t& token : tokens) {
    token = static_cast<std::int32_t>(random() % TinyTransformer::kVocab);
  }
  return tokens;
}

}  // namespace minfer::tests

#include "engine/engine.h"

namespace minfer::engine {

Result<std::unique_ptr<Engine>> Engine::create(std::unique_ptr<model::Model> model,
                                               BackendList backends) {
  MINFER_CHECK(!backends.empty());
  std::unique_ptr<Engine> engine(new Engine());
  engine->model_ = std::move(model);
  engine->backends_ = std::move(backends);
  for (const std::unique_ptr<backend::Backend>& backend : engine->backends_) {
    MINFER_ASSIGN_OR_RETURN(auto weights, backend->load_weights(engine->model_->weights()));
    engine->weights_.push_back(std::move(weights));
  }
  return engine;
}

Result<std::unique_ptr<plan::Forward>> Engine::new_forward(const SessionOptions& options) const {
  MINFER_ASSIGN_OR_RETURN(backend::KvGeometry geometry,
                          model_->kv_geometry(cpu(), options.kv_format, options.n_ctx));
  plan::KvStoreOptions kv_options;
  kv_options.max_sequences = options.max_sequences;
  const std::int32_t contexts =
      options.kv_contexts > 0 ? options.kv_contexts : options.max_sequences;
  // A page more each for the one that a sequence shares no longer.
  kv_options.pages_per_group =
      options.max_sequences == 1 ? 0
                                 : contexts * geometry.pages_per_sequence() + options.max_sequences;
  MINFER_ASSIGN_OR_RETURN(auto kv, plan::KvStore::create(cpu(), geometry, kv_options));

  std::vector<backend::Backend*> backends;
  std::vector<const backend::Weights*> weights;
  for (std::size_t i = 0; i < backends_.size(); ++i) {
    backends.push_back(backends_[i].get());
    weights.push_back(weights_[i].get());
  }
  plan::GraphCacheOptions cache_options;
  cache_options.trace_rebuilds = options.trace_rebuilds;
  cache_options.n_layers = model_->hparams().n_layer;
  auto cache = std::make_unique<plan::GraphCache>(
      std::move(backends), std::move(weights), std::move(kv),
      [model = model_.get()](const plan::GraphParams& params) {
        return model->build_graph(params);
      },
      cache_options);

  plan::ForwardOptions forward;
  forward.max_batch = options.batch_size;
  forward.n_vocab = model_->hparams().n_vocab;
  forward.base_params.n_ctx = options.n_ctx;
  forward.base_params.kv_format = options.kv_format;
  forward.base_params.backend_set = (1U << backends_.size()) - 1;
  forward.base_params.fuse_qkv = options.fuse_qkv;
  forward.base_params.fuse_ffn = options.fuse_ffn;
  forward.trace_graph = options.trace_graph;
  forward.dump_dir = options.dump_dir;
  return std::make_unique<plan::Forward>(std::move(cache), std::move(forward));
}

}  // namespace minfer::engine

#include "tests/golden/runner.h"

#include <algorithm>
#include <cstdlib>

#include "cpu/cpu_backend.h"

namespace minfer::tests {

Result<std::unique_ptr<backend::Backend>> make_cpu() {
  const char* forced = std::getenv("MINFER_ISA");
  cpu::CpuOptions options;
  options.n_threads = 2;
  MINFER_ASSIGN_OR_RETURN(options.isa, cpu::choose_isa(forced != nullptr ? forced : ""));
  return cpu::make_cpu_backend(options);
}

Result<Runner> Runner::create(const std::string& path, std::int32_t n_ctx,
                              std::unique_ptr<backend::Backend> backend) {
  MINFER_ASSIGN_OR_RETURN(auto model, model::Model::load(path, {}));
  engine::BackendList backends;
  backends.push_back(std::move(backend));
  Runner runner;
  MINFER_ASSIGN_OR_RETURN(runner.engine_,
                          engine::Engine::create(std::move(model), std::move(backends)));
  engine::SessionOptions options;
  options.n_ctx = n_ctx;
  options.kv_format = backend::KvFormat::kF32;
  MINFER_ASSIGN_OR_RETURN(runner.forward_, runner.engine_->new_forward(options));
  return runner;
}

Result<std::vector<float>> Runner::logits(std::span<const std::int32_t> ids, std::int32_t chunk) {
  MINFER_ASSIGN_OR_RETURN(const plan::SequenceId sequence, forward_->kv().open());
  const auto n = static_cast<std::int32_t>(ids.size());
  std::vector<float> all;
  for (std::int32_t start = 0; start < n; start += chunk) {
    std::vector<plan::Row> rows;
    for (std::int32_t i = start; i < std::min(start + chunk, n); ++i) {
      rows.push_back({ids[static_cast<std::size_t>(i)], i, sequence, true});
    }
    MINFER_ASSIGN_OR_RETURN(const plan::LogitsView view, forward_->run(rows));
    all.insert(all.end(), view.data, view.data + view.n_rows * view.n_vocab);
  }
  forward_->kv().close(sequence);
  return all;
}

}  // namespace minfer::tests

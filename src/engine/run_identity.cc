#include <fmt/format.h>

#include "base/arithmetic_version.h"
#include "base/printable.h"
#include "engine/engine.h"
#include "engine/session_identity.h"
#include "gguf/fingerprint.h"
#include "plan/kv_rows.h"

namespace minfer::engine {
namespace {

/// Layers, heads and head sizes, and the bytes that come of them.
std::string geometry_text(const backend::KvGeometry& geometry, std::uint64_t row_bytes) {
  std::string text;
  std::string previous;
  int same = 0;
  const auto flush = [&] {
    if (same > 0) text += fmt::format("{} x {}, ", same, previous);
  };
  for (const backend::KvLayer& layer : geometry.layers) {
    const std::string one = fmt::format("{}*{}", layer.n_head_kv, layer.head_dim);
    if (one != previous) {
      flush();
      previous = one;
      same = 0;
    }
    ++same;
  }
  flush();
  return text + fmt::format("{} bytes a position", row_bytes);
}

std::string rope_text(const model::HParams& hp) {
  std::string text;
  std::string previous;
  for (const model::LayerHParams& layer : hp.layers) {
    const std::string one = fmt::format("base {} scale {}", layer.rope_base, layer.rope_freq_scale);
    if (one == previous) continue;
    if (text.find(one) == std::string::npos) text += (text.empty() ? "" : ", ") + one;
    previous = one;
  }
  return text;
}

}  // namespace

Result<SessionIdentity> session_identity(const Engine& engine, backend::KvFormat format) {
  const model::Model& model = engine.model();
  MINFER_ASSIGN_OR_RETURN(const backend::KvGeometry geometry,
                          model.kv_geometry(engine.cpu(), format, /*n_ctx=*/1));
  SessionIdentity identity;
  identity.row_bytes = plan::packed_row_bytes(geometry);
  identity.n_vocab = model.hparams().n_vocab;
  identity.lines = {{"arithmetic version", fmt::format("{}", kArithmeticVersion)},
                    {"model", fmt::format("{} {} ({:016x})", printable(model.display_name()),
                                          model.type_name(), gguf::fingerprint(model.file()))},
                    {"backend", std::string(engine.cpu().name())},
                    {"KV type", std::string(backend::kv_format_name(format))},
                    {"KV geometry", geometry_text(geometry, identity.row_bytes)},
                    {"RoPE options", rope_text(model.hparams())},
                    {"LoRA options", "none"}};
  return identity;
}

}  // namespace minfer::engine

#include "plan/graph_params.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/status.h"

namespace minfer::plan {
namespace {

std::string_view output_kind_name(OutputKind kind) {
  return kind == OutputKind::kLogits ? "logits" : "hidden";
}

/// Collects "name old -> new" for the fields that differ.
class Difference {
 public:
  template <class T>
  void field(std::string_view name, const T& a, const T& b) {
    if (a == b) return;
    if (!text_.empty()) text_ += ", ";
    text_ += fmt::format("{} {} -> {}", name, a, b);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string describe_difference(const GraphParams& a, const GraphParams& b) {
  Difference d;
  d.field("n_tokens", a.n_tokens, b.n_tokens);
  d.field("n_out", a.n_out, b.n_out);
  d.field("output", output_kind_name(a.output), output_kind_name(b.output));
  d.field("n_ctx", a.n_ctx, b.n_ctx);
  d.field("kv_format", backend::kv_format_name(a.kv_format), backend::kv_format_name(b.kv_format));
  d.field("rope_base", a.rope_base, b.rope_base);
  d.field("rope_scale", a.rope_scale, b.rope_scale);
  d.field("backend_set", a.backend_set, b.backend_set);
  d.field("gpu_layers", a.gpu_layers, b.gpu_layers);
  d.field("fuse_qkv", a.fuse_qkv, b.fuse_qkv);
  d.field("fuse_ffn", a.fuse_ffn, b.fuse_ffn);
  d.field("weights_version", a.weights_version, b.weights_version);
  return d.take();
}

std::int32_t token_capacity(std::int32_t n, std::int32_t max_batch) {
  MINFER_CHECK(n >= 1 && n <= max_batch);
  if (n <= 16) return n;
  std::int32_t capacity = 32;
  while (capacity < n && capacity <= max_batch / 2) capacity *= 2;
  return capacity < n ? max_batch : std::min(capacity, max_batch);
}

std::int32_t out_capacity(std::int32_t n_out, std::int32_t n_tokens,
                          std::int32_t n_tokens_capacity) {
  MINFER_CHECK(n_out >= 0 && n_out <= n_tokens && n_tokens <= n_tokens_capacity);
  if (n_out == 0) return 0;
  if (n_out == n_tokens) return n_tokens_capacity;
  return token_capacity(n_out, n_tokens_capacity);
}

}  // namespace minfer::plan

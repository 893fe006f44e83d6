// The fields of every attribute struct by name, for the printers: for_each_field(attrs, f) calls
// f(name, value) with value an int32, float, bool or string_view, in the struct's order.
#pragma once

#include <string_view>
#include <variant>

#include "ir/attrs.h"

namespace minfer::ir {

inline std::string_view activation_name(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return "silu";
    case Activation::kGeluTanh:
      return "gelu_tanh";
    case Activation::kGelu:
      return "gelu";
    case Activation::kRelu:
      return "relu";
  }
  return "unknown";
}

inline std::string_view rope_mode_name(RopeMode mode) {
  return mode == RopeMode::kNeox ? "neox" : "normal";
}

template <class F>
void fields(const NoAttrs&, F&&) {}

template <class F>
void fields(const EmbedAttrs& a, F&& f) {
  f("scale", a.scale);
}

template <class F>
void fields(const NormAttrs& a, F&& f) {
  f("eps", a.eps);
  f("group", a.group);
}

template <class F>
void fields(const ActivationAttrs& a, F&& f) {
  f("activation", activation_name(a.activation));
}

template <class F>
void fields(const ScaleAttrs& a, F&& f) {
  f("factor", a.factor);
}

template <class F>
void fields(const RopeAttrs& a, F&& f) {
  f("n_head", a.n_head);
  f("head_dim", a.head_dim);
  f("n_rot", a.n_rot);
  f("mode", rope_mode_name(a.mode));
  f("base", a.base);
  f("freq_scale", a.freq_scale);
}

template <class F>
void fields(const KvStoreAttrs& a, F&& f) {
  f("layer", a.layer);
}

template <class F>
void fields(const AttentionAttrs& a, F&& f) {
  f("layer", a.layer);
  f("n_head", a.n_head);
  f("n_head_kv", a.n_head_kv);
  f("head_dim", a.head_dim);
  f("scale", a.scale);
}

template <class F>
void fields(const MoeRouteAttrs& a, F&& f) {
  f("n_expert", a.n_expert);
  f("n_used", a.n_used);
  f("normalize", a.normalize);
}

template <class F>
void fields(const MoeMatMulAttrs& a, F&& f) {
  f("n_used", a.n_used);
  f("shared_input", a.shared_input);
}

template <class F>
void fields(const MoeCombineAttrs& a, F&& f) {
  f("n_used", a.n_used);
}

template <class F>
void fields(const ScanAttrs& a, F&& f) {
  f("slot", a.slot);
  f("decay", a.decay);
}

template <class F>
void fields(const FusedNormAttrs& a, F&& f) {
  f("eps", a.eps);
  f("residual", a.residual);
  f("quantize", a.quantize);
}

template <class F>
void fields(const FusedQkvAttrs& a, F&& f) {
  fields(a.rope, f);
  f("n_head_kv", a.n_head_kv);
  f("layer", a.layer);
  f("norm_eps", a.norm_eps);
  f("q_bias", a.q_bias);
  f("k_bias", a.k_bias);
  f("v_bias", a.v_bias);
  f("q_norm", a.q_norm);
  f("k_norm", a.k_norm);
  f("freq_factors", a.freq_factors);
}

template <class F>
void fields(const FusedGateUpAttrs& a, F&& f) {
  f("activation", activation_name(a.activation));
  f("gate_bias", a.gate_bias);
  f("up_bias", a.up_bias);
  f("quantize", a.quantize);
}

template <class F>
void for_each_field(const Attrs& attrs, F&& f) {
  std::visit([&f](const auto& a) { fields(a, f); }, attrs);
}

}  // namespace minfer::ir

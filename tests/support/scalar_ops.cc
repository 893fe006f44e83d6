#include "tests/support/scalar_ops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/bytes.h"
#include "base/half.h"
#include "cpu/kernels/lanes/scalar.h"
#include "cpu/kernels/math/functions.h"
#include "ir/op.h"

namespace minfer::tests {
namespace {

using ir::OpKind;
using Lanes = cpu::ScalarLanes;

constexpr std::int64_t kPageRows = backend::kPageRows;
constexpr std::size_t kMaxHead = 256;
constexpr std::size_t kMaxExperts = 256;

float exp_of(float x) { return cpu::exp_lanes(Lanes::set1(x)).v[0]; }
float tanh_of(float x) { return cpu::tanh_lanes(Lanes::set1(x)).v[0]; }
float erf_of(float x) { return cpu::erf_lanes(Lanes::set1(x)).v[0]; }

/// The 16-lane sum of f(k), k < n, where f gives the factors.
template <class F>
float lanes_dot(std::int64_t n, F factors) {
  Lanes acc = Lanes::zero();
  for (std::int64_t k = 0; k < n; ++k) {
    const auto [a, b] = factors(k);
    float& lane = acc.v[k % 16];
    lane = std::fma(a, b, lane);
  }
  return Lanes::sum(acc);
}

float activate(ir::Activation kind, float x) {
  switch (kind) {
    case ir::Activation::kSilu:
      return x / (1.0F + exp_of(-x));
    case ir::Activation::kGeluTanh:
      return (0.5F * x) * (1.0F + tanh_of(0.79788456F * std::fma(0.044715F * x, x * x, x)));
    case ir::Activation::kGelu:
      return (0.5F * x) * (1.0F + erf_of(x * 0.70710678F));
    case ir::Activation::kRelu:
      break;
  }
  return x > 0 ? x : 0.0F;
}

/// Runs one node: holds what every operation asks for.
class Runner {
 public:
  Runner(const ScalarStep& step, const ir::Node& node) : s_(step), node_(node) {}

  void run() {
    switch (node_.op) {
      case OpKind::kEmbed:
        return embed();
      case OpKind::kRmsNorm:
        return rms_norm();
      case OpKind::kMatMul:
        return mat_mul();
      case OpKind::kAddBias:
      case OpKind::kAdd:
      case OpKind::kMul:
      case OpKind::kScale:
      case OpKind::kActivation:
      case OpKind::kGlu:
        return elementwise();
      case OpKind::kRope:
        return rope();
      case OpKind::kKvStore:
        return kv_store();
      case OpKind::kAttention:
        return attention();
      case OpKind::kGatherRows:
        return gather_rows();
      case OpKind::kMoeRoute:
        return moe_route();
      case OpKind::kMoeMatMul:
        return moe_mat_mul();
      case OpKind::kMoeCombine:
        return moe_combine();
      case OpKind::kScan:
        return scan();
      default:
        MINFER_CHECK(false);
    }
  }

 private:
  const ir::Value& value(ir::ValueId id) const { return s_.graph->value(id); }
  template <class T>
  T* row(ir::ValueId id, std::int64_t r) const {
    const backend::ValuePlace& place = s_.places[static_cast<std::size_t>(id)];
    MINFER_CHECK(place.placed);
    return reinterpret_cast<T*>(s_.arena + place.offset +
                                static_cast<std::uint64_t>(r) * place.row_bytes);
  }
  const float* x(int input, std::int64_t r) const { return row<float>(node_.inputs[input], r); }
  std::int32_t index(int input, std::int64_t r) const {
    return *row<std::int32_t>(node_.inputs[input], r);
  }
  float* y(std::int64_t r) const { return row<float>(node_.outputs[0], r); }
  const float* weight(int input) const {
    return s_.weights->values[static_cast<std::size_t>(value(node_.inputs[input]).weight)].data();
  }
  std::int64_t width(ir::ValueId id) const { return value(id).shape.inner(); }
  std::int64_t live() const { return s_.step.live_rows(value(node_.outputs[0])); }
  template <class T>
  const T& attrs() const {
    return std::get<T>(node_.attrs);
  }

  void embed() {
    const float scale = attrs<ir::EmbedAttrs>().scale;
    const std::int64_t n = width(node_.outputs[0]);
    for (std::int64_t r = 0; r < live(); ++r) {
      const float* from = weight(1) + index(0, r) * n;
      for (std::int64_t i = 0; i < n; ++i) y(r)[i] = scale == 1.0F ? from[i] : from[i] * scale;
    }
  }

  void rms_norm() {
    const auto& a = attrs<ir::NormAttrs>();
    const std::int64_t n = width(node_.outputs[0]);
    for (std::int64_t r = 0; r < live(); ++r) {
      for (std::int64_t g = 0; g < n; g += a.group) {
        const float* in = x(0, r) + g;
        const float squares =
            lanes_dot(a.group, [&](std::int64_t k) { return std::pair(in[k], in[k]); });
        const float inv = 1.0F / std::sqrt(squares / static_cast<float>(a.group) + a.eps);
        for (std::int64_t i = 0; i < a.group; ++i) y(r)[g + i] = (in[i] * inv) * weight(1)[i];
      }
    }
  }

  static void product(const float* in, const float* w, float* out, std::int64_t n, std::int64_t k) {
    for (std::int64_t o = 0; o < n; ++o) {
      out[o] = lanes_dot(k, [&](std::int64_t i) { return std::pair(w[o * k + i], in[i]); });
    }
  }

  void mat_mul() {
    const Shape& shape = value(node_.inputs[1]).shape;
    for (std::int64_t r = 0; r < live(); ++r) product(x(0, r), weight(1), y(r), shape[0], shape[1]);
  }

  void elementwise() {
    const std::int64_t n = width(node_.outputs[0]);
    for (std::int64_t r = 0; r < live(); ++r) {
      for (std::int64_t i = 0; i < n; ++i) y(r)[i] = element(r, i);
    }
  }

  float element(std::int64_t r, std::int64_t i) const {
    const float a = x(0, r)[i];
    switch (node_.op) {
      case OpKind::kAddBias:
        return a + weight(1)[i];
      case OpKind::kAdd:
        return a + x(1, r)[i];
      case OpKind::kMul:
        return a * x(1, r)[i];
      case OpKind::kScale:
        return a * attrs<ir::ScaleAttrs>().factor;
      case OpKind::kActivation:
        return activate(attrs<ir::ActivationAttrs>().activation, a);
      default:
        return activate(attrs<ir::ActivationAttrs>().activation, a) * x(1, r)[i];
    }
  }

  void rope() {
    const auto& a = attrs<ir::RopeAttrs>();
    const float* factors = node_.inputs.size() > 2 ? weight(2) : nullptr;
    const std::int64_t half = a.n_rot / 2;
    for (std::int64_t r = 0; r < live(); ++r) {
      std::memmove(y(r), x(0, r), static_cast<std::size_t>(a.n_head * a.head_dim) * sizeof(float));
      for (std::int64_t i = 0; i < half; ++i) {
        double angle =
            index(1, r) * std::pow(double{a.base}, -2.0 * static_cast<double>(i) / a.n_rot);
        angle *= double{a.freq_scale};
        if (factors != nullptr) angle /= double{factors[i]};
        const auto c = static_cast<float>(std::cos(angle));
        const auto sine = static_cast<float>(std::sin(angle));
        for (std::int64_t h = 0; h < a.n_head; ++h) {
          float* head = y(r) + h * a.head_dim;
          const bool neox = a.mode == ir::RopeMode::kNeox;
          float& x0 = head[neox ? i : 2 * i];
          float& x1 = head[neox ? i + half : 2 * i + 1];
          const float rotated = std::fma(x0, c, -(x1 * sine));
          x1 = std::fma(x0, sine, x1 * c);
          x0 = rotated;
        }
      }
    }
  }

  const backend::KvLayer& kv_layer(std::int32_t layer) const {
    return s_.step.kv.geometry->layers[static_cast<std::size_t>(layer)];
  }
  std::byte* page(const backend::KvLayer& layer, std::int32_t id) const {
    MINFER_CHECK(id >= 0);
    const auto group = static_cast<std::size_t>(layer.group);
    return s_.group_base[group] + s_.step.kv.geometry->strip_offset(layer, 0, id);
  }
  std::uint64_t element_bytes() const {
    return s_.step.kv.geometry->format == backend::KvFormat::kF32 ? 4 : 2;
  }
  /// Element `i` of K (which = 0) or V (1) of a position.
  float* kv_at(const backend::KvLayer& layer, std::byte* base, std::int64_t position, int which,
               std::int64_t i) const {
    const std::int64_t row = std::int64_t{layer.n_head_kv} * layer.head_dim;
    const std::int64_t element = ((position % kPageRows) * 2 + which) * row + i;
    return reinterpret_cast<float*>(base + static_cast<std::uint64_t>(element) * element_bytes());
  }
  float load_kv(const float* at) const {
    if (element_bytes() == 4) return *at;
    return f16_to_f32(load_le<std::uint16_t>(at));
  }
  void save_kv(float* at, float v) const {
    if (element_bytes() == 4) {
      *at = v;
    } else {
      store_le<std::uint16_t>(at, f32_to_f16(v));
    }
  }

  void kv_store() {
    const auto& layer = kv_layer(attrs<ir::KvStoreAttrs>().layer);
    const std::int64_t n = std::int64_t{layer.n_head_kv} * layer.head_dim;
    for (std::int64_t r = 0; r < s_.step.live_rows(value(node_.inputs[0])); ++r) {
      const std::int32_t position = index(2, r);
      const auto* pages = row<std::int32_t>(node_.inputs[4], index(3, r));
      std::byte* base = page(layer, pages[position / kPageRows]);
      for (int which = 0; which < 2; ++which) {
        for (std::int64_t i = 0; i < n; ++i) {
          save_kv(kv_at(layer, base, position, which, i), x(which, r)[i]);
        }
      }
    }
  }

  struct Piece {
    float m = 0, l = 0;
    std::array<float, kMaxHead> o{};
  };

  Piece attend_page(const ir::AttentionAttrs& a, const float* q, std::byte* base,
                    std::int64_t head_kv, std::int64_t first, std::int64_t last) const {
    const auto& layer = kv_layer(a.layer);
    const std::int64_t start = first / kPageRows * kPageRows;
    std::array<float, kPageRows> p{};
    Piece piece;
    piece.m = -std::numeric_limits<float>::infinity();
    for (std::int64_t t = first; t <= last; ++t) {
      float score = 0;
      for (std::int64_t d = 0; d < a.head_dim; ++d) {
        const float k = load_kv(kv_at(layer, base, t, 0, head_kv * a.head_dim + d));
        score = std::fma(q[d] * a.scale, k, score);
      }
      p[static_cast<std::size_t>(t - start)] = score;
      // A NaN, which a row that may not be read would give, must not be lost.
      piece.m = score > piece.m || score != score ? score : piece.m;
    }
    Lanes sums = Lanes::zero();
    for (std::int64_t t = first; t <= last; ++t) {
      float& e = p[static_cast<std::size_t>(t - start)];
      e = exp_of(e - piece.m);
      sums.v[(t - start) % 16] += e;
      for (std::int64_t d = 0; d < a.head_dim; ++d) {
        float& o = piece.o[static_cast<std::size_t>(d)];
        o = std::fma(e, load_kv(kv_at(layer, base, t, 1, head_kv * a.head_dim + d)), o);
      }
    }
    piece.l = Lanes::sum(sums);
    return piece;
  }

  static void merge(Piece& all, const Piece& piece, std::int64_t head_dim) {
    const float m = std::max(all.m, piece.m);
    const float a = exp_of(all.m - m);
    const float b = exp_of(piece.m - m);
    all.m = m;
    all.l = std::fma(all.l, a, piece.l * b);
    for (std::size_t d = 0; d < static_cast<std::size_t>(head_dim); ++d) {
      all.o[d] = std::fma(all.o[d], a, piece.o[d] * b);
    }
  }

  void attention() {
    const auto& a = attrs<ir::AttentionAttrs>();
    const auto& layer = kv_layer(a.layer);
    MINFER_CHECK(static_cast<std::size_t>(a.head_dim) <= kMaxHead);
    for (std::int64_t r = 0; r < live(); ++r) {
      const auto* bounds = row<std::int32_t>(node_.inputs[2], r);
      const auto* pages = row<std::int32_t>(node_.inputs[4], index(3, r));
      for (std::int64_t h = 0; h < a.n_head; ++h) {
        const std::int64_t head_kv = h / (a.n_head / a.n_head_kv);
        Piece all;
        for (std::int64_t k = bounds[0] / kPageRows; k <= bounds[1] / kPageRows; ++k) {
          const std::int64_t first = std::max<std::int64_t>(bounds[0], k * kPageRows);
          const std::int64_t last =
              std::min<std::int64_t>(bounds[1], k * kPageRows + kPageRows - 1);
          const Piece piece =
              attend_page(a, x(0, r) + h * a.head_dim, page(layer, pages[k]), head_kv, first, last);
          if (k == bounds[0] / kPageRows) {
            all = piece;
          } else {
            merge(all, piece, a.head_dim);
          }
        }
        float* out = y(r) + h * a.head_dim;
        const float inv = 1.0F / all.l;
        for (std::int64_t d = 0; d < a.head_dim; ++d) {
          out[d] = all.o[static_cast<std::size_t>(d)] * inv;
        }
      }
    }
  }

  void gather_rows() {
    const auto bytes = static_cast<std::size_t>(width(node_.outputs[0])) * sizeof(float);
    for (std::int64_t r = 0; r < live(); ++r) std::memcpy(y(r), x(0, index(1, r)), bytes);
  }

  void moe_route() {
    const auto& a = attrs<ir::MoeRouteAttrs>();
    for (std::int64_t r = 0; r < live(); ++r) {
      const float* logits = x(0, r);
      const float m = *std::max_element(logits, logits + a.n_expert);
      std::array<float, kMaxExperts> p{};
      float sum = 0;
      for (std::int32_t e = 0; e < a.n_expert; ++e) {
        p[static_cast<std::size_t>(e)] = exp_of(logits[e] - m);
        sum += p[static_cast<std::size_t>(e)];
      }
      for (float& probability : p) probability /= sum;
      auto* ids = row<std::int32_t>(node_.outputs[0], r);
      auto* weights = row<float>(node_.outputs[1], r);
      for (std::int32_t i = 0; i < a.n_used; ++i) {
        std::int32_t best = -1;
        for (std::int32_t e = 0; e < a.n_expert; ++e) {
          const bool taken = std::find(ids, ids + i, e) != ids + i;
          const auto better = [&] {
            return p[static_cast<std::size_t>(e)] > p[static_cast<std::size_t>(best)];
          };
          if (!taken && (best < 0 || better())) best = e;
        }
        ids[i] = best;
        weights[i] = p[static_cast<std::size_t>(best)];
      }
      if (!a.normalize) continue;
      float used = 0;
      for (std::int32_t i = 0; i < a.n_used; ++i) used += weights[i];
      for (std::int32_t i = 0; i < a.n_used; ++i) weights[i] /= used;
    }
  }

  void moe_mat_mul() {
    const auto& a = attrs<ir::MoeMatMulAttrs>();
    const Shape& shape = value(node_.inputs[2]).shape;
    for (std::int64_t r = 0; r < live(); ++r) {
      const auto* ids = row<std::int32_t>(node_.inputs[1], r);
      for (std::int64_t i = 0; i < a.n_used; ++i) {
        product(x(0, r) + (a.shared_input ? 0 : i * shape[2]),
                weight(2) + ids[i] * shape[1] * shape[2], y(r) + i * shape[1], shape[1], shape[2]);
      }
    }
  }

  void moe_combine() {
    const auto& a = attrs<ir::MoeCombineAttrs>();
    const std::int64_t n = width(node_.outputs[0]);
    for (std::int64_t r = 0; r < live(); ++r) {
      for (std::int64_t i = 0; i < n; ++i) {
        float acc = x(1, r)[0] * x(0, r)[i];
        for (std::int64_t e = 1; e < a.n_used; ++e) {
          acc = std::fma(x(1, r)[e], x(0, r)[e * n + i], acc);
        }
        y(r)[i] = acc;
      }
    }
  }

  void scan() {
    const auto& a = attrs<ir::ScanAttrs>();
    const std::int64_t n = width(node_.outputs[0]);
    const std::uint64_t slot = s_.step.kv.slot_offset[static_cast<std::size_t>(a.slot)];
    for (std::size_t q = 0; q < s_.state_read.size(); ++q) {
      const auto* before = reinterpret_cast<const float*>(s_.state_read[q] + slot);
      auto* state = reinterpret_cast<float*>(s_.state_write[q] + slot);
      std::copy_n(before, n, state);
      for (std::int64_t r = 0; r < live(); ++r) {
        if (index(1, r) != static_cast<std::int32_t>(q)) continue;
        for (std::int64_t i = 0; i < n; ++i) state[i] = std::fma(a.decay, state[i], x(0, r)[i]);
        std::copy_n(state, n, y(r));
      }
    }
  }

  const ScalarStep& s_;
  const ir::Node& node_;
};

}  // namespace

bool scalar_can_run(const ir::Graph& graph, const ir::Node& node) {
  if (node.op == OpKind::kQuantizeRows || node.op >= OpKind::kFusedNorm) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId id) {
    const ir::Value& value = graph.value(id);
    return value.kind != ir::ValueKind::kWeight || value.dtype == DType::kF32;
  });
}

void run_node(const ScalarStep& step, const ir::Node& node) { Runner(step, node).run(); }

std::uint64_t scalar_row_bytes(DType type, std::int64_t elements) {
  return row_size_bytes(type, static_cast<std::uint64_t>(elements));
}

backend::KvStrips scalar_kv_strips(backend::KvFormat format, std::int32_t n_head_kv,
                                   std::int32_t head_dim) {
  const std::uint64_t element = format == backend::KvFormat::kF32 ? 4 : 2;
  return {.n_strips = 1,
          .strip_bytes = static_cast<std::uint64_t>(kPageRows) * 2 *
                         static_cast<std::uint64_t>(n_head_kv) *
                         static_cast<std::uint64_t>(head_dim) * element};
}

void scalar_read_kv_row(const backend::KvGeometry& geometry, const backend::KvLayer& layer,
                        const std::byte* group_base, std::int32_t page, std::int32_t row,
                        std::span<float> k, std::span<float> v) {
  const std::size_t element = geometry.format == backend::KvFormat::kF32 ? 4 : 2;
  const std::size_t n = k.size();
  const std::byte* from = group_base + geometry.strip_offset(layer, 0, page) +
                          static_cast<std::size_t>(row) * 2 * n * element;
  for (std::size_t i = 0; i < 2 * n; ++i) {
    float& to = i < n ? k[i] : v[i - n];
    to = element == 4 ? load_le<float>(from + i * 4)
                      : f16_to_f32(load_le<std::uint16_t>(from + i * 2));
  }
}

Result<std::unique_ptr<ScalarWeights>> scalar_weights(
    std::span<const backend::WeightSource> sources) {
  auto weights = std::make_unique<ScalarWeights>();
  for (const backend::WeightSource& source : sources) {
    std::vector<float>& values = weights->values.emplace_back();
    // Another type stays empty: can_run refuses the nodes that read it.
    if (source.view.dtype != DType::kF32) continue;
    values.resize(static_cast<std::size_t>(source.view.shape.elements()));
    std::memcpy(values.data(), source.view.data, values.size() * sizeof(float));
  }
  return weights;
}

}  // namespace minfer::tests

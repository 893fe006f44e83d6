#include "tests/cpu/graph_rig.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "passes/pass.h"
#include "quant/codec.h"

namespace minfer::tests {
namespace {

using ir::InputKind;

std::vector<backend::WeightSource> sources_of(const ir::Graph& graph, const auto& weights) {
  std::vector<backend::WeightSource> sources;
  for (const auto& w : weights) {
    sources.push_back({.view = {w.bytes.data(), w.dtype, w.shape}, .name = w.name});
  }
  for (const ir::Node& node : graph.nodes()) {
    for (const ir::ValueId id : node.inputs) {
      if (id == ir::kNoValue || graph.value(id).kind != ir::ValueKind::kWeight) continue;
      const ir::Value& value = graph.value(id);
      const int use = value.shape.rank() == 1         ? backend::kUseElementwise
                      : node.op == ir::OpKind::kEmbed ? backend::kUseRowLookup
                                                      : backend::kUseMatMul;
      auto& uses = sources[static_cast<std::size_t>(value.weight)].uses;
      uses = static_cast<std::uint8_t>(uses | use);
    }
  }
  return sources;
}

/// Bytes of its own for every value that holds any.
std::vector<backend::ValuePlace> place_all(const ir::Graph& graph, const backend::Backend& backend,
                                           std::uint64_t& total) {
  std::vector<backend::ValuePlace> places;
  total = 0;
  for (const ir::Value& value : graph.values()) {
    backend::ValuePlace& place = places.emplace_back();
    if (value.kind != ir::ValueKind::kInput && value.kind != ir::ValueKind::kTransient) continue;
    const bool list = value.shape.rank() == 1;
    place.placed = true;
    place.offset = total;
    place.row_bytes =
        list ? sizeof(float) : backend.row_bytes(value.dtype, value.shape.row_elements());
    const std::int64_t rows = list ? value.shape[0] : value.shape.rows();
    total += (static_cast<std::uint64_t>(rows) * place.row_bytes + 63) / 64 * 64;
  }
  return places;
}

std::vector<std::int32_t> input_values(const RigStep& step, InputKind kind) {
  switch (kind) {
    case InputKind::kIds:
      return step.ids;
    case InputKind::kPositions:
      return step.positions;
    case InputKind::kSequence:
      return step.sequence;
    case InputKind::kOutRows:
      return step.out_rows;
    case InputKind::kKvBounds:
      return step.bounds;
    case InputKind::kKvPages:
      break;
  }
  std::vector<std::int32_t> tables;
  for (const auto& pages : step.pages) {
    for (std::int32_t k = 0; k < GraphRig::kPagesASequence; ++k) {
      const auto i = static_cast<std::size_t>(k);
      tables.push_back(i < pages.size() ? pages[i] : -1);
    }
  }
  return tables;
}

void fill_inputs(const ir::Graph& graph, std::span<const backend::ValuePlace> places,
                 const RigStep& step, std::byte* arena) {
  for (std::size_t v = 0; v < graph.values().size(); ++v) {
    const ir::Value& value = graph.values()[v];
    if (value.kind != ir::ValueKind::kInput) continue;
    const std::vector<std::int32_t> values = input_values(step, value.input);
    const std::int64_t columns = value.shape.rank() == 1 ? 1 : value.shape.row_elements();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto row = static_cast<std::uint64_t>(static_cast<std::int64_t>(i) / columns);
      const auto column = static_cast<std::uint64_t>(static_cast<std::int64_t>(i) % columns);
      std::byte* to = arena + places[v].offset + row * places[v].row_bytes + column * 4;
      std::memcpy(to, &values[i], 4);
    }
  }
}

/// Live rows of all outputs, end to end. Rows that are not live must be as they were poisoned.
std::vector<float> live_outputs(const ir::Graph& graph, std::span<const backend::ValuePlace> places,
                                const backend::StepContext& step) {
  std::vector<float> results;
  for (const ir::ValueId id : graph.outputs()) {
    const ir::Value& value = graph.value(id);
    const backend::ValuePlace& place = places[static_cast<std::size_t>(id)];
    for (std::int64_t r = 0; r < value.shape.rows(); ++r) {
      const auto* row = reinterpret_cast<const float*>(
          step.arena + place.offset + static_cast<std::uint64_t>(r) * place.row_bytes);
      const float* end = row + value.shape.row_elements();
      if (r < step.live_rows(value)) {
        results.insert(results.end(), row, end);
        continue;
      }
      const auto poisoned = [](float x) { return std::bit_cast<std::uint32_t>(x) == 0xFFFFFFFFU; };
      MINFER_CHECK(std::all_of(row, end, poisoned));
    }
  }
  return results;
}

/// Two states for each of some sequences, all numbers alike.
struct States {
  States() {
    for (std::size_t q = 0; q < before.size(); ++q) {
      read.push_back(reinterpret_cast<const std::byte*>(before[q].data()));
      write.push_back(reinterpret_cast<std::byte*>(after[q].data()));
    }
  }
  std::vector<std::vector<float>> before{8, std::vector<float>(4096, 0.25F)};
  std::vector<std::vector<float>> after = before;
  std::vector<const std::byte*> read;
  std::vector<std::byte*> write;
};

}  // namespace

GraphRig::GraphRig(std::int32_t capacity, std::uint32_t seed) : capacity_(capacity), random_(seed) {
  const auto list = [&](InputKind kind, ir::RowDomain rows) {
    return builder.input(kind, {capacity}, rows);
  };
  ids = list(InputKind::kIds, ir::RowDomain::kTokens);
  positions = list(InputKind::kPositions, ir::RowDomain::kTokens);
  sequence = list(InputKind::kSequence, ir::RowDomain::kTokens);
  out_rows = list(InputKind::kOutRows, ir::RowDomain::kOut);
  kv_inputs.pages =
      builder.input(InputKind::kKvPages, {capacity, kPagesASequence}, ir::RowDomain::kTokens);
  kv_inputs.bounds = builder.input(InputKind::kKvBounds, {capacity, 2}, ir::RowDomain::kTokens);
}

ir::ValueId GraphRig::rows(std::int64_t n) {
  return builder.embed(ids, weight(DType::kF32, {kIds, n}), 1.0F, "rows");
}

ir::ValueId GraphRig::weight(DType dtype, Shape shape) {
  const bool vector = shape.rank() == 1;
  std::normal_distribution<float> noise(vector ? 1.0F : 0.0F, vector ? 0.2F : 1.0F);
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  if (vector) values.resize(static_cast<std::size_t>(shape[0]));
  for (float& value : values) value = noise(random_);
  const auto index = static_cast<std::int32_t>(weights_.size());
  Weight& w = weights_.emplace_back(Weight{"weight." + std::to_string(index), dtype, shape, {}});
  w.bytes.resize(row_size_bytes(dtype, values.size()));
  quant::codec(dtype)->encode_row(values.data(), w.bytes.data(),
                                  static_cast<std::int64_t>(values.size()));
  return builder.weight(index, dtype, shape, "weight");
}

void GraphRig::add_kv_layer(std::int32_t n_head_kv, std::int32_t head_dim) {
  layers_.push_back({.group = 0, .n_head_kv = n_head_kv, .head_dim = head_dim});
}

void GraphRig::finish(ir::ValueId output) { finish({output}); }
void GraphRig::finish(std::initializer_list<ir::ValueId> outputs) {
  for (const ir::ValueId id : outputs) builder.output(id);
  graph_ = std::move(builder).finish().value();
}

backend::KvGeometry GraphRig::geometry(const backend::Backend& backend) const {
  backend::KvGeometry kv;
  kv.format = kv_format;
  kv.n_ctx = kPagesASequence * backend::kPageRows;
  kv.layers = layers_;
  std::uint64_t page_bytes = 0;
  for (backend::KvLayer& layer : kv.layers) {
    layer.page_offset = page_bytes;
    layer.strips = backend.kv_strips(kv_format, layer.n_head_kv, layer.head_dim);
    layer.strips.strip_bytes = (layer.strips.strip_bytes + 63) / 64 * 64;
    page_bytes += layer.strips.bytes();
  }
  kv.groups.push_back({.window = 0, .page_bytes = page_bytes, .n_pages = kPages});
  return kv;
}

std::vector<float> GraphRig::run(backend::Backend& backend, const RigStep& step, Options options) {
  run_graph_ = graph_;
  if (options.fuse) {
    backend::Backend* const backends[] = {&backend};
    const passes::PassContext context{.backends = backends, .verify = true};
    MINFER_CHECK(passes::assign_backends(run_graph_, context).ok());
    MINFER_CHECK(passes::run_passes(run_graph_, context).ok());
  }
  const ir::Graph& graph = run_graph_;
  const auto weights = backend.load_weights(sources_of(graph, weights_)).value();
  std::uint64_t arena_bytes = 0;
  const auto places = place_all(graph, backend, arena_bytes);
  const backend::KvGeometry kv = geometry(backend);
  std::vector<ir::NodeId> nodes;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    nodes.push_back(static_cast<ir::NodeId>(i));
  }
  auto program = backend.compile({.graph = &graph,
                                  .nodes = nodes,
                                  .places = places,
                                  .weights = weights.get(),
                                  .kv = layers_.empty() ? nullptr : &kv});
  if (!program.ok()) {
    status_ = program.status();
    return {};
  }
  barriers_ = (*program)->barriers();

  auto arena = backend.allocate(arena_bytes).value();
  std::memset(arena->host_data(), 0xFF, arena_bytes);
  fill_inputs(graph, places, step, arena->host_data());
  const std::size_t kv_bytes = static_cast<std::size_t>(kPages) * kv.groups[0].page_bytes;
  if (!options.keep_kv) kv_memory_.assign(kv_bytes + 64, std::byte{0xFF});
  std::byte* const group_base[] = {kv_memory_.data()};
  States states;
  const std::uint64_t slots[] = {64};
  backend::StepContext context;
  context.n_tokens = step.n_tokens;
  context.n_out = step.n_out;
  context.arena = arena->host_data();
  context.kv = {.geometry = &kv,
                .group_base = group_base,
                .state_read = states.read,
                .state_write = states.write,
                .slot_offset = slots};
  context.cancel = options.cancel;
  status_ = (*program)->run(context);
  if (!status_.ok()) return {};

  return live_outputs(graph, places, context);
}

RigStep GraphRig::plain_step(std::int32_t n, std::int32_t past) {
  RigStep step;
  step.n_tokens = n;
  for (std::int32_t i = 0; i < n; ++i) {
    step.ids.push_back((7 * i + past) % kIds);
    step.positions.push_back(past + i);
    step.sequence.push_back(0);
    step.bounds.push_back(0);
    step.bounds.push_back(past + i);
  }
  step.pages = {{3, 7, 1, 11, 0, 5}};
  return step;
}

std::unique_ptr<backend::Backend> make_cpu(int n_threads, cpu::Isa isa, std::int64_t serial_cost,
                                           bool repack) {
  return cpu::make_cpu_backend(
             {.n_threads = n_threads, .isa = isa, .repack = repack, .serial_cost = serial_cost})
      .value();
}

std::vector<cpu::Isa> all_isas() {
  std::vector<cpu::Isa> sets;
  for (const cpu::Isa isa : cpu::all_isas()) {
    if (cpu::choose_isa(cpu::isa_name(isa)).ok()) sets.push_back(isa);
  }
  return sets;
}

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> patterns;
  patterns.reserve(values.size());
  for (const float value : values) patterns.push_back(std::bit_cast<std::uint32_t>(value));
  return patterns;
}

}  // namespace minfer::tests

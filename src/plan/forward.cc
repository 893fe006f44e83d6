#include "plan/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "plan/graph_dump.h"
#include "plan/trace.h"

namespace minfer::plan {
namespace {

constexpr std::int32_t kNotInBatch = -1;
constexpr std::int32_t kNoPage = -1;

/// The rows of one call, grouped by sequence. Keeps its memory from call to call.
struct Batch {
  std::vector<SequenceId> sequences;          // distinct, in order of their first row
  std::vector<KvStore::NewRows> new_rows;     // by the same index
  std::vector<std::int32_t> index_of;         // by SequenceId; kNotInBatch
  std::vector<std::int32_t> sequence_of_row;  // index in `sequences`
  std::vector<std::int32_t> out_rows;         // rows that want an output
  bool decode = true;                         // one row a sequence, none of them the first

  Batch(std::int32_t max_sequences, std::int32_t max_rows) {
    index_of.assign(static_cast<std::size_t>(max_sequences), kNotInBatch);
    sequences.reserve(index_of.size());
    new_rows.reserve(index_of.size());
    sequence_of_row.reserve(static_cast<std::size_t>(max_rows));
    out_rows.reserve(static_cast<std::size_t>(max_rows));
  }

  void clear() {
    for (SequenceId id : sequences) index_of[static_cast<std::size_t>(id)] = kNotInBatch;
    sequences.clear();
    new_rows.clear();
    sequence_of_row.clear();
    out_rows.clear();
    decode = true;
  }

  /// The index of an open sequence, which joins the batch with its first row.
  std::int32_t join(SequenceId id) {
    std::int32_t& index = index_of[static_cast<std::size_t>(id)];
    if (index == kNotInBatch) {
      index = static_cast<std::int32_t>(sequences.size());
      sequences.push_back(id);
      new_rows.push_back({.sequence = id, .n = 0});
    }
    return index;
  }
};

}  // namespace

struct Forward::Impl {
  std::unique_ptr<GraphCache> cache;
  ForwardOptions options;
  KvStore& kv;
  Scheduler scheduler;
  Batch batch;
  std::unique_ptr<GraphDump> dump;
  std::vector<float> host_logits;  // only where the host cannot see the graph's output
  std::atomic<bool> cancel{false};

  Impl(std::unique_ptr<GraphCache> graph_cache, ForwardOptions forward_options)
      : cache(std::move(graph_cache)),
        options(std::move(forward_options)),
        kv(*cache->kv()),
        scheduler(*cache),
        batch(kv.max_sequences(), options.max_batch) {
    if (!options.dump_dir.empty()) dump = std::make_unique<GraphDump>(options.dump_dir);
  }

  Status read_rows(std::span<const Row> rows);
  Status check_row(std::size_t i, const Row& row) const;
  [[nodiscard]] GraphParams params(std::int32_t n_tokens, std::int32_t n_out) const;
  void fill_inputs(CompiledGraph& graph, std::span<const Row> rows);
  void fill_pages(CompiledGraph& graph, std::int32_t group, std::byte* arena);
  Status execute(CompiledGraph& graph, std::span<const Row> rows);
  Result<LogitsView> read_logits(CompiledGraph& graph, std::int32_t n_rows);
  Status observe(const CompiledGraph& graph, const LogitsView& view, std::int32_t n_rows);
};

Forward::Forward(std::unique_ptr<GraphCache> cache, ForwardOptions options) {
  MINFER_CHECK(cache != nullptr && cache->kv() != nullptr && options.max_batch >= 1);
  impl_ = std::make_unique<Impl>(std::move(cache), std::move(options));
}

Forward::~Forward() = default;

Status Forward::Impl::check_row(std::size_t i, const Row& row) const {
  if (row.token < 0 || row.token >= options.n_vocab) {
    return out_of_range(fmt::format("row {}: token {} is outside the vocabulary of {}", i,
                                    row.token, options.n_vocab));
  }
  if (!kv.is_open(row.sequence)) {
    return invalid_argument(fmt::format("row {}: sequence {} is not open", i, row.sequence));
  }
  if (row.position >= kv.geometry().n_ctx) {
    return out_of_range(fmt::format("row {}: position {} is past the context of {} positions", i,
                                    row.position, kv.geometry().n_ctx));
  }
  return ok_status();
}

/// Checks the rows and groups them; nothing else changes.
Status Forward::Impl::read_rows(std::span<const Row> rows) {
  if (rows.empty() || rows.size() > static_cast<std::size_t>(options.max_batch)) {
    return invalid_argument(
        fmt::format("a forward takes 1 to {} rows, not {}", options.max_batch, rows.size()));
  }
  batch.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    MINFER_RETURN_IF_ERROR(check_row(i, row));
    const std::int32_t index = batch.join(row.sequence);
    std::int32_t& n_new = batch.new_rows[static_cast<std::size_t>(index)].n;
    const std::int32_t next = kv.length(row.sequence) + n_new;
    if (row.position != next) {
      return out_of_range(fmt::format("row {}: position {} of sequence {}, whose next is {}", i,
                                      row.position, row.sequence, next));
    }
    ++n_new;
    batch.decode = batch.decode && n_new == 1 && row.position > 0;
    batch.sequence_of_row.push_back(index);
    if (row.wants_output) batch.out_rows.push_back(static_cast<std::int32_t>(i));
  }
  return ok_status();
}

GraphParams Forward::Impl::params(std::int32_t n_tokens, std::int32_t n_out) const {
  GraphParams params = options.base_params;
  params.n_tokens = token_capacity(n_tokens, options.max_batch);
  params.n_out = out_capacity(n_out, n_tokens, params.n_tokens);
  return params;
}

void Forward::Impl::fill_pages(CompiledGraph& graph, std::int32_t group, std::byte* arena) {
  const InputRows table = graph.inputs.fill(ir::InputKind::kKvPages, group, arena);
  if (table.empty()) return;
  for (std::size_t q = 0; q < batch.sequences.size(); ++q) {
    const std::span<const std::int32_t> pages = kv.pages(batch.sequences[q], group);
    const std::span<std::int32_t> row = table.row(static_cast<std::int64_t>(q));
    const std::size_t n = std::min(row.size(), pages.size());
    std::copy_n(pages.begin(), n, row.begin());
    std::fill(row.begin() + static_cast<std::ptrdiff_t>(n), row.end(), kNoPage);
  }
}

/// Fills whatever the graph reads; an input of another kind stays unfilled, which the scheduler
/// refuses.
void Forward::Impl::fill_inputs(CompiledGraph& graph, std::span<const Row> rows) {
  std::byte* arena = cache->arena(cache->backends().size() - 1).host_data();
  graph.inputs.begin_step();
  const InputRows ids = graph.inputs.fill(ir::InputKind::kIds, 0, arena);
  const InputRows positions = graph.inputs.fill(ir::InputKind::kPositions, 0, arena);
  const InputRows sequence = graph.inputs.fill(ir::InputKind::kSequence, 0, arena);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!ids.empty()) ids.list()[i] = rows[i].token;
    if (!positions.empty()) positions.list()[i] = rows[i].position;
    if (!sequence.empty()) sequence.list()[i] = batch.sequence_of_row[i];
  }
  const auto& groups = kv.geometry().groups;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto group = static_cast<std::int32_t>(g);
    fill_pages(graph, group, arena);
    const InputRows bounds = graph.inputs.fill(ir::InputKind::kKvBounds, group, arena);
    if (bounds.empty()) continue;
    const std::int32_t window = groups[g].window;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::span<std::int32_t> row = bounds.row(static_cast<std::int64_t>(i));
      row[0] = window > 0 ? std::max(0, rows[i].position - window + 1) : 0;
      row[1] = rows[i].position;
    }
  }
  const InputRows out_rows = graph.inputs.fill(ir::InputKind::kOutRows, 0, arena);
  if (!out_rows.empty())
    std::copy(batch.out_rows.begin(), batch.out_rows.end(), out_rows.list().begin());
}

Status Forward::Impl::execute(CompiledGraph& graph, std::span<const Row> rows) {
  if (options.poison) {
    const std::size_t host = cache->backends().size() - 1;
    std::memset(cache->arena(host).host_data(), 0xFF, graph.memory.arena_bytes[host]);
  }
  fill_inputs(graph, rows);
  const auto n_tokens = static_cast<std::int32_t>(rows.size());
  const bool all_rows = graph.params.n_out == graph.params.n_tokens;
  const Step step{.n_tokens = n_tokens,
                  .n_out = all_rows ? n_tokens : static_cast<std::int32_t>(batch.out_rows.size()),
                  .kv = kv.access(batch.sequences),
                  .cancel = &cancel};
  return scheduler.run(graph, step);
}

/// The wanted rows, dense. They are read where the graph left them when the host can see them; rows
/// with padding, or among others that nobody asked for, are moved together in place.
Result<LogitsView> Forward::Impl::read_logits(CompiledGraph& graph, std::int32_t n_tokens) {
  LogitsView view{.data = nullptr,
                  .n_rows = static_cast<std::int32_t>(batch.out_rows.size()),
                  .n_vocab = options.n_vocab};
  if (view.n_rows == 0) return view;
  MINFER_CHECK(graph.graph.outputs().size() == 1 && view.n_rows <= n_tokens);
  const ir::ValueId id = graph.graph.outputs()[0];
  const ir::Value& value = graph.graph.value(id);
  const auto b = static_cast<std::size_t>(graph.graph.node(value.producer).backend);
  const backend::ValuePlace& place = graph.memory.places[b][static_cast<std::size_t>(id)];
  const auto n = static_cast<std::size_t>(value.shape.inner());
  view.n_vocab = value.shape.inner();
  const bool all_rows = graph.params.n_out == graph.params.n_tokens;
  const auto source_row = [&](std::size_t i) {
    return all_rows ? static_cast<std::uint64_t>(batch.out_rows[i]) : i;
  };

  backend::Buffer& arena = cache->arena(b);
  std::byte* data = arena.host_data();
  if (data != nullptr) {
    data += place.offset;
    for (std::size_t i = 0; i < batch.out_rows.size(); ++i) {
      std::byte* to = data + i * n * sizeof(float);
      const std::byte* from = data + source_row(i) * place.row_bytes;
      if (to != from) std::memmove(to, from, n * sizeof(float));
    }
    view.data = reinterpret_cast<const float*>(data);
    return view;
  }
  host_logits.resize(std::max(host_logits.size(), batch.out_rows.size() * n));
  for (std::size_t i = 0; i < batch.out_rows.size(); ++i) {
    const std::span<float> row(host_logits.data() + i * n, n);
    MINFER_RETURN_IF_ERROR(cache->backends()[b]->copy_to_host(
        std::as_writable_bytes(row), arena, place.offset + source_row(i) * place.row_bytes));
  }
  view.data = host_logits.data();
  return view;
}

Status Forward::Impl::observe(const CompiledGraph& graph, const LogitsView& view,
                              std::int32_t n_rows) {
  if (options.trace_graph) {
    write_to_stderr(describe_step(graph, cache->backends(), batch.decode, n_rows, view.n_rows));
  }
  if (dump == nullptr) return ok_status();
  const GraphDump::StepResult step{
      .uid = graph.uid,
      .decode = batch.decode,
      .n_rows = n_rows,
      .n_out = view.n_rows,
      .n_vocab = view.n_vocab,
      .logits = {view.data, static_cast<std::size_t>(view.n_rows * view.n_vocab)},
      .sequence = batch.sequences.front()};
  return dump->write(step, kv, kv.backend());
}

Result<LogitsView> Forward::run(std::span<const Row> rows) {
  Impl& s = *impl_;
  MINFER_RETURN_IF_ERROR(s.read_rows(rows));
  const auto n_rows = static_cast<std::int32_t>(rows.size());
  MINFER_ASSIGN_OR_RETURN(
      CompiledGraph* const graph,
      s.cache->find_or_build(s.params(n_rows, static_cast<std::int32_t>(s.batch.out_rows.size()))));
  MINFER_RETURN_IF_ERROR(s.kv.prepare(s.batch.new_rows));
  Status status = s.execute(*graph, rows);
  Result<LogitsView> view =
      status.ok() ? s.read_logits(*graph, n_rows) : Result<LogitsView>(status);
  if (!view.ok()) {
    for (SequenceId id : s.batch.sequences) s.kv.abandon_rows(id);
    return view;
  }
  for (const KvStore::NewRows& add : s.batch.new_rows) s.kv.commit_rows(add.sequence, add.n);
  MINFER_RETURN_IF_ERROR(s.observe(*graph, *view, n_rows));
  return view;
}

void Forward::request_cancel() { impl_->cancel.store(true, std::memory_order_relaxed); }
void Forward::clear_cancel() { impl_->cancel.store(false, std::memory_order_relaxed); }

GraphCache& Forward::cache() { return *impl_->cache; }
KvStore& Forward::kv() { return impl_->kv; }
const ForwardOptions& Forward::options() const { return impl_->options; }
const Scheduler::Counters& Forward::counters() const { return impl_->scheduler.counters(); }

Result<CompiledGraph*> Forward::compiled(std::int32_t n_tokens, std::int32_t n_out) {
  if (n_tokens < 1 || n_tokens > impl_->options.max_batch || n_out < 0 || n_out > n_tokens) {
    return invalid_argument(fmt::format("no graph has {} rows with {} outputs; --batch-size is {}",
                                        n_tokens, n_out, impl_->options.max_batch));
  }
  return impl_->cache->find_or_build(impl_->params(n_tokens, n_out));
}

}  // namespace minfer::plan

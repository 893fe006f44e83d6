// The interface behind which a device runs parts of a graph.
//
// A backend says which nodes it can run, prepares weights in the layout it likes, allocates
// buffers, compiles a split (a run of consecutive nodes) into a program of its own at plan time,
// runs it, and copies to and from the host. The CPU always exists and runs everything.
//
// Invariants: a program is compiled once and run any number of times with different live rows; it
// keeps no pointer into a buffer across runs (a buffer may move when it grows). run() allocates
// nothing. Nothing outside the scheduler touches buffers between steps.
// Thread-safety: a Backend and what it made are used by one thread at a time; it may use threads of
// its own inside run().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "tensor/shape.h"

namespace minfer::backend {

/// Memory in a backend's address space.
class Buffer {
 public:
  virtual ~Buffer() = default;
  [[nodiscard]] virtual std::uint64_t size_bytes() const = 0;
  /// The address on the host, or null where the host cannot see the memory.
  [[nodiscard]] virtual std::byte* host_data() = 0;
  /// The address in the backend's own space, which is what programs get (StepContext::arena,
  /// KvAccess). Only the backend may follow it.
  [[nodiscard]] virtual std::byte* device_data() { return host_data(); }
  /// Makes the buffer at least `size_bytes` large; its contents may be lost and it may move.
  virtual Status grow(std::uint64_t size_bytes) = 0;
};

/// How the graph uses a weight; a bit set.
enum WeightUse : std::uint8_t {
  kUseMatMul = 1,       // right side of mat_mul, moe_mat_mul
  kUseRowLookup = 2,    // table of embed
  kUseElementwise = 4,  // norm weights, biases, RoPE factors: wanted as F32
};

struct WeightSource {
  TensorView view;        // bytes in the mapped file
  std::string_view name;  // "blk.3.ffn_up.weight"
  std::uint8_t uses = 0;  // WeightUse bits
};

/// The weights of one model as a backend holds them, by index of the model's weight table.
class Weights {
 public:
  virtual ~Weights() = default;
  /// Bytes held beside the mapped file (re-ordered copies, decoded norms).
  [[nodiscard]] virtual std::uint64_t extra_bytes() const = 0;
};

/// Element type of cached K and V.
enum class KvFormat : std::uint8_t { kF32, kF16, kQ8_0 };
std::string_view kv_format_name(KvFormat format);  // "f32", "f16", "q8_0"
/// Errors list the known names.
Result<KvFormat> kv_format_from_name(std::string_view name);

/// Bytes of K and V of one position in one layer, packed (Backend::pack_kv_rows).
std::uint64_t packed_kv_row_bytes(KvFormat format, std::int32_t n_head_kv, std::int32_t head_dim);

inline constexpr std::int32_t kPageRows = 64;  // positions in a KV page

/// What one layer keeps of kPageRows positions: equal parts that are walked one by one (the CPU's
/// are KV heads).
struct KvStrips {
  std::int32_t n_strips = 0;
  std::uint64_t strip_bytes = 0;

  [[nodiscard]] std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(n_strips) * strip_bytes;
  }
};

/// One layer's place in the pages of its group.
struct KvLayer {
  std::int32_t group = 0;
  std::int32_t n_head_kv = 0;
  std::int32_t head_dim = 0;
  KvStrips strips = {};
  std::uint64_t page_offset = 0;  // bytes of a page that belong to the layers before this one
};

struct KvGroup {
  std::int32_t window = 0;       // positions a token sees, itself included; 0: all
  std::uint64_t page_bytes = 0;  // all layers of the group, kPageRows rows
  std::int32_t n_pages = 0;      // set by the store that holds them
};

/// Geometry of the KV of one model: filled by plan/ with sizes from Backend::kv_strips.
struct KvGeometry {
  KvFormat format = KvFormat::kF16;
  std::int32_t n_ctx = 0;
  std::vector<KvLayer> layers;  // by layer of the model
  std::vector<KvGroup> groups;

  /// Entries of a page table: ceil(n_ctx / kPageRows).
  [[nodiscard]] std::int32_t pages_per_sequence() const {
    return (n_ctx + kPageRows - 1) / kPageRows;
  }
  /// Bytes from the start of a group's memory to strip `strip` of `layer` in page `page`. A page
  /// lies in as many places as it has strips: pages that follow one another make one run of memory
  /// of each strip, which is what attention streams through.
  [[nodiscard]] std::uint64_t strip_offset(const KvLayer& layer, std::int32_t strip,
                                           std::int32_t page) const {
    const auto n_pages =
        static_cast<std::uint64_t>(groups[static_cast<std::size_t>(layer.group)].n_pages);
    const std::uint64_t before =
        layer.page_offset + static_cast<std::uint64_t>(strip) * layer.strips.strip_bytes;
    return before * n_pages + static_cast<std::uint64_t>(page) * layer.strips.strip_bytes;
  }
};

/// Where a program finds the KV: the memory of group g starts at group_base[g].
struct KvAccess {
  const KvGeometry* geometry = nullptr;
  std::span<std::byte* const> group_base;
  /// Fixed-size state of recurrent layers, by row of the page tables (the `sequence` input). A scan
  /// of slot s starts from state_read[q] + slot_offset[s], F32 [row elements], takes the rows of q
  /// in order and leaves the last state in state_write[q] + slot_offset[s]. The two never overlap.
  std::span<const std::byte* const> state_read;
  std::span<std::byte* const> state_write;
  std::span<const std::uint64_t> slot_offset;
};

/// Where a value lives: an offset in the arena of its backend. Row r starts at offset + r *
/// row_bytes; a value of rank 1 (ids, positions, sequence, out_rows) is dense, one element a row.
struct ValuePlace {
  std::uint64_t offset = 0;
  std::uint64_t row_bytes = 0;  // bytes from a row to the next
  bool placed = false;          // false: no bytes (weights, KV tokens, dead values)
};

struct CompileRequest {
  const ir::Graph* graph = nullptr;
  std::uint64_t graph_uid = 0;         // what a device keeps for the graph is keyed by it
  std::span<const ir::NodeId> nodes;   // the split, in execution order
  std::span<const ValuePlace> places;  // by ValueId
  const Weights* weights = nullptr;    // made by this backend's load_weights
  const KvGeometry* kv = nullptr;      // null: the graph has no KV
};

/// Live extents of one step, and how to stop it.
struct StepContext {
  std::int32_t n_tokens = 0;   // live rows of RowDomain::kTokens
  std::int32_t n_out = 0;      // live rows of RowDomain::kOut
  std::byte* arena = nullptr;  // the backend's arena buffer (device address space of the backend)
  KvAccess kv;
  const std::atomic<bool>* cancel = nullptr;  // checked between nodes; may be null

  [[nodiscard]] std::int64_t live_rows(const ir::Value& value) const {
    switch (value.rows) {
      case ir::RowDomain::kTokens:
        return n_tokens;
      case ir::RowDomain::kOut:
        return n_out;
      case ir::RowDomain::kFixed:
        break;
    }
    return value.shape.rows();
  }
};

/// Time and traffic of one kind of node over a run (MINFER_OP_TIMING).
struct OpTiming {
  std::string op;  // "mat_mul Q4_1"
  std::uint64_t calls = 0;
  double seconds = 0;
  std::uint64_t bytes = 0;  // weights and activations read and written
  std::uint64_t flops = 0;  // multiply and add count as two
};

/// A compiled split.
class Program {
 public:
  virtual ~Program() = default;
  /// Runs the split on the live rows, or starts to: see Backend::synchronize. kCancelled when the
  /// flag was seen; what was computed by then is only rows past the cursor.
  virtual Status run(const StepContext& step) = 0;
  /// Barriers that one run with a single live token passes.
  [[nodiscard]] virtual std::int32_t barriers() const { return 0; }
};

class Backend {
 public:
  virtual ~Backend() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;  // "cpu"
  /// For people: "AVX2, 2 threads".
  [[nodiscard]] virtual std::string description() const = 0;

  [[nodiscard]] virtual bool can_run(const ir::Graph& graph, const ir::Node& node) const = 0;
  /// True if matrix products with weights of this type take kQ8A rows, so that the quantise pass
  /// inserts quantize_rows nodes before them.
  [[nodiscard]] virtual bool wants_quantized_rows(DType weight_type) const = 0;
  /// True if a fusion pass may make nodes of this fused operation here.
  [[nodiscard]] virtual bool can_fuse(ir::OpKind fused_op) const = 0;
  /// Bytes of one row of `elements` of a transient value, rounded up to the backend's alignment.
  [[nodiscard]] virtual std::uint64_t row_bytes(DType type, std::int64_t elements) const = 0;
  /// Bytes of kPageRows rows of K and V of one layer.
  [[nodiscard]] virtual KvStrips kv_strips(KvFormat format, std::int32_t n_head_kv,
                                           std::int32_t head_dim) const = 0;

  /// `zeroed` large memory that is committed only as it is touched.
  virtual Result<std::unique_ptr<Buffer>> allocate(std::uint64_t size_bytes) = 0;
  virtual Result<std::unique_ptr<Weights>> load_weights(std::span<const WeightSource> sources) = 0;
  virtual Result<std::unique_ptr<Program>> compile(const CompileRequest& request) = 0;

  /// Waits until everything that was started is done, and gives the first error of it. Work and
  /// copies of one backend happen in the order they were asked for; copy_to_host waits by itself,
  /// and what copy_from_host was given may change once it has returned.
  virtual Status synchronize() { return ok_status(); }
  virtual Status copy_from_host(Buffer& to, std::uint64_t offset,
                                std::span<const std::byte> from) = 0;
  virtual Status copy_to_host(std::span<std::byte> to, Buffer& from, std::uint64_t offset) = 0;

  /// K and V of row `row` of a page as F32 [n_head_kv * head_dim] each, whatever the page's inner
  /// layout (observation and tests). `group_base` is the memory of the layer's group.
  virtual Status read_kv_row(const KvGeometry& geometry, const KvLayer& layer,
                             const std::byte* group_base, std::int32_t page, std::int32_t row,
                             std::span<float> k, std::span<float> v) const = 0;

  // Rows of KV outside of pages (files). A layer's n packed rows are, head after head: K
  // [head_dim][n], its scales [head_dim / 32][n] f16 (q8_0 only), V [n][head_dim], its scales
  // [n][head_dim / 32] f16; elements in the format of the KV, no gaps.

  /// Writes rows [row, row + n) of a page of a layer to `to`, n * packed_kv_row_bytes() long.
  virtual Status pack_kv_rows(const KvGeometry& geometry, const KvLayer& layer,
                              const std::byte* group_base, std::int32_t page, std::int32_t row,
                              std::int32_t n, std::span<std::byte> to) const;
  /// The other way: the first n of `n_packed` rows in `from` become rows [row, row + n).
  virtual Status unpack_kv_rows(const KvGeometry& geometry, const KvLayer& layer,
                                std::byte* group_base, std::int32_t page, std::int32_t row,
                                std::int32_t n, std::int32_t n_packed,
                                std::span<const std::byte> from) const;

  /// Collected since the last call; empty unless timing was switched on.
  virtual std::vector<OpTiming> take_op_timings() { return {}; }
};

}  // namespace minfer::backend

// GraphDump: what MINFER_GRAPH_DUMP=DIR writes after every forward.
//
// Owns: the files of one folder: logits_{prefill,decode}.f32, kv{L}_{prefill,decode}.f32 for every
// layer L that keeps KV, and index.json; each is replaced as a whole (written beside and renamed).
// Raw little-endian F32. Logits: [n_out][n_vocab]. KV: [n_valid][2][n_head_kv * head_dim], K before
// V, of the first sequence of the batch; positions that a window gave back are NaN.
// index.json: {"prefill":{...},"decode":{...}}, each of the last step of its kind:
// {"uid","n_rows","n_out","n_vocab","sequence","n_valid","files":[{"name","shape":[...]}]}.
// Invariants: reads alone; no bit of a result changes.
// Thread-safety: one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/status.h"
#include "plan/kv_store.h"

namespace minfer::plan {

class GraphDump {
 public:
  explicit GraphDump(std::string dir) : dir_(std::move(dir)) {}

  struct StepResult {
    std::uint64_t uid = 0;
    bool decode = false;
    std::int32_t n_rows = 0;
    std::int32_t n_out = 0;
    std::int64_t n_vocab = 0;
    std::span<const float> logits;  // [n_out * n_vocab]
    SequenceId sequence = 0;
  };
  /// Writes the files of one step. `kv_backend` is the backend whose memory the store is in. kIo:
  /// the folder cannot be made or written.
  Status write(const StepResult& step, const KvStore& kv, const backend::Backend& kv_backend);

 private:
  Status write_kv_layer(const StepResult& step, const KvStore& kv,
                        const backend::Backend& kv_backend, std::int32_t layer,
                        std::string& entries);
  Status write_file(const std::string& name, std::span<const std::byte> bytes) const;

  std::string dir_;
  std::string index_[2];       // the objects of prefill and decode
  std::vector<float> values_;  // of one layer
};

}  // namespace minfer::plan

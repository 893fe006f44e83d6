// Model: one GGUF file understood: hyper-parameters, weight table, vocabulary, and the function
// that writes its graph.
//
// Owns: the mapped file, the hyper-parameters, the table of weights (views into the mapping).
// Invariants: after load() every hyper-parameter and every weight's shape and type has been checked
// against the others; building a graph cannot fail for a reason that lies in the file.
// Thread-safety: const after load.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "base/status.h"
#include "gguf/file.h"
#include "ir/graph.h"
#include "model/hparams.h"
#include "plan/graph_params.h"
#include "text/tokenizer.h"

namespace minfer::model {

struct LoadOptions {
  /// Reads every value once; the first that is not finite fails the load, naming tensor and index.
  bool check_tensors = false;
  /// No tokenizer is built: ids only. Its keys are still checked for their types.
  bool skip_vocab = false;
  /// Called now and then with the share done, 0..1; returning false cancels.
  std::function<bool(double)> progress = {};
};

class Model {
 public:
  static Result<std::unique_ptr<Model>> load(const std::string& path, const LoadOptions& options);
  ~Model();

  [[nodiscard]] const gguf::File& file() const;
  [[nodiscard]] const HParams& hparams() const;
  [[nodiscard]] std::string_view arch_name() const;     // "llama"
  [[nodiscard]] std::string_view display_name() const;  // general.name, else the file's name
  [[nodiscard]] std::string_view type_name()
      const;                                     // "Q4_K_M" by general.file_type, else by census
  [[nodiscard]] std::uint64_t n_params() const;  // elements of all weights, tied ones once
  [[nodiscard]] std::uint64_t weight_bytes() const;
  /// Null with skip_vocab, or when the file says that it has no tokenizer.
  [[nodiscard]] const text::Tokenizer* tokenizer() const;
  /// tokenizer.chat_template, or empty.
  [[nodiscard]] std::string_view chat_template() const;

  /// The weight table, by index of ir::Value::weight.
  [[nodiscard]] std::span<const backend::WeightSource> weights() const;

  /// Layout of the KV for a format and context, with page sizes of `backend`. Errors: the format
  /// does not fit the head size.
  [[nodiscard]] Result<backend::KvGeometry> kv_geometry(const backend::Backend& backend,
                                                        backend::KvFormat format,
                                                        std::int32_t n_ctx) const;
  /// Bytes of KV per position over all layers, for sizing the context.
  [[nodiscard]] std::uint64_t kv_bytes_per_position(const backend::Backend& backend,
                                                    backend::KvFormat format) const;

  /// Writes the graph for `params`, a function of them and the model alone.
  [[nodiscard]] Result<ir::Graph> build_graph(const plan::GraphParams& params) const;

 private:
  struct Impl;
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace minfer::model

// Architecture: what a kind of model adds to the blocks that all share.
//
// Owns: the table made of archs.def; each row's functions live in arch/<name>.cc.
// Thread-safety: constants.
#pragma once

#include <string_view>

#include "base/status.h"
#include "ir/attrs.h"
#include "ir/graph.h"
#include "model/blocks.h"
#include "model/hparams.h"
#include "model/weights.h"

namespace minfer::model {

struct Architecture {
  std::string_view name;  // general.architecture
  ir::RopeMode rope_mode = ir::RopeMode::kNormal;
  /// Reads the keys beyond those that every architecture has; faults stick in the reader.
  void (*read_hparams)(KeyReader& keys, HParams& hp) = nullptr;
  /// Names the tensors of one layer.
  void (*bind_layer)(LayerBinder& bind) = nullptr;
  /// Writes one layer: x [n_tokens, n_embd] -> [n_tokens or n_out, n_embd].
  ir::ValueId (*layer)(Blocks& b, ir::ValueId x) = nullptr;
};

namespace arch {
#define MINFER_ARCH(name) extern const Architecture name;
#include "model/archs.def"
#undef MINFER_ARCH
}  // namespace arch

/// The architecture called `name`; kUnsupported lists those that are known.
Result<const Architecture*> find_architecture(std::string_view name);

}  // namespace minfer::model

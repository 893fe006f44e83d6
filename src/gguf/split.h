// split: the names and keys of a model that is cut into several files.
//
// Format: keys `split.no` (from 0), `split.count` and `split.tensors.count`, names
// NAME-00001-of-00003.gguf (numbered from 1), as gguf-split of github.com/ggml-org/llama.cpp
// writes. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "gguf/parse.h"

namespace minfer::gguf {

struct SplitKeys {
  std::uint64_t no = 0;
  std::uint64_t count = 1;
  bool has_n_tensors = false;
  std::uint64_t n_tensors = 0;  // of all parts together
};

/// The split keys of one part; the defaults where it has none. kCorrupt where a key is no number in
/// range.
Result<SplitKeys> read_split_keys(const ParsedPart& part);

/// The path of part `no` of the model to which `path`, part `keys.no`, belongs; kCorrupt where the
/// name of `path` does not fit its keys.
Result<std::string> split_path(const std::string& path, const SplitKeys& keys, std::uint64_t no);

}  // namespace minfer::gguf

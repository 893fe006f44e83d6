// fingerprint: a hash that tells one model from another without reading all of it.
//
// Thread-safety: pure function.
#pragma once

#include <cstdint>

#include "gguf/file.h"

namespace minfer::gguf {

/// A hash of all metadata, the tensor table (names, types, extents) and the first 4 KB of each
/// tensor. The same for a model in one file and in parts.
std::uint64_t fingerprint(const File& file);

}  // namespace minfer::gguf

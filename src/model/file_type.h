// file_type: what people call a file's mix of types ("Q4_K_M").
//
// Thread-safety: pure functions.
#pragma once

#include <span>
#include <string>

#include "backend/backend.h"
#include "gguf/file.h"

namespace minfer::model {

/// The name of general.file_type (llama.cpp's numbering); where the key is missing or unknown, the
/// type that most bytes of `weights` have.
std::string file_type_name(const gguf::File& file, std::span<const backend::WeightSource> weights);

}  // namespace minfer::model

// Element types: their number in a GGUF file, their name, and the size of their blocks.
//
// Owns: the list in dtype.def. What a block holds is the business of quant/.
// Thread-safety: constants.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace minfer {

/// An element type. The value is the type's number in a GGUF file, but for kQ8A.
enum class DType : std::uint8_t {
#define MINFER_DTYPE(enumerator, id, name, block, bytes) enumerator = id,
#include "tensor/dtype.def"
#undef MINFER_DTYPE
  /// Activations quantised by row (docs/arithmetic.md): exists only between nodes, never in a file.
  /// Its storage is a backend's own; see Backend::row_bytes.
  kQ8A = 200,
};

struct DTypeInfo {
  std::string_view name;
  std::uint32_t block_elements;  // elements that share one block
  std::uint32_t block_bytes;     // bytes of one block
};

/// Name and block size of `type`. kQ8A: 32 elements, 0 bytes (no fixed storage).
const DTypeInfo& dtype_info(DType type);

inline std::string_view dtype_name(DType type) { return dtype_info(type).name; }

/// True for every type whose elements share blocks (Q4_0, Q6_K, ...).
inline bool is_block_quantized(DType type) { return dtype_info(type).block_elements > 1; }

/// The type with number `id` in a GGUF file; nothing for an unknown or removed number.
std::optional<DType> dtype_from_file_id(std::uint32_t id);

/// The name of a type that ggml once had and removed (4: "Q4_2", ...), else empty.
std::string_view removed_dtype_name(std::uint32_t id);

/// Bytes of a row of `n` elements. `n` must be a multiple of the block.
inline std::uint64_t row_size_bytes(DType type, std::uint64_t n) {
  const DTypeInfo& info = dtype_info(type);
  return n / info.block_elements * info.block_bytes;
}

}  // namespace minfer

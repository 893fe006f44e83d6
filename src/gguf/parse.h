// parse: the bytes of one GGUF file to checked metadata and tensor descriptions.
//
// Format: github.com/ggml-org/ggml, docs/gguf.md. All checks of a single file are made here.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "gguf/file.h"
#include "gguf/name_index.h"

namespace minfer::gguf {

/// Limits far above any real file, so that memory stays bounded whatever a file claims.
inline constexpr std::uint64_t kMaxKeys = 1u << 16;
inline constexpr std::uint64_t kMaxTensors = 1u << 18;
inline constexpr std::uint64_t kMaxKeyBytes = 65535;
inline constexpr std::uint64_t kMaxTensorNameBytes = 64;
inline constexpr std::uint32_t kMaxAlignment = 1u << 20;
inline constexpr std::uint32_t kDefaultAlignment = 32;

struct ParsedPart {
  Part info;
  std::vector<Entry> metadata;
  NameIndex keys;
  /// TensorInfo::data points into the bytes, wherever they lie; TensorInfo::part is 0.
  std::vector<TensorInfo> tensors;
};

/// Checks `bytes` as a whole GGUF file. `path` stands in messages and ParsedPart::info.
Result<ParsedPart> parse_part(std::span<const std::byte> bytes, const std::string& path);

/// "[gguf] PATH: TEXT" as kCorrupt.
Status file_error(std::string_view path, std::string_view text);

}  // namespace minfer::gguf

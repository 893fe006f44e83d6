#include "gguf/fingerprint.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/hashing.h"

namespace minfer::gguf {
namespace {

constexpr std::size_t kSampleBytes = 4096;

}  // namespace

std::uint64_t fingerprint(const File& file) {
  Hasher hasher;
  for (const Entry& entry : file.metadata()) {
    if (entry.key.starts_with("split.")) continue;
    hasher.add(entry.key).add(entry.value.type());
    if (entry.value.is_array()) hasher.add(entry.value.element_type()).add(entry.value.size());
    hasher.add(as_text(entry.value.bytes()));
  }
  for (const TensorInfo& tensor : file.tensors()) {
    hasher.add(tensor.name).add(tensor.dtype).add(tensor.n_dims);
    for (const std::uint64_t extent : tensor.dims) hasher.add(extent);
    hasher.add(as_text(tensor.data.first(std::min(tensor.data.size(), kSampleBytes))));
  }
  return hasher.digest();
}

}  // namespace minfer::gguf

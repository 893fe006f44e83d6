#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/printable.h"
#include "model/weights.h"
#include "quant/codec.h"

namespace minfer::model {
namespace {

// A multiple of every block, small enough to stay in the first cache.
constexpr std::int64_t kChunk = 4096;

Status check_one(const gguf::File& file, const gguf::TensorInfo& tensor,
                 const quant::Codec& codec) {
  std::vector<float> values(kChunk);
  const std::int64_t n = tensor.shape.elements();
  const std::byte* data = tensor.data.data();
  for (std::int64_t start = 0; start < n; start += kChunk) {
    const std::int64_t count = std::min(kChunk, n - start);
    codec.decode_row(data, values.data(), count);
    data += row_size_bytes(tensor.dtype, static_cast<std::uint64_t>(count));
    const auto end = values.begin() + count;
    const auto bad = std::find_if(values.begin(), end, [](float v) { return !std::isfinite(v); });
    if (bad == end) continue;
    const std::int64_t index = start + (bad - values.begin());
    const std::int64_t row = index / tensor.shape.inner();
    return numeric_error(
        fmt::format("[model] {}: tensor \"{}\" ({}) holds {} at element {} (row {}, column {})",
                    file.path(), printable(tensor.name), dtype_name(tensor.dtype), *bad, index, row,
                    index % tensor.shape.inner()));
  }
  return ok_status();
}

}  // namespace

Status check_tensors(const gguf::File& file, const std::function<bool(double)>& progress) {
  const double total = std::max(static_cast<double>(file.tensor_bytes()), 1.0);
  std::uint64_t done = 0;
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    if (progress && !progress(static_cast<double>(done) / total)) {
      return cancelled("loading was cancelled");
    }
    // Types without a codec were refused unless the model leaves the tensor alone.
    if (const quant::Codec* codec = quant::codec(tensor.dtype)) {
      MINFER_RETURN_IF_ERROR(check_one(file, tensor, *codec));
    }
    done += tensor.size_bytes;
  }
  return ok_status();
}

}  // namespace minfer::model

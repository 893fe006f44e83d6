#include "plan/graph_dump.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <system_error>

#include "base/bytes.h"
#include "base/write_file.h"
#include "plan/trace.h"

namespace minfer::plan {
Status GraphDump::write_file(const std::string& name, std::span<const std::byte> bytes) const {
  return write_file_whole(dir_ + "/" + name,
                          {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Status GraphDump::write_kv_layer(const StepResult& step, const KvStore& kv,
                                 const backend::Backend& kv_backend, std::int32_t layer,
                                 std::string& entries) {
  const backend::KvLayer& place = kv.geometry().layers[static_cast<std::size_t>(layer)];
  const auto row = static_cast<std::size_t>(place.n_head_kv * place.head_dim);
  const std::int32_t n_valid = kv.length(step.sequence);
  const std::span<const std::int32_t> pages = kv.pages(step.sequence, place.group);
  values_.assign(static_cast<std::size_t>(n_valid) * 2 * row,
                 std::numeric_limits<float>::quiet_NaN());
  for (std::int32_t position = 0; position < n_valid; ++position) {
    const std::int32_t page = pages[static_cast<std::size_t>(position / backend::kPageRows)];
    if (page < 0) continue;
    float* k = values_.data() + static_cast<std::size_t>(position) * 2 * row;
    MINFER_RETURN_IF_ERROR(kv_backend.read_kv_row(kv.geometry(), place, kv.group_data(place.group),
                                                  page, position % backend::kPageRows, {k, row},
                                                  {k + row, row}));
  }
  const std::string name = fmt::format("kv{}_{}.f32", layer, step_label(step.decode));
  entries += fmt::format(R"(,{{"name":"{}","shape":[{},2,{}]}})", name, n_valid, row);
  return write_file(name, std::as_bytes(std::span<const float>(values_)));
}

Status GraphDump::write(const StepResult& step, const KvStore& kv,
                        const backend::Backend& kv_backend) {
  std::error_code error;
  std::filesystem::create_directories(dir_, error);
  if (error) return io_error(fmt::format("{}: the folder cannot be made", dir_));
  const std::string name = fmt::format("logits_{}.f32", step_label(step.decode));
  std::string entries =
      fmt::format(R"({{"name":"{}","shape":[{},{}]}})", name, step.n_out, step.n_vocab);
  MINFER_RETURN_IF_ERROR(write_file(name, std::as_bytes(step.logits)));
  for (std::size_t layer = 0; layer < kv.geometry().layers.size(); ++layer) {
    if (kv.geometry().layers[layer].n_head_kv == 0) continue;
    MINFER_RETURN_IF_ERROR(
        write_kv_layer(step, kv, kv_backend, static_cast<std::int32_t>(layer), entries));
  }
  index_[step.decode ? 1 : 0] = fmt::format(
      R"("{}":{{"uid":{},"n_rows":{},"n_out":{},"n_vocab":{},"sequence":{},"n_valid":{},"files":[{}]}})",
      step_label(step.decode), step.uid, step.n_rows, step.n_out, step.n_vocab, step.sequence,
      kv.length(step.sequence), entries);
  const bool both = !index_[0].empty() && !index_[1].empty();
  return write_file("index.json",
                    as_bytes(fmt::format("{{{}{}{}}}\n", index_[0], both ? "," : "", index_[1])));
}

}  // namespace minfer::plan

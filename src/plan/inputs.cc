#include "plan/inputs.h"

#include <fmt/format.h>

namespace minfer::plan {

StepInputs::StepInputs(const ir::Graph& graph, std::span<const backend::ValuePlace> places) {
  for (std::size_t v = 0; v < places.size(); ++v) {
    const ir::Value& value = graph.values()[v];
    if (value.kind != ir::ValueKind::kInput || !places[v].placed) continue;
    const bool list = value.shape.rank() == 1;
    slots_.push_back({.value = static_cast<ir::ValueId>(v),
                      .kind = value.input,
                      .group = value.group,
                      .n_rows = list ? value.shape[0] : value.shape.rows(),
                      .row_elements = list ? 1 : value.shape.row_elements(),
                      .place = places[v],
                      .filled = false});
  }
}

void StepInputs::begin_step() {
  for (Slot& slot : slots_) slot.filled = false;
}

InputRows StepInputs::fill(ir::InputKind kind, std::int32_t group, std::byte* arena) {
  for (Slot& slot : slots_) {
    if (slot.kind != kind || slot.group != group) continue;
    slot.filled = true;
    return {.data = arena + slot.place.offset,
            .row_bytes = slot.place.row_bytes,
            .n_rows = slot.n_rows,
            .row_elements = slot.row_elements};
  }
  return {};
}

Status StepInputs::check_filled(const ir::Graph& graph) const {
  for (const Slot& slot : slots_) {
    if (slot.filled) continue;
    return internal_error(fmt::format("input {} of the graph was not filled for this step",
                                      graph.value_name(slot.value)));
  }
  return ok_status();
}

}  // namespace minfer::plan

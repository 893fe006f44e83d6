#include "engine/context_size.h"

#include <fmt/format.h>

#include <algorithm>

namespace minfer::engine {
namespace {

constexpr std::int32_t kStep = 64;  // a KV page

std::int32_t fitting_context(const ContextRequest& request) {
  const std::uint64_t budget = request.memory.bytes / 4 * 3;
  const std::uint64_t left =
      budget > request.weight_bytes ? budget - request.weight_bytes : std::uint64_t{0};
  if (request.kv_bytes_per_position == 0) return request.trained;
  const std::uint64_t positions = left / request.kv_bytes_per_position / kStep * kStep;
  if (positions >= static_cast<std::uint64_t>(request.trained)) return request.trained;
  return std::max(std::min(kStep, request.trained), static_cast<std::int32_t>(positions));
}

}  // namespace

Result<ContextChoice> choose_context(const ContextRequest& request) {
  ContextChoice choice;
  if (request.wanted > 0) {
    choice.n_ctx = request.wanted;
    choice.reason = "-c";
    if (request.n_prompt >= request.wanted && request.n_prompt < request.trained) {
      const std::int64_t extra =
          request.n_predict < 0 ? request.trained : std::max(request.n_predict, 1);
      choice.n_ctx = static_cast<std::int32_t>(
          std::min<std::int64_t>(request.trained, request.n_prompt + extra));
      choice.reason = "raised for the prompt";
      choice.note =
          fmt::format("the prompt has {} tokens and does not fit in a context of {}: using {}",
                      request.n_prompt, request.wanted, choice.n_ctx);
    } else if (request.wanted > request.trained) {
      choice.note = fmt::format("a context of {} is longer than the {} the model was trained for",
                                request.wanted, request.trained);
    }
  } else {
    choice.n_ctx = fitting_context(request);
    choice.reason = choice.n_ctx == request.trained
                        ? "trained"
                        : fmt::format("trained for {}, lowered to fit 3/4 of the {}",
                                      request.trained, request.memory.reason);
  }
  if (request.n_prompt >= choice.n_ctx) {
    const std::string trained =
        choice.n_ctx == request.trained ? "" : fmt::format(" (trained for {})", request.trained);
    return out_of_range(fmt::format(
        "the prompt has {} tokens and the context {}{}: no room for an answer; shorten the prompt "
        "or set --ctx-size to more than {}",
        request.n_prompt, choice.n_ctx, trained, request.n_prompt));
  }
  return choice;
}

bool copy_fits(const MemoryLimit& memory, std::uint64_t copy_bytes, std::uint64_t kv_bytes) {
  const std::uint64_t kept = memory.bytes - memory.bytes / 11;  // what leaves a tenth of itself
  return copy_bytes <= kept && kv_bytes <= kept - copy_bytes;
}

}  // namespace minfer::engine

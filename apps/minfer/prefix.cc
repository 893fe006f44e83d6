#include "prefix.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"

namespace minfer::app {

Result<PrefixUse> use_prefix(const std::string& path, const Loaded& loaded,
                             const SessionChoice& choice, std::span<const engine::TokenId> prompt) {
  MINFER_ASSIGN_OR_RETURN(const engine::SessionIdentity identity,
                          session_identity(*loaded.engine, choice.options.kv_format));
  MINFER_ASSIGN_OR_RETURN(
      const auto file,
      engine::SessionFile::open(path, identity, engine::SessionFile::Mode::kReadOnly));
  if (!file->refusal().empty()) {
    return unsupported(fmt::format("{} cannot be used: {}", path, file->refusal()));
  }
  const std::vector<engine::TokenId>& stream = file->state().stream;
  const auto same = std::ranges::mismatch(stream, prompt.first(prompt.size() - 1)).in1;
  plan::SequenceRows rows = choice.session->rows();
  PrefixUse use;
  MINFER_ASSIGN_OR_RETURN(
      use.n_tokens, file->restore_rows(rows, static_cast<std::int32_t>(same - stream.begin())));
  if (static_cast<std::size_t>(use.n_tokens) < stream.size()) {
    use.note = fmt::format("--prefix: the prompt begins with {} of the {} tokens in {}",
                           grouped(static_cast<std::uint64_t>(use.n_tokens)),
                           grouped(stream.size()), path);
  }
  return use;
}

}  // namespace minfer::app

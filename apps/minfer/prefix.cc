#include "prefix.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"

namespace minfer::app {
namespace {

Result<std::unique_ptr<engine::SessionFile>> open_prefix(const std::string& path,
                                                         const Loaded& loaded,
                                                         backend::KvFormat format) {
  MINFER_ASSIGN_OR_RETURN(const engine::SessionIdentity identity,
                          session_identity(*loaded.engine, format));
  MINFER_ASSIGN_OR_RETURN(
      auto file, engine::SessionFile::open(path, identity, engine::SessionFile::Mode::kReadOnly));
  if (file->refusal().empty()) return file;
  return unsupported(fmt::format("{} cannot be used: {}", path, file->refusal()));
}

}  // namespace

Result<std::vector<engine::TokenId>> take_prefix(const std::string& path, const Loaded& loaded,
                                                 backend::KvFormat format,
                                                 engine::Session& session) {
  MINFER_ASSIGN_OR_RETURN(const auto file, open_prefix(path, loaded, format));
  std::vector<engine::TokenId> tokens = file->state().stream;
  plan::SequenceRows rows = session.rows();
  MINFER_ASSIGN_OR_RETURN(const std::int32_t n,
                          file->restore_rows(rows, static_cast<std::int32_t>(tokens.size())));
  tokens.resize(static_cast<std::size_t>(n));
  return tokens;
}

Result<PrefixUse> use_prefix(const std::string& path, const Loaded& loaded,
                             const SessionChoice& choice, std::span<const engine::TokenId> prompt) {
  MINFER_ASSIGN_OR_RETURN(const auto file, open_prefix(path, loaded, choice.options.kv_format));
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

#include "engine/draft_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"

namespace minfer::engine {
namespace {

constexpr double kPriors[] = {0.7};

/// As many new tokens as this are a prompt: they are run when they are seen, not with a guess.
constexpr std::size_t kPromptTokens = 64;

}  // namespace

Status check_same_vocabulary(const text::Vocab& model, const text::Vocab& draft) {
  const std::int32_t n = std::min(model.size(), draft.size());
  for (std::int32_t id = 0; id < n; ++id) {
    if (model.piece(id) == draft.piece(id)) continue;
    return invalid_argument(
        fmt::format("the draft model has another vocabulary: token {} is \"{}\" there and \"{}\" "
                    "in the model",
                    id, printable(draft.piece(id)), printable(model.piece(id))));
  }
  const text::Vocab& longer = model.size() > n ? model : draft;
  for (std::int32_t id = n; id < longer.size(); ++id) {
    if (longer.type(id) == text::TokenType::kUnused) continue;
    return invalid_argument(
        fmt::format("the draft model has another vocabulary: {} tokens, and the model {}",
                    draft.size(), model.size()));
  }
  return ok_status();
}

DraftModel::DraftModel(std::unique_ptr<Session> session, std::int64_t n_vocab,
                       std::span<const TokenId> eog)
    : session_(std::move(session)), n_vocab_(n_vocab), eog_(eog.begin(), eog.end()) {}

std::span<const double> DraftModel::priors() const { return kPriors; }

void DraftModel::restart() {
  agreed_ = 0;
  observed_ = 0;
}

Status DraftModel::observe(std::span<const TokenId> history) {
  observed_ = history.size();
  agreed_ = std::min(agreed_, observed_);
  if (history.size() < fed_.size() + kPromptTokens || !grade()) return ok_status();
  MINFER_RETURN_IF_ERROR(rewind(history));
  return feed(history.subspan(fed_.size(), history.size() - fed_.size() - 1)).status();
}

std::optional<std::size_t> DraftModel::grade() {
  const auto n_ctx = static_cast<std::size_t>(session_->n_ctx());
  return observed_ < n_ctx ? std::optional<std::size_t>(0) : std::nullopt;
}

/// Forgets what was guessed and did not come: the session then ends before history's last token.
Status DraftModel::rewind(std::span<const TokenId> history) {
  const std::size_t end = std::min(fed_.size(), history.size() - 1);
  while (agreed_ < end && fed_[agreed_] == history[agreed_]) ++agreed_;
  agreed_ = std::min(agreed_, end);
  MINFER_RETURN_IF_ERROR(session_->truncate(static_cast<std::int32_t>(agreed_)));
  agreed_ = static_cast<std::size_t>(session_->cursor());
  fed_.resize(agreed_);
  return ok_status();
}

Result<std::span<const float>> DraftModel::feed(std::span<const TokenId> tokens) {
  auto logits = session_->advance(tokens);
  if (logits.ok()) fed_.insert(fed_.end(), tokens.begin(), tokens.end());
  return logits;
}

Status DraftModel::propose(std::span<const TokenId> history, std::size_t n,
                           std::vector<TokenId>& out) {
  out.clear();
  MINFER_RETURN_IF_ERROR(rewind(history));
  const auto room = static_cast<std::size_t>(session_->n_ctx()) - history.size();
  n = std::min(n, room + 1);
  auto logits = feed(history.subspan(fed_.size()));
  while (true) {
    MINFER_RETURN_IF_ERROR(logits.status());
    const auto token =
        static_cast<TokenId>(std::max_element(logits->begin(), logits->end()) - logits->begin());
    if (token >= n_vocab_) return ok_status();
    out.push_back(token);
    if (out.size() == n || std::find(eog_.begin(), eog_.end(), token) != eog_.end()) {
      return ok_status();
    }
    logits = feed({&token, 1});
  }
}

}  // namespace minfer::engine

#include "sampling/grammar/lazy_constraint.h"

#include <algorithm>

namespace minfer::sampling {

LazyConstraint::LazyConstraint(std::vector<std::string> triggers,
                               std::unique_ptr<GrammarConstraint> inner)
    : triggers_(std::move(triggers)), inner_(std::move(inner)) {
  for (const std::string& trigger : triggers_) {
    max_tail_ = std::max(max_tail_, trigger.size() - 1);
  }
}

Result<std::unique_ptr<LazyConstraint>> LazyConstraint::create(
    std::vector<std::string> triggers, std::shared_ptr<const Grammar> grammar,
    std::shared_ptr<const GrammarVocab> vocab) {
  const auto empty = [](const std::string& trigger) { return trigger.empty(); };
  if (triggers.empty() || std::ranges::any_of(triggers, empty)) {
    return invalid_argument("a lazily started grammar needs triggers, and none may be empty");
  }
  MINFER_ASSIGN_OR_RETURN(auto inner,
                          GrammarConstraint::create(std::move(grammar), std::move(vocab)));
  std::unique_ptr<LazyConstraint> lazy(new LazyConstraint(std::move(triggers), std::move(inner)));
  MINFER_RETURN_IF_ERROR(lazy->prepare());
  return lazy;
}

Status LazyConstraint::prepare() {
  const GrammarVocab& vocab = inner_->vocab();
  free_mask_.resize(vocab.mask_words());
  for (TokenId id = 0; id < vocab.size(); ++id) {
    set_bit(free_mask_, id);
    if (vocab.kind(id) == TokenKind::kHidden) hidden_.push_back(id);
    if (find_trigger(vocab.bytes(id)) == std::string::npos) continue;
    containing_.push_back(id);
    MINFER_RETURN_IF_ERROR(judge(id, free_mask_));
  }
  return ok_status();
}

void LazyConstraint::reset() {
  inner_->reset();
  tail_.clear();
  triggered_ = false;
}

/// Where the trigger begins that is complete first, of several the longest; npos: there is none.
std::size_t LazyConstraint::find_trigger(std::string_view text) const {
  std::size_t start = std::string::npos;
  std::size_t end = std::string::npos;
  for (const std::string& trigger : triggers_) {
    const std::size_t at = text.find(trigger);
    if (at == std::string::npos) continue;
    if (at + trigger.size() < end || (at + trigger.size() == end && at < start)) {
      start = at;
      end = at + trigger.size();
    }
  }
  return start;
}

/// The end of the text with the token behind it; the end of generation writes nothing.
std::string LazyConstraint::behind(TokenId token) const {
  const GrammarVocab& vocab = inner_->vocab();
  std::string text = tail_;
  if (vocab.kind(token) != TokenKind::kEndOfGeneration) text += vocab.bytes(token);
  return text;
}

Result<bool> LazyConstraint::allows(TokenId token) {
  if (triggered_) return inner_->allows(token);
  const GrammarVocab& vocab = inner_->vocab();
  if (!vocab.contains(token)) return false;
  const std::string text = behind(token);
  const std::size_t start = find_trigger(text);
  if (start == std::string::npos) return true;
  if (start == tail_.size()) {
    MINFER_ASSIGN_OR_RETURN(const bool whole, inner_->allows(token));
    if (whole) return true;
  }
  return inner_->allows_text(std::string_view(text).substr(start));
}

Status LazyConstraint::accept(TokenId token) {
  if (triggered_) return inner_->accept(token);
  MINFER_CHECK(inner_->vocab().contains(token));
  const std::string text = behind(token);
  const std::size_t start = find_trigger(text);
  if (start == std::string::npos) {
    tail_ = text.substr(text.size() - std::min(text.size(), max_tail_));
    return ok_status();
  }
  triggered_ = true;
  if (start == tail_.size()) {
    MINFER_ASSIGN_OR_RETURN(const bool whole, inner_->allows(token));
    if (whole) return inner_->accept(token);
  }
  return inner_->accept_text(std::string_view(text).substr(start));
}

bool LazyConstraint::begins_trigger() const {
  return std::ranges::any_of(triggers_, [&](std::string_view trigger) {
    for (std::size_t n = std::min(tail_.size(), trigger.size() - 1); n > 0; --n) {
      if (std::string_view(tail_).ends_with(trigger.substr(0, n))) return true;
    }
    return false;
  });
}

Status LazyConstraint::judge(TokenId token, std::span<std::uint64_t> mask) {
  MINFER_ASSIGN_OR_RETURN(const bool allowed, allows(token));
  allowed ? set_bit(mask, token) : clear_bit(mask, token);
  return ok_status();
}

Result<std::span<const std::uint64_t>> LazyConstraint::allowed() {
  if (triggered_) return inner_->allowed();
  if (!begins_trigger()) return std::span<const std::uint64_t>(free_mask_);
  // Only tokens that hold a trigger or complete the one that has begun can be other than free.
  mask_ = free_mask_;
  for (const TokenId token : containing_) MINFER_RETURN_IF_ERROR(judge(token, mask_));
  for (const TokenId token : hidden_) MINFER_RETURN_IF_ERROR(judge(token, mask_));
  const GrammarVocab& vocab = inner_->vocab();
  for (const std::string_view trigger : triggers_) {
    for (std::size_t n = std::min(tail_.size(), trigger.size() - 1); n > 0; --n) {
      if (!std::string_view(tail_).ends_with(trigger.substr(0, n))) continue;
      for (const TokenId token : vocab.tokens_with_prefix(trigger.substr(n))) {
        MINFER_RETURN_IF_ERROR(judge(token, mask_));
      }
    }
  }
  return std::span<const std::uint64_t>(mask_);
}

}  // namespace minfer::sampling

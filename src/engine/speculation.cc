#include "engine/speculation.h"

#include <algorithm>

namespace minfer::engine {
namespace {

/// Tokens of a guess that is only watched.
constexpr std::size_t kWatched = 8;

}  // namespace

SpeculativeSource::SpeculativeSource(RewindableSource& source, Draft& draft, GainOptions gain,
                                     Clock clock, std::span<const TokenId> before)
    : source_(source),
      draft_(draft),
      always_on_(gain.always_on),
      gain_(draft.priors(), gain),
      clock_(std::move(clock)),
      base_(source.cursor() - static_cast<std::int32_t>(before.size())),
      horizon_(source.n_ctx()),
      history_(before.begin(), before.end()) {
  MINFER_CHECK(base_ >= 0);
  draft_.restart();
}

std::int32_t SpeculativeSource::cursor() const {
  return base_ + static_cast<std::int32_t>(history_.size());
}

std::span<const float> SpeculativeSource::row(std::size_t i) const {
  const std::size_t n_vocab = logits_.size() / batch_.size();
  return logits_.subspan(i * n_vocab, n_vocab);
}

bool SpeculativeSource::draft_ok(const Status& status) {
  if (draft_status_.ok() && !status.ok()) draft_status_ = status;
  return draft_status_.ok();
}

Result<std::span<const float>> SpeculativeSource::advance(std::span<const TokenId> tokens) {
  MINFER_CHECK(!tokens.empty());
  const bool one = tokens.size() == 1;
  if (one) watch(tokens[0]);
  if (one && accepted_ + 1 < batch_.size() && batch_[accepted_ + 1] == tokens[0]) {
    history_.push_back(tokens[0]);
    ++accepted_;
    ++counts_.accepted;
    if (draft_status_.ok()) draft_ok(draft_.observe(history_));
    return row(accepted_);
  }
  end_round(/*missed=*/one);
  MINFER_RETURN_IF_ERROR(rewind());
  const std::size_t before = history_.size();
  history_.insert(history_.end(), tokens.begin(), tokens.end());
  if (draft_status_.ok()) draft_ok(draft_.observe(history_));
  auto logits = one ? step() : source_.advance(tokens);
  if (!logits.ok()) {
    batch_.clear();
    const auto held = static_cast<std::size_t>(source_.cursor() - base_);
    history_.resize(std::clamp(held, before, history_.size()));
    if (draft_status_.ok()) draft_ok(draft_.observe(history_));
  }
  return logits;
}

/// Runs the last token of the history, and a draft behind it if there is one.
Result<std::span<const float>> SpeculativeSource::step() {
  const double start = clock_();
  batch_.assign(1, history_.back());
  make_draft();
  const double drafted = clock_();
  auto logits = batch_.size() > 1 ? source_.advance_each(batch_) : source_.advance(batch_);
  if (!logits.ok()) return logits;
  const double end = clock_();
  logits_ = *logits;
  accepted_ = 0;
  if (batch_.size() > 1) {
    ++counts_.rounds;
    counts_.drafted += static_cast<std::int64_t>(batch_.size()) - 1;
    draft_seconds_ = drafted - start;
    verify_seconds_ = end - drafted;
  } else {
    gain_.record_step(end - drafted);
  }
  return row(0);
}

/// Appends a draft to the batch, or starts to watch a guess that is not worth a draft.
void SpeculativeSource::make_draft() {
  if (!draft_status_.ok()) return;
  const std::int32_t limit = std::min(horizon_ - cursor(), source_.max_rows() - 1);
  if (limit < 1) return;
  const auto grade = draft_.grade();
  if (!grade) return;
  const std::int32_t n = gain_.choose(*grade, limit);
  if (n > 0) {
    end_watch(/*missed=*/false);
    std::vector<TokenId>& out = watched_;
    if (!draft_ok(draft_.propose(history_, static_cast<std::size_t>(n), out))) out.clear();
    batch_.insert(batch_.end(), out.begin(), out.end());
    out.clear();
    grade_ = *grade;
  } else if (!always_on_ && watched_.empty()) {
    if (!draft_ok(draft_.propose(history_, kWatched, watched_))) watched_.clear();
    watched_grade_ = *grade;
  }
}

void SpeculativeSource::end_round(bool missed) {
  if (batch_.size() > 1) {
    const std::size_t n = batch_.size() - 1;
    gain_.record_round({.n_drafted = static_cast<std::int32_t>(n),
                        .n_accepted = static_cast<std::int32_t>(accepted_),
                        .draft_seconds = draft_seconds_,
                        .verify_seconds = verify_seconds_});
    gain_.record_guess(grade_, static_cast<std::int32_t>(accepted_), missed && accepted_ < n);
  }
  batch_.clear();
  accepted_ = 0;
}

void SpeculativeSource::watch(TokenId token) {
  if (watched_.empty()) return;
  if (watched_[watched_right_] != token) return end_watch(/*missed=*/true);
  if (++watched_right_ == watched_.size()) end_watch(/*missed=*/false);
}

void SpeculativeSource::end_watch(bool missed) {
  if (watched_.empty()) return;
  gain_.record_guess(watched_grade_, static_cast<std::int32_t>(watched_right_), missed);
  watched_.clear();
  watched_right_ = 0;
}

/// Brings the source back to the cursor. Recurrent state may go back farther; what is missing then
/// runs again.
Status SpeculativeSource::rewind() {
  if (source_.cursor() > cursor()) MINFER_RETURN_IF_ERROR(source_.truncate(cursor()));
  if (source_.cursor() == cursor()) return ok_status();
  if (source_.cursor() < base_) {
    return internal_error("the tokens before a draft were given back and cannot be run again");
  }
  const auto missing =
      std::span(history_).subspan(static_cast<std::size_t>(source_.cursor() - base_));
  return source_.advance(missing).status();
}

Status SpeculativeSource::set_horizon(std::int32_t position) {
  horizon_ = position;
  if (source_.cursor() <= position) return ok_status();
  end_round(/*missed=*/false);
  end_watch(/*missed=*/false);
  return rewind();
}

}  // namespace minfer::engine

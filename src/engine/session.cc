#include "engine/session.h"

#include <algorithm>

namespace minfer::engine {
namespace {

/// Rows of logits kept at once when every position is wanted: bounds the memory, changes no bit.
constexpr std::int32_t kAllOutputsChunk = 64;

}  // namespace

Result<std::unique_ptr<Session>> Session::create(const Engine& engine,
                                                 const SessionOptions& options) {
  std::unique_ptr<Session> session(new Session());
  MINFER_ASSIGN_OR_RETURN(session->forward_, engine.new_forward(options));
  MINFER_ASSIGN_OR_RETURN(session->sequence_, session->forward_->kv().open());
  session->n_ctx_ = options.n_ctx;
  session->batch_size_ = options.batch_size;
  session->rows_.reserve(static_cast<std::size_t>(options.batch_size));
  return session;
}

Session::~Session() {
  if (sequence_ >= 0) forward_->kv().close(sequence_);
}

Result<std::unique_ptr<BranchingSource>> Session::fork() {
  auto forked = forward_->kv().fork(sequence_, cursor());
  if (!forked.ok()) return forked.status().with_context("no room for one more branch");
  std::unique_ptr<Session> session(new Session());
  session->forward_ = forward_;
  session->sequence_ = *forked;
  session->n_ctx_ = n_ctx_;
  session->batch_size_ = batch_size_;
  session->rows_.reserve(static_cast<std::size_t>(batch_size_));
  return std::unique_ptr<BranchingSource>(std::move(session));
}

std::int32_t Session::cursor() const { return forward_->kv().length(sequence_); }

Result<plan::LogitsView> Session::run_chunk(std::span<const TokenId> tokens, bool last_wants_output,
                                            bool all_want_output) {
  rows_.clear();
  std::int32_t position = cursor();
  for (TokenId token : tokens) rows_.push_back({token, position++, sequence_, all_want_output});
  if (last_wants_output) rows_.back().wants_output = true;
  return forward_->run(rows_);
}

Result<std::span<const float>> Session::advance(std::span<const TokenId> tokens) {
  MINFER_CHECK(!tokens.empty());
  const auto batch = static_cast<std::size_t>(batch_size_);
  while (tokens.size() > batch) {
    MINFER_RETURN_IF_ERROR(run_chunk(tokens.first(batch), false, false).status());
    tokens = tokens.subspan(batch);
  }
  MINFER_ASSIGN_OR_RETURN(const plan::LogitsView logits, run_chunk(tokens, true, false));
  return logits.row(0);
}

Status Session::extend(std::span<const TokenId> tokens) {
  while (!tokens.empty()) {
    const auto chunk = tokens.first(std::min(tokens.size(), static_cast<std::size_t>(batch_size_)));
    MINFER_RETURN_IF_ERROR(run_chunk(chunk, false, false).status());
    tokens = tokens.subspan(chunk.size());
  }
  return ok_status();
}

Result<std::span<const float>> Session::advance_each(std::span<const TokenId> tokens) {
  MINFER_ASSIGN_OR_RETURN(const plan::LogitsView logits, run_chunk(tokens, false, true));
  return std::span<const float>(logits.data,
                                static_cast<std::size_t>(logits.n_rows * logits.n_vocab));
}

Status Session::advance_all(
    std::span<const TokenId> tokens,
    const std::function<Status(std::size_t, std::span<const float>)>& consume) {
  const auto batch = static_cast<std::size_t>(std::min(batch_size_, kAllOutputsChunk));
  for (std::size_t begin = 0; begin < tokens.size(); begin += batch) {
    const auto chunk = tokens.subspan(begin, std::min(batch, tokens.size() - begin));
    MINFER_ASSIGN_OR_RETURN(const plan::LogitsView logits, run_chunk(chunk, false, true));
    for (std::int32_t i = 0; i < logits.n_rows; ++i) {
      MINFER_RETURN_IF_ERROR(consume(begin + static_cast<std::size_t>(i), logits.row(i)));
    }
  }
  return ok_status();
}

Result<plan::LogitsView> advance_together(std::span<Session* const> sessions,
                                          std::span<const TokenId> tokens) {
  std::vector<plan::Row>& rows = sessions.front()->rows_;
  rows.clear();
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    MINFER_CHECK(sessions[i]->forward_ == sessions.front()->forward_);
    rows.push_back({tokens[i], sessions[i]->cursor(), sessions[i]->sequence_, true});
  }
  return sessions.front()->forward_->run(rows);
}

Status Session::truncate(std::int32_t n) { return forward_->kv().truncate(sequence_, n); }

}  // namespace minfer::engine

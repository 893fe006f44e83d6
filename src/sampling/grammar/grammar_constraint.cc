#include "sampling/grammar/grammar_constraint.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "sampling/grammar/scanner.h"

namespace minfer::sampling {
namespace {

// Smaller subtrees are walked: to find out about loops would cost more.
constexpr std::uint32_t kWorthJudging = 4;
constexpr std::size_t kMaxJudgedConfigs = 64;
// Few tokens have more characters.
constexpr std::uint64_t kMaxReadToEnd = 24;

}  // namespace

GrammarConstraint::GrammarConstraint(std::shared_ptr<const Grammar> grammar,
                                     std::shared_ptr<const GrammarVocab> vocab)
    : grammar_(std::move(grammar)),
      vocab_(std::move(vocab)),
      machine_(grammar_->program()),
      live_(vocab_->max_bytes() + 2, kDead),
      partials_(vocab_->max_bytes() + 1),
      n_chars_(vocab_->max_bytes() + 1) {
  machine_.set_horizon(vocab_->max_chars());
  for (const CharClass& set : grammar_->program().classes) {
    class_groups_.push_back(groups_inside(set));
    class_touches_.push_back(groups_touched(set));
  }
}

Result<std::unique_ptr<GrammarConstraint>> GrammarConstraint::create(
    std::shared_ptr<const Grammar> grammar, std::shared_ptr<const GrammarVocab> vocab) {
  std::unique_ptr<GrammarConstraint> constraint(
      new GrammarConstraint(std::move(grammar), std::move(vocab)));
  MINFER_RETURN_IF_ERROR(constraint->resolve_references());
  MINFER_RETURN_IF_ERROR(constraint->start());
  return constraint;
}

Status GrammarConstraint::resolve_references() {
  const Program& program = grammar_->program();
  for (const TokenReference& reference : program.tokens) {
    const std::string& rule = program.rules[reference.rule].name;
    TokenId id = static_cast<TokenId>(reference.id);
    if (reference.id < 0) {
      id = vocab_->find(reference.text);
      if (id < 0) {
        return grammar_error(reference.place, rule,
                             fmt::format("the model has no token {}", printable(reference.text)));
      }
    } else if (!vocab_->contains(id)) {
      return grammar_error(
          reference.place, rule,
          fmt::format("the model has no token [{}], only 0 to {}", id, vocab_->size() - 1));
    }
    references_.push_back(id);
  }
  return ok_status();
}

Status GrammarConstraint::start() {
  partial_ = {};
  MINFER_ASSIGN_OR_RETURN(live_[0], machine_.start());
  return ok_status();
}

void GrammarConstraint::reset() {
  // create() has seen that the start is within the limits.
  MINFER_CHECK(start().ok());
}

/// Makes room where the machine has grown too large; what is kept by numbers of states goes. The
/// first `n_live` of live_ stay.
void GrammarConstraint::relieve(std::size_t n_live) {
  if (!machine_.crowded()) return;
  machine_.compact(std::span(live_).first(n_live));
  loops_.clear();
  loops_of_.clear();
  masks_.clear();
}

bool GrammarConstraint::refers_to(std::uint32_t reference, TokenId token) const {
  const bool same = references_[reference] == token;
  if (!grammar_->program().tokens[reference].negated) return same;
  return !same && vocab_->kind(token) == TokenKind::kText;
}

Result<StateId> GrammarConstraint::behind_text(std::string_view bytes, PartialChar& partial) {
  StateId state = live_[0];
  for (const char byte : bytes) {
    MINFER_ASSIGN_OR_RETURN(state,
                            step_byte(machine_, state, partial, static_cast<std::uint8_t>(byte)));
    if (state == kDead) break;
  }
  return state;
}

Result<bool> GrammarConstraint::allows_text(std::string_view bytes) {
  PartialChar partial = partial_;
  MINFER_ASSIGN_OR_RETURN(const StateId behind, behind_text(bytes, partial));
  return behind != kDead;
}

Result<bool> GrammarConstraint::allows(TokenId token) {
  if (!vocab_->contains(token)) return false;
  const TokenKind kind = vocab_->kind(token);
  if (kind == TokenKind::kEndOfGeneration && is_complete()) return true;
  if (partial_.empty()) {
    machine_.token_references(live_[0], met_references_);
    const auto refers = [&](std::uint32_t reference) { return refers_to(reference, token); };
    if (std::ranges::any_of(met_references_, refers)) return true;
  }
  if (kind != TokenKind::kText) return false;
  return allows_text(vocab_->bytes(token));
}

Status GrammarConstraint::accept_text(std::string_view bytes) {
  PartialChar partial = partial_;
  MINFER_ASSIGN_OR_RETURN(const StateId behind, behind_text(bytes, partial));
  if (behind == kDead) return internal_error("a text was taken that the grammar does not allow");
  live_[0] = behind;
  partial_ = partial;
  relieve(1);
  return ok_status();
}

Status GrammarConstraint::accept(TokenId token) {
  MINFER_CHECK(vocab_->contains(token));
  PartialChar partial = partial_;
  StateId behind = kDead;
  if (vocab_->kind(token) == TokenKind::kText) {
    MINFER_ASSIGN_OR_RETURN(behind, behind_text(vocab_->bytes(token), partial));
  }
  if (partial_.empty()) {
    const Program& program = grammar_->program();
    const auto accepts = [&](const TokenReference& reference) {
      return refers_to(static_cast<std::uint32_t>(&reference - program.tokens.data()), token);
    };
    MINFER_ASSIGN_OR_RETURN(const StateId named, machine_.step_token(live_[0], accepts));
    if (behind == kDead) partial = {};
    if (named != kDead && !partial.empty()) {
      return unsupported(fmt::format(
          "the grammar reads token {} both whole and as text that ends inside a character", token));
    }
    MINFER_ASSIGN_OR_RETURN(behind, machine_.merged(behind, named));
  }
  if (behind == kDead) {
    // The text ends here.
    if (vocab_->kind(token) == TokenKind::kEndOfGeneration && is_complete()) return ok_status();
    return internal_error(
        fmt::format("token {} was taken, which the grammar does not allow", token));
  }
  live_[0] = behind;
  partial_ = partial;
  relieve(1);
  return ok_status();
}

Result<std::span<const std::uint64_t>> GrammarConstraint::allowed() {
  MINFER_ASSIGN_OR_RETURN(StateId folded, machine_.folded(live_[0]));
  const auto key = [&] { return std::uint64_t{folded} << 32 | partial_.packed(); };
  auto at = masks_.find(key());
  if (at == masks_.end()) {
    std::vector<std::uint64_t> mask(vocab_->mask_words());
    MINFER_RETURN_IF_ERROR(make_mask(folded, mask));
    // The walk may have given the states new numbers.
    MINFER_ASSIGN_OR_RETURN(folded, machine_.folded(live_[0]));
    if (masks_.size() == kMaxMasks) {
      const auto use = [](const auto& entry) { return entry.second.last_use; };
      masks_.erase(std::ranges::min_element(masks_, {}, use));
    }
    at = masks_.emplace(key(), Mask{std::move(mask), 0}).first;
    ++n_masks_made_;
  }
  at->second.last_use = ++n_uses_;
  return std::span<const std::uint64_t>(at->second.bits);
}

Status GrammarConstraint::make_mask(StateId folded, std::span<std::uint64_t> mask) {
  if (partial_.empty()) add_references(mask);
  if (is_complete()) {
    for (const TokenId id : vocab_->end_of_generation()) set_bit(mask, id);
  }
  live_[1] = folded;
  return walk(mask);
}

void GrammarConstraint::add_references(std::span<std::uint64_t> mask) {
  machine_.token_references(live_[0], met_references_);
  for (const std::uint32_t reference : met_references_) {
    const TokenId named = references_[reference];
    if (!grammar_->program().tokens[reference].negated) {
      set_bit(mask, named);
      continue;
    }
    const bool before = has_bit(mask, named);
    const std::span<const std::uint64_t> text = vocab_->text_mask();
    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] |= text[i];
    if (!before) clear_bit(mask, named);
  }
}

/// Marks the text tokens behind live_[1], node by node in the trie's order; the states of the path
/// to the node stand in live_.
Status GrammarConstraint::walk(std::span<std::uint64_t> mask) {
  const std::span<const GrammarVocab::Node> nodes = vocab_->nodes();
  partials_[0] = partial_;
  for (std::uint32_t i = 1; i < nodes[0].end;) {
    const GrammarVocab::Node& node = nodes[i];
    const StateId before = live_[node.depth];
    PartialChar partial = partials_[node.depth - 1U];
    StateId state = Machine::kUnknown;
    if (partial.empty()) {
      if (wants_loops(before, node)) MINFER_RETURN_IF_ERROR(find_loops(before));
      if (loops_through(before, node)) {
        mark(mask, node.first_token, nodes[node.end].first_token);
        i = node.end;
        continue;
      }
      if (const SelfLoop* loop = ends_alone(before, node)) {
        mark_short(mask, node, n_chars_[node.depth - 1U] + loop->characters);
        i = node.end;
        continue;
      }
      if (node.byte < 128) state = machine_.known_step(before, node.byte);
    }
    const bool known = state != Machine::kUnknown;
    if (!known) {
      MINFER_ASSIGN_OR_RETURN(state, step_byte(machine_, before, partial, node.byte));
    }
    if (state == kDead) {
      i = node.end;
      continue;
    }
    mark(mask, node.first_token, nodes[i + 1].first_token);
    live_[node.depth + 1U] = state;
    partials_[node.depth] = partial;
    n_chars_[node.depth] = static_cast<std::uint16_t>(n_chars_[node.depth - 1U] +
                                                      (begins_character(node.byte) ? 1 : 0));
    if (!known) relieve(node.depth + 2U);
    ++i;
  }
  return ok_status();
}

/// Whether it is worth while to find the state's loops for this subtree.
bool GrammarConstraint::wants_loops(StateId state, const GrammarVocab::Node& node) const {
  if (state < loops_of_.size() && loops_of_[state].known) return false;
  const std::uint32_t n_tokens = vocab_->nodes()[node.end].first_token - node.first_token;
  return n_tokens >= kWorthJudging && (node.groups & kBrokenGroup) == 0;
}

/// Whether all tokens from `node` on are allowed because a class that leads back to itself reads
/// every character of them. Says no for a state whose loops are not known.
bool GrammarConstraint::loops_through(StateId state, const GrammarVocab::Node& node) const {
  if (state >= loops_of_.size()) return false;
  // No loop has the group of what is broken.
  const LoopSpan span = loops_of_[state];
  for (std::uint32_t i = span.first; i < span.first + span.count; ++i) {
    const SelfLoop& loop = loops_[i];
    if ((node.groups & ~loop.groups) == 0 && node.max_chars <= loop.characters) return true;
  }
  return false;
}

Status GrammarConstraint::find_loops(StateId state) {
  const auto first = static_cast<std::uint32_t>(loops_.size());
  const std::span<const Machine::Config> span = machine_.configs(state);
  // A closure may move the machine's sets.
  std::vector<Machine::Config> configs;
  if (span.size() <= kMaxJudgedConfigs) configs.assign(span.begin(), span.end());
  for (const Machine::Config& config : configs) {
    const Instruction& at = grammar_->program().code[config.pc];
    if (at.op != Op::kChar || class_groups_[at.arg] == 0) continue;
    MINFER_ASSIGN_OR_RETURN(const Machine::SelfLoop found, machine_.self_loop(config));
    if (found.characters == 0) continue;
    SelfLoop loop{class_groups_[at.arg], found.characters, 0};
    MINFER_RETURN_IF_ERROR(find_alone(state, config, loop));
    loops_.push_back(loop);
  }
  if (loops_of_.size() <= state) loops_of_.resize(state + std::size_t{1});
  loops_of_[state] = {first, static_cast<std::uint32_t>(loops_.size()) - first, true};
  return ok_status();
}

/// Reads the loop to its end, and looks on the way for what else reads its characters.
Status GrammarConstraint::find_alone(StateId state, Machine::Config config, SelfLoop& loop) {
  if (loop.characters > kMaxReadToEnd) return ok_status();
  CharGroups touched = 0;
  const auto touch = [&](bool but_config) {
    for (const Machine::Config& other : machine_.configs(state)) {
      const Instruction& at = grammar_->program().code[other.pc];
      if (at.op != Op::kChar || (but_config && other == config)) continue;
      touched |= class_touches_[at.arg];
    }
  };
  for (std::uint64_t left = loop.characters; left > 0; --left) {
    touch(true);
    MINFER_ASSIGN_OR_RETURN(const Machine::SelfLoop found, machine_.self_loop(config));
    // The last one leads to no other; before it each must.
    if (found.characters != (left > 1 ? left : 0)) return ok_status();
    state = found.behind;
    config = found.next;
  }
  touch(false);
  loop.alone = loop.groups & ~touched;
  return ok_status();
}

/// The loop that alone reads the characters from `node` on, if there is one.
const GrammarConstraint::SelfLoop* GrammarConstraint::ends_alone(
    StateId state, const GrammarVocab::Node& node) const {
  if (state >= loops_of_.size()) return nullptr;
  const LoopSpan span = loops_of_[state];
  for (std::uint32_t i = span.first; i < span.first + span.count; ++i) {
    if ((node.groups & ~loops_[i].alone) == 0) return &loops_[i];
  }
  return nullptr;
}

/// Marks the tokens from `node` on that have at most so many characters.
void GrammarConstraint::mark_short(std::span<std::uint64_t> mask, const GrammarVocab::Node& node,
                                   std::uint64_t max_chars) const {
  const std::uint32_t last = vocab_->nodes()[node.end].first_token;
  for (std::uint32_t i = node.first_token; i < last; ++i) {
    if (vocab_->chars_in_order()[i] <= max_chars) set_bit(mask, vocab_->tokens_in_order()[i]);
  }
}

void GrammarConstraint::mark(std::span<std::uint64_t> mask, std::uint32_t first,
                             std::uint32_t last) const {
  for (const TokenId id : vocab_->tokens_in_order().subspan(first, last - first)) set_bit(mask, id);
}

}  // namespace minfer::sampling

// Any bytes as a grammar, and a text behind a NUL: no crash, no undefined behaviour, no run out of
// bounds; the mask of a small vocabulary is what its tokens' bytes say, and reading a text at once
// or byte by byte is the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sampling/grammar/lazy_constraint.h"

namespace {

namespace sampling = minfer::sampling;
using sampling::GrammarToken;
using sampling::TokenKind;

std::shared_ptr<const sampling::GrammarVocab> vocab() {
  static const GrammarToken kTokens[] = {{"a"},
                                         {"b"},
                                         {"ab"},
                                         {"aaaaaa"},
                                         {"\""},
                                         {"\":"},
                                         {" "},
                                         {"\n"},
                                         {"\xC3"},
                                         {"\xA9"},
                                         {"\xF0\x9F"},
                                         {"\xA6\x99"},
                                         {"1"},
                                         {"12"},
                                         {"{\""},
                                         {"}]"},
                                         {"\xFF"},
                                         {"é1"},
                                         {"<|end|>", TokenKind::kEndOfGeneration},
                                         {"<|t|>", TokenKind::kHidden}};
  static const auto kVocab = std::make_shared<const sampling::GrammarVocab>(kTokens);
  return kVocab;
}

void check(bool holds) {
  if (!holds) __builtin_trap();
}

/// The mask agrees with each token; the first allowed one at or behind `wanted` is taken.
bool step(sampling::Constraint& constraint, std::uint8_t wanted) {
  const auto mask = constraint.allowed();
  if (!mask.ok()) return false;
  const std::uint64_t bits = mask->front();
  const sampling::TokenId n = vocab()->size();
  sampling::TokenId chosen = -1;
  for (sampling::TokenId i = 0; i < n; ++i) {
    const sampling::TokenId id = (wanted + i) % n;
    const auto allows = constraint.allows(id);
    if (!allows.ok()) return false;
    check(*allows == ((bits >> id & 1) != 0));
    if (*allows && chosen < 0) chosen = id;
  }
  return chosen >= 0 && vocab()->kind(chosen) != TokenKind::kEndOfGeneration &&
         constraint.accept(chosen).ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = all.find('\0');
  const std::string_view text = cut == all.npos ? std::string_view() : all.substr(cut + 1);
  const auto grammar = sampling::Grammar::compile(all.substr(0, cut));
  if (!grammar.ok()) return 0;

  const auto at_once = sampling::grammar_accepts(**grammar, text);
  auto state = sampling::GrammarState::create(*grammar);
  if (!state.ok()) return 0;
  for (const char byte : text) {
    if (!state->accept({&byte, 1}).ok()) return 0;
  }
  if (at_once.ok()) check(*at_once == state->is_complete());

  auto constraint = sampling::GrammarConstraint::create(*grammar, vocab());
  if (!constraint.ok()) return 0;
  (*constraint)->set_crowded_states(size % 64 + 3);
  auto lazy = sampling::LazyConstraint::create({"ab", "{\""}, *grammar, vocab());
  check(lazy.ok());
  for (const char wanted : text.substr(0, 12)) {
    const auto byte = static_cast<std::uint8_t>(wanted);
    if (!step(**constraint, byte) || !step(**lazy, byte)) break;
  }
  return 0;
}

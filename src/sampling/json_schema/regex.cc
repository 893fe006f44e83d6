#include "sampling/json_schema/regex.h"

#include <algorithm>
#include <limits>
#include <map>

#include "sampling/json_schema/regex_parser.h"

namespace minfer::sampling::schema {
namespace {

constexpr std::size_t kMaxNfaNodes = 50'000;
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// A node reads one character of `chars` and goes to `next`, or reads nothing and goes to all of
// `next`, `other`: always, or where the text begins or ends.
struct NfaNode {
  enum class Kind { kRead, kGo, kStart, kEnd };
  Kind kind = Kind::kGo;
  CharSet chars;
  std::uint32_t next = kNone;
  std::uint32_t other = kNone;
};

// Thompson's construction, from the end to the start: each build() gives the node from which its
// part and then `after` are read.
class NfaBuilder {
 public:
  std::vector<NfaNode> nodes;

  std::uint32_t add(NfaNode node) {
    if (nodes.size() >= kMaxNfaNodes) {
      overflow = true;
      return 0;
    }
    nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(nodes.size() - 1);
  }

  std::uint32_t build(const RegexNode& node, std::uint32_t after) {
    using Kind = RegexNode::Kind;
    switch (node.kind) {
      case Kind::kChars:
        return add({NfaNode::Kind::kRead, node.chars, after, kNone});
      case Kind::kStart:
        return add({NfaNode::Kind::kStart, {}, after, kNone});
      case Kind::kEnd:
        return add({NfaNode::Kind::kEnd, {}, after, kNone});
      case Kind::kRepeat:
        return repeat(node, after);
      case Kind::kChoice: {
        std::uint32_t first = build(node.children.back(), after);
        for (std::size_t i = node.children.size() - 1; i-- > 0 && !overflow;)
          first = add({NfaNode::Kind::kGo, {}, build(node.children[i], after), first});
        return first;
      }
      case Kind::kSequence:
        for (std::size_t i = node.children.size(); i-- > 0 && !overflow;)
          after = build(node.children[i], after);
        return after;
    }
    return after;
  }

  bool overflow = false;

 private:
  std::uint32_t repeat(const RegexNode& node, std::uint32_t after) {
    const RegexNode& body = node.children[0];
    if (!node.max) {
      const std::uint32_t loop = add({NfaNode::Kind::kGo, {}, kNone, after});
      const std::uint32_t once = build(body, loop);
      nodes[loop].next = once;
      after = loop;
    } else {
      const std::uint32_t out = after;
      for (std::uint32_t i = node.min; i < *node.max && !overflow; ++i)
        after = add({NfaNode::Kind::kGo, {}, build(body, after), out});
    }
    for (std::uint32_t i = 0; i < node.min && !overflow; ++i) after = build(body, after);
    return after;
  }
};

using Set = std::vector<std::uint32_t>;  // sorted nodes of kind kRead or kEnd, or the match alone

class Subsets {
 public:
  Subsets(const std::vector<NfaNode>& nodes, std::uint32_t match, std::size_t budget)
      : nodes_(nodes), match_(match), budget_(budget) {
    find_classes();
    mark_.resize(nodes.size(), 0);
  }

  // Nothing where that takes too much work.
  std::optional<Dfa> run(std::uint32_t start) {
    id_of(closure({start}, true, false), true);
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      if (sets_.size() > kMaxStates || work_ > budget_) return std::nullopt;
      const Set set = sets_[i];
      std::map<std::uint32_t, CharSet> edges;
      for (std::size_t c = 0; c < classes_.size(); ++c) {
        Set next;
        for (const std::uint32_t n : set) {
          if (nodes_[n].kind == NfaNode::Kind::kRead && reads_[n][c])
            next.push_back(nodes_[n].next);
        }
        work_ += set.size() + 1;
        if (next.empty()) continue;
        edges[id_of(closure(next, false, false), false)].add(classes_[c]);
      }
      for (auto& [to, on] : edges) out_.states[i].edges.push_back({std::move(on), to});
    }
    return trim(out_);
  }

  [[nodiscard]] std::size_t work() const { return work_; }

 private:
  // The coarsest classes of characters between which no node tells a difference.
  void find_classes() {
    std::vector<char32_t> cuts{0};
    for (const NfaNode& node : nodes_) {
      for (const auto& [first, last] : node.chars.ranges()) {
        cuts.push_back(first);
        if (last < 0x10FFFF) cuts.push_back(last + 1);
      }
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::map<CharSet, std::size_t, bool (*)(const CharSet&, const CharSet&)> sets(
        [](const CharSet& a, const CharSet& b) { return a.ranges() < b.ranges(); });
    for (const NfaNode& node : nodes_) {
      if (node.kind == NfaNode::Kind::kRead) sets.emplace(node.chars, sets.size());
    }
    work_ += cuts.size() * sets.size();
    if (work_ > budget_) return;
    std::map<std::vector<bool>, std::size_t> by_members;
    std::vector<std::vector<bool>> members;
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      std::vector<bool> in(sets.size());
      for (const auto& [set, index] : sets) in[index] = set.contains(cuts[i]);
      const auto [place, fresh] = by_members.emplace(in, classes_.size());
      if (fresh) {
        classes_.emplace_back();
        members.push_back(in);
      }
      classes_[place->second].add(cuts[i], i + 1 < cuts.size() ? cuts[i + 1] - 1 : 0x10FFFF);
    }
    reads_.resize(nodes_.size());
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].kind != NfaNode::Kind::kRead) continue;
      const std::size_t set = sets.find(nodes_[n].chars)->second;
      for (const auto& in : members) reads_[n].push_back(in[set]);
    }
  }

  Set closure(const Set& from, bool at_start, bool at_end) {
    ++round_;
    Set todo;
    Set out;
    const auto visit = [&](std::uint32_t n) {
      if (n == kNone || mark_[n] == round_) return;
      mark_[n] = round_;
      todo.push_back(n);
    };
    for (const std::uint32_t n : from) visit(n);
    while (!todo.empty()) {
      const std::uint32_t n = todo.back();
      todo.pop_back();
      ++work_;
      if (n == match_) return {match_};
      const NfaNode& node = nodes_[n];
      switch (node.kind) {
        case NfaNode::Kind::kRead:
          out.push_back(n);
          break;
        case NfaNode::Kind::kGo:
          visit(node.next);
          visit(node.other);
          break;
        case NfaNode::Kind::kStart:
          if (at_start) visit(node.next);
          break;
        case NfaNode::Kind::kEnd:
          out.push_back(n);
          if (at_end) visit(node.next);
          break;
      }
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  std::uint32_t id_of(const Set& set, bool at_start) {
    // The empty text is at its start and at its end, so the first state is nobody else's.
    if (!at_start) {
      if (const auto known = ids_.find(set); known != ids_.end()) return known->second;
    }
    const auto id = static_cast<std::uint32_t>(sets_.size());
    if (!at_start) ids_.emplace(set, id);
    sets_.push_back(set);
    Dfa::State state;
    const Set at_end = closure(set, at_start, true);
    state.accepts = at_end.size() == 1 && at_end[0] == match_;
    out_.states.push_back(std::move(state));
    return id;
  }

  const std::vector<NfaNode>& nodes_;
  std::uint32_t match_;
  std::vector<CharSet> classes_;
  std::vector<std::vector<bool>> reads_;  // [node][class]
  std::vector<std::size_t> mark_;         // the round in which a node was visited
  std::size_t round_ = 0;
  std::size_t budget_;
  std::size_t work_ = 0;
  std::map<Set, std::uint32_t> ids_;
  std::vector<Set> sets_;
  Dfa out_;
};

}  // namespace

Result<Dfa> regex_to_dfa(std::string_view pattern, std::size_t& budget) {
  MINFER_ASSIGN_OR_RETURN(const RegexNode tree, parse_regex(pattern));
  NfaBuilder nfa;
  // The match goes on over whatever follows; before it, any characters are skipped.
  const std::uint32_t match = nfa.add({NfaNode::Kind::kRead, CharSet::all(), 0, kNone});
  const std::uint32_t body = nfa.build(tree, match);
  const std::uint32_t skip = nfa.add({NfaNode::Kind::kRead, CharSet::all(), kNone, kNone});
  const std::uint32_t start = nfa.add({NfaNode::Kind::kGo, {}, skip, body});
  if (nfa.overflow) return unsupported("the pattern's counts are too high");
  nfa.nodes[skip].next = start;
  Subsets subsets(nfa.nodes, match, budget);
  std::optional<Dfa> dfa = subsets.run(start);
  budget -= std::min(budget, subsets.work());
  if (!dfa) return unsupported("the pattern needs an automaton that is too big");
  return *std::move(dfa);
}

}  // namespace minfer::sampling::schema

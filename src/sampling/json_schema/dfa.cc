#include "sampling/json_schema/dfa.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/utf8.h"

namespace minfer::sampling::schema {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

std::vector<char> states_that_end(const Dfa& dfa) {
  std::vector<std::vector<std::uint32_t>> from(dfa.states.size());
  std::vector<char> ends(dfa.states.size(), 0);
  std::vector<std::uint32_t> todo;
  for (std::uint32_t s = 0; s < dfa.states.size(); ++s) {
    for (const Dfa::Edge& edge : dfa.states[s].edges) from[edge.to].push_back(s);
    if (!dfa.states[s].accepts) continue;
    ends[s] = 1;
    todo.push_back(s);
  }
  while (!todo.empty()) {
    const std::uint32_t s = todo.back();
    todo.pop_back();
    for (const std::uint32_t before : from[s]) {
      if (ends[before]) continue;
      ends[before] = 1;
      todo.push_back(before);
    }
  }
  return ends;
}

// The state that a pair of states becomes; kNone is the state that refuses everything.
class Pairs {
 public:
  std::uint32_t id(std::uint32_t a, std::uint32_t b) {
    const std::uint64_t key = std::uint64_t{a} << 32 | b;
    const auto [place, fresh] = ids_.emplace(key, static_cast<std::uint32_t>(order_.size()));
    if (fresh) order_.emplace_back(a, b);
    return place->second;
  }
  [[nodiscard]] std::size_t size() const { return order_.size(); }
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> operator[](std::size_t i) const {
    return order_[i];
  }

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> ids_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order_;
};

CharSet unhandled(const Dfa::State& state) {
  CharSet handled;
  for (const Dfa::Edge& edge : state.edges) handled.add(edge.on);
  return handled.complement();
}

}  // namespace

Dfa Dfa::anything() {
  Dfa out;
  out.states.push_back({{{CharSet::all(), 0}}, true});
  return out;
}

Dfa Dfa::of_words(const std::vector<std::string>& words) {
  Dfa out;
  out.states.emplace_back();
  for (const std::string& word : words) {
    std::uint32_t at = 0;
    for (std::size_t i = 0; i < word.size();) {
      const Char c = decode_char(word, i);
      i += c.length;
      const CharSet on = CharSet::of(c.code);
      const auto& edges = out.states[at].edges;
      const auto edge =
          std::find_if(edges.begin(), edges.end(), [&](const Edge& e) { return e.on == on; });
      if (edge != edges.end()) {
        at = edge->to;
        continue;
      }
      const auto next = static_cast<std::uint32_t>(out.states.size());
      out.states[at].edges.push_back({on, next});
      out.states.emplace_back();
      at = next;
    }
    out.states[at].accepts = true;
  }
  return out;
}

std::optional<Dfa> Dfa::of_length(std::uint64_t min, std::optional<std::uint64_t> max) {
  const std::uint64_t last = max ? *max : min;
  if (last >= kMaxStates) return std::nullopt;
  Dfa out;
  if (max && min > *max) {
    out.states.emplace_back();
    return out;
  }
  for (std::uint64_t i = 0; i <= last; ++i) {
    State state;
    state.accepts = i >= min;
    if (i < last) state.edges.push_back({CharSet::all(), static_cast<std::uint32_t>(i + 1)});
    if (i == last && !max) state.edges.push_back({CharSet::all(), static_cast<std::uint32_t>(i)});
    out.states.push_back(std::move(state));
  }
  return out;
}

bool Dfa::accepts(std::string_view text) const {
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < text.size();) {
    const Char c = decode_char(text, i);
    i += c.length;
    const auto& edges = states[at].edges;
    const auto edge = std::find_if(edges.begin(), edges.end(),
                                   [&](const Edge& e) { return e.on.contains(c.code); });
    if (edge == edges.end()) return false;
    at = edge->to;
  }
  return states[at].accepts;
}

bool Dfa::empty() const { return !states_that_end(*this)[0]; }

Dfa Dfa::complement() const {
  Dfa out = *this;
  const auto sink = static_cast<std::uint32_t>(out.states.size());
  for (State& state : out.states) {
    state.accepts = !state.accepts;
    if (CharSet rest = unhandled(state); !rest.empty())
      state.edges.push_back({std::move(rest), sink});
  }
  out.states.push_back({{{CharSet::all(), sink}}, true});
  return trim(out);
}

std::optional<Dfa> combine(const Dfa& a, const Dfa& b,
                           const std::function<bool(bool, bool)>& keep) {
  Pairs pairs;
  Dfa out;
  pairs.id(0, 0);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (i >= kMaxStates) return std::nullopt;
    const auto [s, t] = pairs[i];
    static const Dfa::State kRefuses;
    const Dfa::State& left = s == kNone ? kRefuses : a.states[s];
    const Dfa::State& right = t == kNone ? kRefuses : b.states[t];
    Dfa::State state;
    state.accepts = keep(left.accepts, right.accepts);
    const auto connect = [&](const CharSet& on, std::uint32_t to_a, std::uint32_t to_b) {
      if (!on.empty()) state.edges.push_back({on, pairs.id(to_a, to_b)});
    };
    const CharSet not_left = unhandled(left);
    const CharSet not_right = unhandled(right);
    for (const Dfa::Edge& e : left.edges) {
      for (const Dfa::Edge& f : right.edges) connect(e.on.intersect(f.on), e.to, f.to);
      if (keep(true, false)) connect(e.on.intersect(not_right), e.to, kNone);
    }
    if (keep(false, true)) {
      for (const Dfa::Edge& f : right.edges) connect(f.on.intersect(not_left), kNone, f.to);
    }
    out.states.push_back(std::move(state));
  }
  return trim(out);
}

std::optional<Dfa> intersect(const Dfa& a, const Dfa& b) {
  return combine(a, b, [](bool x, bool y) { return x && y; });
}

std::optional<Dfa> unite(const Dfa& a, const Dfa& b) {
  return combine(a, b, [](bool x, bool y) { return x || y; });
}

Dfa trim(const Dfa& dfa) {
  const std::vector<char> ends = states_that_end(dfa);
  std::vector<std::uint32_t> ids(dfa.states.size(), kNone);
  std::vector<std::uint32_t> order{0};
  ids[0] = 0;
  Dfa out;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Dfa::State& state = dfa.states[order[i]];
    Dfa::State kept;
    kept.accepts = state.accepts;
    for (const Dfa::Edge& edge : state.edges) {
      if (!ends[edge.to]) continue;
      if (ids[edge.to] == kNone) {
        ids[edge.to] = static_cast<std::uint32_t>(order.size());
        order.push_back(edge.to);
      }
      const auto same = std::find_if(kept.edges.begin(), kept.edges.end(),
                                     [&](const Dfa::Edge& e) { return e.to == ids[edge.to]; });
      if (same != kept.edges.end()) {
        same->on.add(edge.on);
      } else {
        kept.edges.push_back({edge.on, ids[edge.to]});
      }
    }
    out.states.push_back(std::move(kept));
  }
  return out;
}

}  // namespace minfer::sampling::schema

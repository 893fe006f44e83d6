#include "text/special_matcher.h"

#include <algorithm>

namespace minfer::text {
namespace {

struct Entry {
  std::string_view piece;
  std::int32_t id;
  bool control;
};

std::vector<Entry> sorted_entries(const Vocab& vocab) {
  std::vector<Entry> entries;
  for (std::int32_t id = 0; id < vocab.size(); ++id) {
    const TokenType type = vocab.type(id);
    const bool control = type == TokenType::kControl || type == TokenType::kUnknown;
    if ((control || type == TokenType::kUserDefined) && !vocab.piece(id).empty())
      entries.push_back({vocab.piece(id), id, control});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.piece != b.piece ? a.piece < b.piece : a.id < b.id;
  });
  return entries;
}

// The zones with neighbours of equal kind joined, so that a match inside one kind lies in one zone.
std::vector<SpecialZone> joined(std::span<const SpecialZone> zones) {
  std::vector<SpecialZone> out;
  for (const SpecialZone& zone : zones) {
    if (!out.empty() && out.back().parse_special == zone.parse_special) {
      out.back().end = zone.end;
    } else {
      out.push_back(zone);
    }
  }
  return out;
}

// Up to where a control token that starts at `pos` may reach; `pos` where none may start.
std::uint32_t control_end_at(std::span<const SpecialZone> zones, std::uint32_t pos) {
  const auto zone = std::upper_bound(
      zones.begin(), zones.end(), pos,
      [](std::uint32_t at, const SpecialZone& candidate) { return at < candidate.end; });
  return zone != zones.end() && zone->parse_special ? zone->end : pos;
}

}  // namespace

SpecialMatcher::SpecialMatcher(const Vocab& vocab) {
  const std::vector<Entry> entries = sorted_entries(vocab);
  // Breadth first over ranges of the sorted pieces: the children of a node are neighbours.
  struct Range {
    std::size_t first;
    std::size_t last;
    std::size_t depth;
  };
  std::vector<Range> ranges{{0, entries.size(), 0}};
  nodes_.emplace_back();
  for (std::size_t at = 0; at < nodes_.size(); ++at) {
    auto [first, last, depth] = ranges[at];
    if (first < last && entries[first].piece.size() == depth && depth > 0) {
      nodes_[at].id = entries[first].id;
      nodes_[at].control = entries[first].control;
      max_length_ = std::max(max_length_, static_cast<std::uint32_t>(depth));
      while (first < last && entries[first].piece.size() == depth) ++first;
    }
    nodes_[at].first_child = static_cast<std::uint32_t>(nodes_.size());
    while (first < last) {
      const char byte = entries[first].piece[depth];
      std::size_t end = first + 1;
      while (end < last && entries[end].piece[depth] == byte) ++end;
      Node node;
      node.byte = static_cast<unsigned char>(byte);
      if (at == 0) roots_[node.byte] = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back(node);
      ranges.push_back({first, end, depth + 1});
      first = end;
    }
    nodes_[at].n_children = static_cast<std::uint32_t>(nodes_.size()) - nodes_[at].first_child;
  }
}

const SpecialMatcher::Node* SpecialMatcher::child(const Node& node, unsigned char byte) const {
  const auto first = nodes_.begin() + node.first_child;
  const auto last = first + node.n_children;
  const auto found = std::lower_bound(first, last, byte,
                                      [](const Node& n, unsigned char b) { return n.byte < b; });
  return found != last && found->byte == byte ? &*found : nullptr;
}

// The longest token at `begin` of at most `max_length` bytes that does not end inside a taken
// stretch, nor behind `control_end` where that holds for it.
SpecialMatcher::Candidate SpecialMatcher::longest_at(std::string_view text, std::uint32_t begin,
                                                     const Bounds& bounds) const {
  const auto bounded = [&](const Node& node) {
    return node.control || std::ranges::binary_search(bounds.withheld, node.id);
  };
  Candidate best;
  const std::uint32_t root = roots_[static_cast<unsigned char>(text[begin])];
  const Node* node = root == 0 ? nullptr : &nodes_[root];
  for (std::uint32_t length = 1; node != nullptr; ++length) {
    const std::uint32_t end = begin + length;
    if (node->id >= 0 && (end <= bounds.control_end || !bounded(*node)) &&
        (bounds.taken == nullptr || !(*bounds.taken)[end - 1]))
      best = {length, node->id};
    if (length == bounds.max_length || end == text.size()) break;
    node = child(*node, static_cast<unsigned char>(text[end]));
  }
  return best;
}

std::vector<SpecialMatch> SpecialMatcher::find(std::string_view text,
                                               std::span<const SpecialZone> zones,
                                               std::span<const std::int32_t> withheld) const {
  struct Start {
    std::uint32_t begin;
    std::int32_t id;
  };
  const std::vector<SpecialZone> kinds = joined(zones);
  // Starts of matches by length, so that longer ones take their place first.
  std::vector<std::vector<Start>> by_length(max_length_ + 1);
  bool any = false;
  for (std::uint32_t pos = 0; pos < text.size(); ++pos) {
    if (roots_[static_cast<unsigned char>(text[pos])] == 0) continue;
    const Candidate best =
        longest_at(text, pos, {control_end_at(kinds, pos), max_length_, nullptr, withheld});
    if (best.id < 0) continue;
    by_length[best.length].push_back({pos, best.id});
    any = true;
  }
  std::vector<SpecialMatch> matches;
  if (!any) return matches;

  std::vector<bool> taken(text.size(), false);
  for (std::uint32_t length = max_length_; length > 0; --length) {
    std::vector<Start>& starts = by_length[length];
    std::sort(starts.begin(), starts.end(),
              [](const Start& a, const Start& b) { return a.begin < b.begin; });
    for (const Start& start : starts) {
      if (taken[start.begin]) continue;
      const std::uint32_t end = start.begin + length;
      // What is taken is at least this long, so it can't lie strictly inside.
      if (!taken[end - 1]) {
        matches.push_back({start.begin, end, start.id});
        std::fill(taken.begin() + start.begin, taken.begin() + end, true);
        continue;
      }
      const Candidate shorter = longest_at(
          text, start.begin, {control_end_at(kinds, start.begin), length - 1, &taken, withheld});
      if (shorter.id >= 0) by_length[shorter.length].push_back({start.begin, shorter.id});
    }
    starts = {};
  }
  std::sort(matches.begin(), matches.end(),
            [](const SpecialMatch& a, const SpecialMatch& b) { return a.begin < b.begin; });
  return matches;
}

}  // namespace minfer::text

// SpecialMatcher: finds the tokens that stand for themselves in a text.
//
// User-defined tokens match wherever their piece stands; control and unknown tokens, and those that
// are withheld, only where the text is allowed to spell them.
// Owns: a trie over those pieces.
// Invariants: matches do not overlap. Among overlapping candidates the longest wins, then the one
// further left. Time is linear in the text (times the longest piece), whatever the text is.
// Thread-safety: immutable after construction.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/vocab.h"

namespace minfer::text {

/// Where one stretch of a text ends, and whether control tokens may be spelt in it.
struct SpecialZone {
  std::uint32_t end;
  bool parse_special;
};

struct SpecialMatch {
  std::uint32_t begin;
  std::uint32_t end;
  std::int32_t id;
};

class SpecialMatcher {
 public:
  explicit SpecialMatcher(const Vocab& vocab);

  /// All matches in `text`, ascending. `zones` cover the text, ascending. A control token matches
  /// only where it lies wholly inside zones that parse them, and so do the user-defined ones that
  /// are `withheld`, ids in ascending order.
  [[nodiscard]] std::vector<SpecialMatch> find(std::string_view text,
                                               std::span<const SpecialZone> zones,
                                               std::span<const std::int32_t> withheld = {}) const;

 private:
  struct Node {
    std::uint32_t first_child = 0;
    std::uint32_t n_children = 0;
    std::int32_t id = -1;
    unsigned char byte = 0;
    bool control = false;
  };
  struct Candidate {
    std::uint32_t length = 0;
    std::int32_t id = -1;
  };

  [[nodiscard]] const Node* child(const Node& node, unsigned char byte) const;
  /// What bounds a candidate.
  struct Bounds {
    std::uint32_t control_end;
    std::uint32_t max_length;
    const std::vector<bool>* taken;
    std::span<const std::int32_t> withheld;
  };
  [[nodiscard]] Candidate longest_at(std::string_view text, std::uint32_t begin,
                                     const Bounds& bounds) const;

  std::vector<Node> nodes_;
  std::array<std::uint32_t, 256> roots_{};  // by first byte; 0: no piece starts so
  std::uint32_t max_length_ = 0;
};

}  // namespace minfer::text

// CharSet: a set of Unicode characters as sorted ranges.
//
// Invariants: ranges are sorted, do not touch, and hold scalar values alone (no surrogates).
// Thread-safety: values.
#pragma once

#include <utility>
#include <vector>

namespace minfer::sampling::schema {

class CharSet {
 public:
  using Range = std::pair<char32_t, char32_t>;  // first and last, both in the set

  CharSet() = default;
  CharSet(std::initializer_list<Range> ranges);

  static CharSet all();
  static CharSet of(char32_t code) { return {{code, code}}; }

  void add(char32_t first, char32_t last);
  void add(const CharSet& other);
  [[nodiscard]] CharSet complement() const;
  [[nodiscard]] CharSet intersect(const CharSet& other) const;
  [[nodiscard]] bool contains(char32_t code) const;
  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  [[nodiscard]] const std::vector<Range>& ranges() const { return ranges_; }

  friend bool operator==(const CharSet&, const CharSet&) = default;

 private:
  void normalise();

  std::vector<Range> ranges_;
};

}  // namespace minfer::sampling::schema

// NameIndex: finds a name's position in a list, and names that stand there twice.
//
// Invariants: sorted, not hashed, so that no file can craft names that make it slow.
// Thread-safety: immutable after build().
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace minfer::gguf {

class NameIndex {
 public:
  void add(std::string_view name) { entries_.emplace_back(name, entries_.size()); }

  /// Makes find() ready once all names are in; gives a name that was added twice, if there is one.
  std::optional<std::string_view> build() {
    std::sort(entries_.begin(), entries_.end());
    const auto twin =
        std::adjacent_find(entries_.begin(), entries_.end(),
                           [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twin == entries_.end()) return std::nullopt;
    return twin->first;
  }

  /// The position at which `name` was added.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const {
    const auto at = std::lower_bound(
        entries_.begin(), entries_.end(), name,
        [](const auto& entry, std::string_view wanted) { return entry.first < wanted; });
    if (at == entries_.end() || at->first != name) return std::nullopt;
    return at->second;
  }

 private:
  std::vector<std::pair<std::string_view, std::size_t>> entries_;
};

}  // namespace minfer::gguf

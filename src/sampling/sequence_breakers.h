// SequenceBreakers: where a text that comes token by token holds one of some strings, however the
// tokens spell it.
//
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minfer::sampling {

class SequenceBreakers {
 public:
  /// Empty strings are left out.
  explicit SequenceBreakers(std::span<const std::string> breakers);

  /// Takes the next bytes; true where a breaker ends in them.
  bool feed(std::string_view bytes);
  /// What feed() would say.
  [[nodiscard]] bool would_end_in(std::string_view bytes) const;
  /// Forgets the text.
  void clear();

 private:
  /// Knuth, Morris and Pratt: borders[n] is the longest proper prefix of the text's first n bytes
  /// that they also end with.
  struct Breaker {
    std::string text;
    std::vector<std::uint32_t> borders;
    std::uint32_t matched = 0;  // bytes of it that the fed text ends with
  };

  static bool advance(const Breaker& breaker, std::string_view bytes, std::uint32_t& matched);

  std::vector<Breaker> breakers_;
};

}  // namespace minfer::sampling

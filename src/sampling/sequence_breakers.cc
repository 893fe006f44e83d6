#include "sampling/sequence_breakers.h"

namespace minfer::sampling {

SequenceBreakers::SequenceBreakers(std::span<const std::string> breakers) {
  for (const std::string& text : breakers) {
    if (text.empty()) continue;
    Breaker breaker{text, std::vector<std::uint32_t>(text.size() + 1, 0)};
    std::uint32_t border = 0;
    for (std::size_t i = 1; i < text.size(); ++i) {
      while (border > 0 && text[border] != text[i]) border = breaker.borders[border];
      if (text[border] == text[i]) ++border;
      breaker.borders[i + 1] = border;
    }
    breakers_.push_back(std::move(breaker));
  }
}

bool SequenceBreakers::advance(const Breaker& breaker, std::string_view bytes,
                               std::uint32_t& matched) {
  const std::string& text = breaker.text;
  bool ended = false;
  for (const char byte : bytes) {
    if (matched == text.size()) matched = breaker.borders[matched];
    while (matched > 0 && text[matched] != byte) matched = breaker.borders[matched];
    if (text[matched] == byte) ++matched;
    ended = ended || matched == text.size();
  }
  return ended;
}

bool SequenceBreakers::feed(std::string_view bytes) {
  bool ended = false;
  for (Breaker& breaker : breakers_) {
    if (advance(breaker, bytes, breaker.matched)) ended = true;
  }
  return ended;
}

bool SequenceBreakers::would_end_in(std::string_view bytes) const {
  for (const Breaker& breaker : breakers_) {
    std::uint32_t matched = breaker.matched;
    if (advance(breaker, bytes, matched)) return true;
  }
  return false;
}

void SequenceBreakers::clear() {
  for (Breaker& breaker : breakers_) breaker.matched = 0;
}

}  // namespace minfer::sampling

#include "chat/text.h"

#include "base/utf8.h"

namespace minfer::chat {

Text::Text(std::string bytes, Origin origin) : bytes_(std::move(bytes)) {
  if (!bytes_.empty()) runs_.push_back({bytes_.size(), origin});
}

void Text::append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  bytes_.append(bytes);
  if (!runs_.empty() && runs_.back().origin == origin) {
    runs_.back().end = bytes_.size();
  } else {
    runs_.push_back({bytes_.size(), origin});
  }
}

void Text::append(const Text& other, std::size_t begin, std::size_t end) {
  const std::string_view bytes = other.bytes_;
  auto run = std::upper_bound(other.runs_.begin(), other.runs_.end(), begin,
                              [](std::size_t at, const Run& r) { return at < r.end; });
  for (; begin < end; ++run) {
    const std::size_t stop = std::min(end, run->end);
    append(bytes.substr(begin, stop - begin), run->origin);
    begin = stop;
  }
}

void Text::append_times(const Text& other, std::size_t times) {
  if (times == 0) return;
  bytes_.reserve(bytes_.size() + other.size() * times);
  if (other.runs_.size() == 1) {
    for (std::size_t i = 0; i < times; ++i) bytes_.append(other.bytes_);
    const Origin origin = other.runs_[0].origin;
    if (runs_.empty() || runs_.back().origin != origin) runs_.push_back({0, origin});
    runs_.back().end = bytes_.size();
    return;
  }
  for (std::size_t i = 0; i < times; ++i) append(other);
}

Text Text::sub(std::size_t begin, std::size_t end) const {
  Text out;
  out.append(*this, begin, end);
  return out;
}

Origin Text::origin_at(std::size_t at) const {
  return std::upper_bound(runs_.begin(), runs_.end(), at,
                          [](std::size_t pos, const Run& r) { return pos < r.end; })
      ->origin;
}

std::vector<std::size_t> char_starts(std::string_view bytes) {
  std::vector<std::size_t> starts;
  starts.reserve(bytes.size() + 1);
  for (std::size_t at = 0; at < bytes.size(); at += decode_char(bytes, at).length)
    starts.push_back(at);
  starts.push_back(bytes.size());
  return starts;
}

bool is_space(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

Stripped strip(std::string_view text, const std::string* chars, bool left, bool right) {
  const auto cut = [&](std::size_t at) {
    const Char c = decode_char(text, at);
    if (chars == nullptr) return c.well_formed && is_space(c.code);
    return chars->find(text.substr(at, c.length)) != std::string::npos;
  };
  std::size_t begin = 0;
  std::size_t end = text.size();
  while (left && begin < end && cut(begin)) begin += decode_char(text, begin).length;
  while (right && end > begin) {
    std::size_t at = end - 1;
    while (at > begin && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    if (at + decode_char(text, at).length != end) at = end - 1;
    if (!cut(at)) break;
    end = at;
  }
  return {begin, end};
}

}  // namespace minfer::chat

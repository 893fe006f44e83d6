#include "engine/stop_matcher.h"

#include <algorithm>

namespace minfer::engine {

StopMatcher::StopMatcher(std::span<const std::string> stops) {
  for (const std::string& stop : stops) {
    if (!stop.empty()) stops_.push_back(stop);
  }
}

bool StopMatcher::feed(std::string_view bytes, std::string& out) {
  if (stops_.empty()) {
    out += bytes;
    return false;
  }
  return std::any_of(bytes.begin(), bytes.end(), [&](char byte) { return feed_byte(byte, out); });
}

bool StopMatcher::feed_byte(char byte, std::string& out) {
  held_ += byte;
  std::size_t matched = 0;
  for (const std::string& stop : stops_) {
    if (stop.size() > matched && held_.ends_with(stop)) matched = stop.size();
  }
  if (matched > 0) {
    out.append(held_, 0, held_.size() - matched);
    held_.clear();
    return true;
  }
  // Keep the longest suffix that begins a stop string.
  std::size_t keep = 0;
  for (const std::string& stop : stops_) {
    for (std::size_t n = std::min(stop.size() - 1, held_.size()); n > keep; --n) {
      if (held_.ends_with(std::string_view(stop).substr(0, n))) {
        keep = n;
        break;
      }
    }
  }
  out.append(held_, 0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return false;
}

void StopMatcher::flush(std::string& out) {
  out += held_;
  held_.clear();
}

}  // namespace minfer::engine

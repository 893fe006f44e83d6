#include "text/stream_detokenizer.h"

#include "text/unicode.h"

namespace minfer::text {

std::string StreamDetokenizer::push(std::int32_t id) {
  text_.append(id, waiting_);
  const std::size_t tail = incomplete_tail(waiting_);
  const std::string_view whole = std::string_view(waiting_).substr(0, waiting_.size() - tail);
  std::string out = replace_invalid_utf8(whole);
  waiting_.erase(0, whole.size());
  return out;
}

std::string StreamDetokenizer::finish() {
  std::string out = replace_invalid_utf8(waiting_);
  waiting_.clear();
  return out;
}

}  // namespace minfer::text

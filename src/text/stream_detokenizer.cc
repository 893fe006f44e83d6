#include "text/stream_detokenizer.h"

namespace minfer::text {

std::string StreamDetokenizer::push(std::int32_t id) {
  bytes_.clear();
  text_.append(id, bytes_);
  std::string out;
  gate_.feed(bytes_, out);
  return out;
}

std::string StreamDetokenizer::finish() {
  std::string out;
  gate_.flush(out);
  return out;
}

}  // namespace minfer::text

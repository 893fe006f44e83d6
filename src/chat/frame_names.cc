#include "chat/frame_names.h"

namespace minfer::chat {

HiddenNames FrameNames::open() {
  Frame frame;
  frame.parent = current_;
  frame.hidden = std::make_shared<std::vector<std::string>>();
  current_ = frames_.size();
  frames_.push_back(std::move(frame));
  return frames_.back().hidden;
}

std::size_t FrameNames::leave() {
  const std::size_t left = current_;
  close();
  return left;
}

void FrameNames::store(const std::string& name) {
  Frame& frame = frames_[current_];
  const bool first = frame.used.insert(name).second;
  if (first && frame.branches == 0) frame.set_first.push_back(name);
}

bool FrameNames::used_around(std::size_t frame, const std::string& name) const {
  while (frame != 0) {
    frame = frames_[frame].parent;
    if (frames_[frame].used.contains(name)) return true;
  }
  return false;
}

void FrameNames::finish() {
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    for (const std::string& name : frames_[i].set_first) {
      if (!used_around(i, name)) frames_[i].hidden->push_back(name);
    }
  }
}

}  // namespace minfer::chat

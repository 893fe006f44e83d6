// FrameNames: which names a frame of a template hides from the frames around it.
//
// jinja2 decides when it compiles where a name is looked up. A name that a frame (the template, the
// body of a loop, macro, call, filter, set or with block) sets before it reads it, outside any
// `if`, and that no frame around it uses, is the frame's own from its beginning on: read before it
// is set, it is undefined, even where the context has it.
//
// Owns: the names of each frame while a template is parsed. Thread-safety: one thread.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace minfer::chat {

/// Names that are undefined when a frame begins. Complete once the whole template is parsed.
using HiddenNames = std::shared_ptr<const std::vector<std::string>>;

class FrameNames {
 public:
  FrameNames() { open(); }

  /// Begins a frame inside the current one; close() goes back.
  HiddenNames open();
  void close() { current_ = frames_[current_].parent; }
  /// Leaves the current frame for a while, and comes back to it.
  std::size_t leave();
  void reenter(std::size_t frame) { current_ = frame; }
  /// The statements of an `if` come.
  void open_branch() { ++frames_[current_].branches; }
  void close_branch() { --frames_[current_].branches; }

  void load(const std::string& name) { frames_[current_].used.insert(name); }
  void declare(const std::string& name) { load(name); }
  void store(const std::string& name);

  /// The whole template is parsed.
  void finish();
  /// Of the template itself.
  [[nodiscard]] HiddenNames root() const { return frames_.front().hidden; }

 private:
  struct Frame {
    std::size_t parent = 0;
    int branches = 0;
    std::set<std::string> used;
    std::vector<std::string> set_first;
    std::shared_ptr<std::vector<std::string>> hidden;
  };

  [[nodiscard]] bool used_around(std::size_t frame, const std::string& name) const;

  std::vector<Frame> frames_;
  std::size_t current_ = 0;
};

}  // namespace minfer::chat

// Template: a chat template, parsed once, rendered often.
//
// Invariants: rendering is a function of the context, the time given and the limits; it reaches no
// file, environment or network. Failures carry line and column.
// Thread-safety: immutable; any number of threads may render at once.
#pragma once

#include <ctime>
#include <memory>
#include <string_view>

#include "base/status.h"
#include "chat/run.h"
#include "chat/text.h"
#include "chat/value.h"

namespace minfer::chat {

struct RenderOptions {
  std::tm now{};  // what strftime_now sees
  Limits limits;
};

class Template {
 public:
  /// kUnsupported: what is wrong with the source, with line and column.
  static Result<Template> parse(std::string_view source);
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;
  ~Template();

  /// Whether the source holds `word`.
  [[nodiscard]] bool mentions(std::string_view word) const;

  /// The text, each byte with its origin. kUnsupported: what the template refused, or which
  /// limit it passed.
  [[nodiscard]] Result<Text> render(const Value& context, const RenderOptions& options) const;

 private:
  struct Tree;
  explicit Template(std::unique_ptr<Tree> tree);
  std::unique_ptr<Tree> tree_;
};

}  // namespace minfer::chat

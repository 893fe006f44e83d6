// Run: the state of one rendering: scopes, output, budget.
//
// Invariants: every step, nested call, byte made and microsecond is charged; past a limit the
// rendering ends with an error, whatever the template does. Nothing outside the context and the
// tables of functions can be reached.
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "chat/lexer.h"
#include "chat/value.h"

namespace minfer::chat {

struct Limits {
  std::uint64_t steps = 20'000'000;
  int depth = 900;                                      // nested evaluations
  std::uint64_t output_bytes = std::uint64_t{1} << 26;  // of any one string
  std::uint64_t total_bytes = std::uint64_t{1} << 29;   // of all strings made
  double seconds = 0.7;                                 // of processor time
};

struct Scope {
  Scope* parent = nullptr;
  std::unordered_map<std::string, Value> names;
  bool captured = false;  // a macro was made in it or below: it lives until the end
};

/// What a statement asks the loop around it to do.
enum class Flow : std::uint8_t { kNext, kBreak, kContinue };

class Run {
 public:
  Run(const Limits& limits, const std::tm& now, const Value& context);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Position at;  // of what is being evaluated, for errors
  Text* out = nullptr;
  Scope* scope = nullptr;
  std::tm now{};
  std::size_t loop_depth = 0;

  [[nodiscard]] Value lookup(const std::string& name) const;
  void set(const std::string& name, Value value) { scope->names[name] = std::move(value); }
  void capture_scope();
  /// Keeps an object until the end, when its fields are cleared: cycles do not leak.
  void keep(std::shared_ptr<Object> object) { kept_.push_back(std::move(object)); }

  void step(std::uint64_t n = 1);
  void made_bytes(std::size_t n);
  void write(const Text& text);
  void enter();
  void leave() { --depth_; }

 private:
  friend class ScopeGuard;
  Scope* open_scope(Scope* parent);
  void close_scope(Scope* scope);
  void check_time() const;

  Limits limits_;
  std::uint64_t steps_ = 0;
  std::uint64_t next_check_ = 4096;
  std::uint64_t bytes_ = 0;
  int depth_ = 0;
  double started_ = 0;
  std::vector<std::unique_ptr<Scope>> scopes_;
  std::vector<Scope*> free_;
  std::vector<std::shared_ptr<Object>> kept_;
};

/// A scope below `parent` (default: the current one) for as long as the guard lives.
class ScopeGuard {
 public:
  explicit ScopeGuard(Run& run, Scope* parent = nullptr);
  ~ScopeGuard();
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  Run& run_;
  Scope* before_;
};

/// Output goes to a text of its own for as long as the guard lives.
class Capture {
 public:
  explicit Capture(Run& run) : run_(run), before_(run.out) { run.out = &text_; }
  ~Capture() { run_.out = before_; }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  Text take() { return std::move(text_); }

 private:
  Run& run_;
  Text* before_;
  Text text_;
};

/// One level deeper for as long as it lives.
class Nested {
 public:
  explicit Nested(Run& run) : run_(run) { run.enter(); }
  ~Nested() { run_.leave(); }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  Run& run_;
};

using Function = Value (*)(Run&, const Args&);
/// A filter or test: the value left of the `|` or `is`, then the arguments.
using Filter = Value (*)(Run&, const Value&, const Args&);
using Test = bool (*)(Run&, const Value&, const Args&);

/// Null where there is none of the name.
Function find_function(const std::string& name);
Filter find_filter(const std::string& name);
Test find_test(const std::string& name);

/// value.name and value[key], after the rules of jinja2's sandbox: Undefined where there is none.
Value get_attribute(Run& run, const Value& value, const std::string& name);
Value get_item(Run& run, const Value& value, const Value& key);
Value get_slice(Run& run, const Value& value, const Value& from, const Value& to, const Value& by);
Value call_value(Run& run, const Value& callee, const Args& args);
/// A method of a string, list or dict bound to its value; Undefined where there is none.
Value bind_method(const Value& value, const std::string& name);

Value binary_operation(Run& run, const std::string& op, const Value& left, const Value& right);
bool contains(Run& run, const Value& haystack, const Value& needle);
/// A printable value as text; fails for what must not be printed.
Text to_text(Run& run, const Value& value);

}  // namespace minfer::chat

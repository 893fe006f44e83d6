// Value: what a template computes with, after Python's rules.
//
// Invariants: lists, dicts and strings never change once made; only a namespace does. Nesting is at
// most kMaxValueDepth, so that walking and freeing a value needs bounded stack.
// Thread-safety: a value; those of one rendering belong to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/json_reader.h"
#include "chat/text.h"

namespace minfer::chat {

class Run;
class Value;
struct List;
class Dict;

inline constexpr int kMaxValueDepth = 200;

/// Ends a rendering; caught by Template, which adds the position.
struct TemplateError {
  std::string message;
};
[[noreturn]] void fail(std::string message);

/// Arguments of a call, filter, test or method.
struct Args {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  /// The argument at `index` or by `name`; null where it was not given.
  [[nodiscard]] const Value* find(std::size_t index, std::string_view name) const;
};

/// A thing with attributes or a call: namespace, loop, macro, bound method.
class Object {
 public:
  virtual ~Object() = default;
  [[nodiscard]] virtual std::string_view type_name() const = 0;
  /// Undefined where there is no such attribute.
  virtual Value attribute(const std::string& name);
  [[nodiscard]] virtual bool callable() const { return false; }
  virtual Value call(Run& run, const Args& args);
  /// False where only a namespace could be assigned to.
  virtual bool set(const std::string& name, Value value);
  /// Lets go of what it holds, at the end of a rendering.
  virtual void clear() {}
};

class Value {
 public:
  struct Undefined {
    std::shared_ptr<const std::string> what;  // "'x' is undefined"
  };
  using TextPtr = std::shared_ptr<const Text>;
  using ListPtr = std::shared_ptr<const List>;
  using DictPtr = std::shared_ptr<const Dict>;
  using ObjectPtr = std::shared_ptr<Object>;

  Value() : data_(nullptr) {}  // None
  explicit Value(bool b) : data_(b) {}
  explicit Value(std::int64_t i) : data_(i) {}
  explicit Value(double d) : data_(d) {}
  explicit Value(Text text) : data_(std::make_shared<const Text>(std::move(text))) {}
  explicit Value(ObjectPtr object) : data_(std::move(object)) {}
  static Value undefined(std::string what);
  static Value list(std::vector<Value> items, bool tuple = false);
  static Value dict(Dict dict);
  /// A tuple with the names grouper and list.
  static Value group(Value grouper, Value list);
  static Value request(std::string text) { return Value(Text(std::move(text), Origin::kRequest)); }
  static Value literal(std::string text) { return Value(Text(std::move(text), Origin::kTemplate)); }
  /// The tree of a JSON document; its strings and keys are the request's.
  static Value from_json(const JsonValue& json);

  template <class T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&data_);
  }
  [[nodiscard]] bool is_undefined() const { return as<Undefined>() != nullptr; }
  [[nodiscard]] bool is_none() const { return as<std::nullptr_t>() != nullptr; }
  [[nodiscard]] const Text* text() const;
  [[nodiscard]] const List* list() const;
  [[nodiscard]] const Dict* dict() const;
  [[nodiscard]] Object* object() const;
  /// Bool counts as integer, as in Python.
  [[nodiscard]] bool integer(std::int64_t& out) const;
  [[nodiscard]] bool number(double& out) const;

  [[nodiscard]] bool truth() const;
  [[nodiscard]] const char* type_name() const;  // Python's
  /// str() and repr(). Quotes, brackets and numbers count as the request's.
  [[nodiscard]] Text str() const;
  [[nodiscard]] Text repr() const;
  [[nodiscard]] int depth() const;

 private:
  std::variant<std::nullptr_t, Undefined, bool, std::int64_t, double, TextPtr, ListPtr, DictPtr,
               ObjectPtr>
      data_;
};

struct List {
  std::vector<Value> items;
  bool tuple = false;
  int depth = 1;
  bool group = false;  // of groupby: its items are also grouper and list
};

/// Keeps the order of insertion.
class Dict {
 public:
  void set(Value key, Value value);
  [[nodiscard]] const Value* find(const Value& key) const;
  [[nodiscard]] const Value* find(const std::string& key) const;
  [[nodiscard]] const std::vector<std::pair<Value, Value>>& items() const { return items_; }
  [[nodiscard]] int depth() const { return depth_; }

 private:
  [[nodiscard]] std::size_t place(const Value& key) const;
  std::vector<std::pair<Value, Value>> items_;
  std::unordered_map<std::string, std::size_t> by_text_;
  int depth_ = 1;
};

/// Fails for lists and dicts, which cannot be keys.
void need_hashable(const Value& key);
bool equal(const Value& a, const Value& b);
/// Python's <; fails for types that have no order.
bool less(const Value& a, const Value& b);
/// What a `for` over the value sees: items, keys, characters; nothing for an undefined one.
std::vector<Value> iterate(const Value& value);
/// Python's repr of a float.
std::string float_text(double value);

}  // namespace minfer::chat

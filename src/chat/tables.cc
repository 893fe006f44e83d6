#include "chat/builtins.h"

namespace minfer::chat {
namespace {

template <class Function>
using Table = std::unordered_map<std::string, Function>;

class BoundMethod final : public Object {
 public:
  BoundMethod(Value value, Filter method) : value_(std::move(value)), method_(method) {}
  [[nodiscard]] std::string_view type_name() const override { return "method"; }
  [[nodiscard]] bool callable() const override { return true; }
  Value call(Run& run, const Args& args) override { return method_(run, value_, args); }

 private:
  Value value_;
  Filter method_;
};

template <class Function>
Function find_in(const Table<Function>& table, const std::string& name) {
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace

Filter find_filter(const std::string& name) {
  static const Table<Filter> kTable = {
#define FILTER(name, function) {#name, function},
#include "chat/filters.def"
#undef FILTER
  };
  return find_in(kTable, name);
}

Test find_test(const std::string& name) {
  static const Table<Test> kTable = {
#define JINJA_TEST(name, function) {name, function},
#include "chat/tests.def"
#undef JINJA_TEST
  };
  return find_in(kTable, name);
}

Function find_function(const std::string& name) {
  static const Table<Function> kTable = {
#define FUNCTION(name, function) {#name, function},
#include "chat/functions.def"
#undef FUNCTION
  };
  return find_in(kTable, name);
}

Value bind_method(const Value& value, const std::string& name) {
  static const Table<Filter> kTable = {
#define METHOD(type, name, function) {#type "." #name, function},
#include "chat/methods.def"
#undef METHOD
  };
  const char* type = value.text() != nullptr   ? "str."
                     : value.list() != nullptr ? "list."
                     : value.dict() != nullptr ? "dict."
                                               : nullptr;
  const Filter method = type == nullptr ? nullptr : find_in(kTable, type + name);
  if (method == nullptr) return Value::undefined("no such method");
  if (method == method_unsafe)
    fail("access to attribute '" + name + "' of '" + value.type_name() + "' object is unsafe");
  return Value(std::make_shared<BoundMethod>(value, method));
}

}  // namespace minfer::chat

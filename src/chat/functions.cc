// The global functions.
#include <ctime>

#include "chat/builtins.h"

namespace minfer::chat {
namespace {

constexpr std::int64_t kMaxRange = 100'000;

class Namespace final : public Object {
 public:
  [[nodiscard]] std::string_view type_name() const override { return "namespace"; }
  Value attribute(const std::string& name) override {
    const auto found = fields_.find(name);
    return found != fields_.end() ? found->second : Object::attribute(name);
  }
  bool set(const std::string& name, Value value) override {
    fields_[name] = std::move(value);
    return true;
  }
  void clear() override { fields_.clear(); }

 private:
  std::unordered_map<std::string, Value> fields_;
};

}  // namespace

Value function_namespace(Run& run, const Args& args) {
  auto made = std::make_shared<Namespace>();
  for (const Value& value : args.positional) {
    if (value.dict() == nullptr) fail("namespace() takes mappings");
    for (const auto& [key, item] : value.dict()->items()) made->set(key.str().bytes(), item);
  }
  for (const auto& [name, value] : args.named) made->set(name, value);
  run.keep(made);
  return Value(std::move(made));
}

Value function_dict(Run&, const Args& args) {
  Dict dict;
  for (const Value& value : args.positional) {
    if (value.dict() != nullptr) {
      for (const auto& [key, item] : value.dict()->items()) dict.set(key, item);
      continue;
    }
    for (const Value& pair : iterate(value)) {
      const std::vector<Value> both = iterate(pair);
      if (both.size() != 2) fail("dict() takes pairs");
      dict.set(both[0], both[1]);
    }
  }
  for (const auto& [name, value] : args.named) dict.set(Value::literal(name), value);
  return Value::dict(std::move(dict));
}

Value function_raise_exception(Run& run, const Args& args) {
  fail(to_text(run, need(args, 0, "message")).bytes());
}

Value function_range(Run& run, const Args& args) {
  const bool one = args.positional.size() == 1;
  const std::int64_t begin = one ? 0 : integer_or(args, 0, "start", 0);
  const std::int64_t end = integer_or(args, one ? 0 : 1, "stop", 0);
  const std::int64_t step = integer_or(args, 2, "step", 1);
  if (step == 0) fail("range() arg 3 must not be zero");
  std::vector<Value> items;
  __extension__ using wide = __int128;
  const auto wide_end = static_cast<wide>(end);
  for (wide i = begin; step > 0 ? i < wide_end : i > wide_end; i += step) {
    if (static_cast<std::int64_t>(items.size()) >= kMaxRange) fail("the range is too big");
    items.emplace_back(static_cast<std::int64_t>(i));
  }
  run.step(items.size());
  return Value::list(std::move(items));
}

Value function_strftime_now(Run& run, const Args& args) {
  const std::string format = need_text(need(args, 0, "format")).bytes() + "x";  // never empty
  if (format.size() > 1000) fail("the format of a time is too long");
  std::string out(4096, '\0');
  std::tm now = run.now;
  out.resize(std::strftime(out.data(), out.size(), format.c_str(), &now));
  if (!out.empty()) out.pop_back();
  return Value::request(std::move(out));
}

}  // namespace minfer::chat

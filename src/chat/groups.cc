// Filters that cut a list into lists, and the global functions that go through items.
#include <fmt/format.h>

#include "chat/builtins.h"

namespace minfer::chat {
namespace {

constexpr std::int64_t kMaxItems = 1'000'000;

std::int64_t need_integer(const Args& args, std::size_t index, std::string_view name) {
  std::int64_t out = 0;
  if (!need(args, index, name).integer(out))
    fail(fmt::format("the argument '{}' must be an integer", name));
  return out;
}

/// What fills up short lists; null for none.
const Value* filler(const Args& args) {
  const Value* fill = args.find(1, "fill_with");
  return fill == nullptr || fill->is_none() ? nullptr : fill;
}

/// A method of an object that has a name.
template <class Owner>
class ObjectMethod final : public Object {
 public:
  using Function = Value (*)(Owner&);
  ObjectMethod(std::shared_ptr<Owner> owner, Function function)
      : owner_(std::move(owner)), function_(function) {}
  [[nodiscard]] std::string_view type_name() const override { return "method"; }
  [[nodiscard]] bool callable() const override { return true; }
  Value call(Run&, const Args& args) override {
    if (!args.positional.empty() || !args.named.empty()) fail("the method takes no arguments");
    return function_(*owner_);
  }

 private:
  std::shared_ptr<Owner> owner_;
  Function function_;
};

class Cycler final : public Object, public std::enable_shared_from_this<Cycler> {
 public:
  explicit Cycler(std::vector<Value> items) : items_(std::move(items)) {}
  [[nodiscard]] std::string_view type_name() const override { return "cycler"; }

  Value attribute(const std::string& name) override {
    if (name == "current") return items_[at_];
    if (name == "pos") return Value(static_cast<std::int64_t>(at_));
    if (name == "items") return Value::list(items_, true);
    if (name == "next") return method([](Cycler& cycler) { return cycler.next(); });
    if (name == "reset")
      return method([](Cycler& cycler) {
        cycler.at_ = 0;
        return Value();
      });
    return Object::attribute(name);
  }

 private:
  Value method(ObjectMethod<Cycler>::Function function) {
    return Value(std::make_shared<ObjectMethod<Cycler>>(shared_from_this(), function));
  }
  Value next() {
    const std::size_t now = at_;
    at_ = (at_ + 1) % items_.size();
    return items_[now];
  }

  std::vector<Value> items_;
  std::size_t at_ = 0;
};

class Joiner final : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}
  [[nodiscard]] std::string_view type_name() const override { return "joiner"; }
  [[nodiscard]] bool callable() const override { return true; }
  Value call(Run&, const Args&) override {
    if (std::exchange(used_, true)) return separator_;
    return Value(Text());
  }
  Value attribute(const std::string& name) override {
    if (name == "sep") return separator_;
    if (name == "used") return Value(used_);
    return Object::attribute(name);
  }

 private:
  Value separator_;
  bool used_ = false;
};

}  // namespace

Value filter_batch(Run& run, const Value& v, const Args& a) {
  const std::int64_t n = need_integer(a, 0, "linecount");
  std::vector<Value> rows;
  std::vector<Value> row;
  const auto is_full = [&] { return static_cast<std::int64_t>(row.size()) == n; };
  for (const Value& item : iterate(v)) {
    run.step();
    if (is_full()) rows.push_back(Value::list(std::exchange(row, {})));
    row.push_back(item);
  }
  if (row.empty()) return Value::list(std::move(rows));
  if (const Value* fill = filler(a)) {
    if (n > kMaxItems) fail("the list gets too long");
    for (; static_cast<std::int64_t>(row.size()) < n; run.step()) row.push_back(*fill);
  }
  rows.push_back(Value::list(std::move(row)));
  return Value::list(std::move(rows));
}

Value filter_slice(Run& run, const Value& v, const Args& a) {
  const std::int64_t n = need_integer(a, 0, "slices");
  if (n == 0) fail("integer division or modulo by zero");
  if (n > kMaxItems) fail("the list gets too long");
  const std::vector<Value> items = iterate(v);
  const Value* fill = filler(a);
  std::vector<Value> rows;
  auto at = items.begin();
  for (std::int64_t i = 0; i < n; ++i) {
    const auto length = static_cast<std::int64_t>(items.size());
    const bool longer = i < length % n;
    const auto end = at + static_cast<std::ptrdiff_t>(length / n + (longer ? 1 : 0));
    std::vector<Value> row(at, end);
    if (fill != nullptr && !longer) row.push_back(*fill);
    run.step(row.size() + 1);
    rows.push_back(Value::list(std::move(row)));
    at = end;
  }
  return Value::list(std::move(rows));
}

Value filter_groupby(Run& run, const Value& v, const Args& a) {
  const Value& attribute = need(a, 0, "attribute");
  const Value* otherwise = a.find(1, "default");
  const bool sensitive = flag_or(a, 2, "case_sensitive", false);
  const auto key_of = [&](const Value& item) {
    Value key = attribute_path(run, item, attribute);
    return key.is_undefined() && otherwise != nullptr && !otherwise->is_none() ? *otherwise : key;
  };
  std::vector<Value> pairs;  // (sort key, item)
  for (const Value& item : iterate(v)) {
    run.step();
    Value key = key_of(item);
    if (!sensitive && key.text() != nullptr) key = Value(change_case(*key.text(), Case::kLower));
    pairs.push_back(Value::list({std::move(key), item}, true));
  }
  std::vector<Value> groups;
  std::vector<Value> group;
  const auto end_group = [&] {
    if (group.empty()) return;
    Value key = key_of(group.front());
    groups.push_back(Value::group(std::move(key), Value::list(std::exchange(group, {}))));
  };
  const Value* before = nullptr;
  const std::vector<Value> ordered = sorted_by_first(run, std::move(pairs));
  for (const Value& pair : ordered) {
    const Value& key = pair.list()->items[0];
    if (before != nullptr && !equal(*before, key)) end_group();
    before = &key;
    group.push_back(pair.list()->items[1]);
  }
  end_group();
  return Value::list(std::move(groups));
}

Value function_cycler(Run& run, const Args& args) {
  if (args.positional.empty()) fail("at least one item has to be provided");
  auto made = std::make_shared<Cycler>(args.positional);
  run.keep(made);
  return Value(std::move(made));
}

Value function_joiner(Run& run, const Args& args) {
  const Value* separator = args.find(0, "sep");
  auto made = std::make_shared<Joiner>(separator != nullptr ? *separator : Value::request(", "));
  run.keep(made);
  return Value(std::move(made));
}

}  // namespace minfer::chat

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chat/builtins.h"

namespace minfer::chat {
namespace {

[[noreturn]] void fail_undefined(const Value& value) { fail(*value.as<Value::Undefined>()->what); }

Value text_times(Run& run, const Text& text, std::int64_t times) {
  Text out;
  if (times > 0 && text.size() > 0) {
    if (times > (std::int64_t{1} << 26)) fail("the template makes too long a text");
    run.made_bytes(text.size() * static_cast<std::size_t>(times));
    out.append_times(text, static_cast<std::size_t>(times));
  }
  return Value(std::move(out));
}

Value list_times(Run& run, const List& list, std::int64_t times) {
  std::vector<Value> items;
  if (times > 0 && !list.items.empty()) {
    if (times > 1'000'000 || list.items.size() > 1'000'000) fail("the list gets too long");
    run.step(list.items.size() * static_cast<std::size_t>(times));
    for (std::int64_t i = 0; i < times; ++i)
      items.insert(items.end(), list.items.begin(), list.items.end());
  }
  return Value::list(std::move(items), list.tuple);
}

bool integer_operation(const std::string& op, std::int64_t a, std::int64_t b, Value& out) {
  std::int64_t r = 0;
  bool overflow = false;
  if (op == "+") {
    overflow = __builtin_add_overflow(a, b, &r);
  } else if (op == "-") {
    overflow = __builtin_sub_overflow(a, b, &r);
  } else if (op == "*") {
    overflow = __builtin_mul_overflow(a, b, &r);
  } else if (op == "//" || op == "%") {
    if (b == 0) fail("integer division or modulo by zero");
    if (b == -1) {
      overflow = op == "//" && __builtin_sub_overflow(std::int64_t{0}, a, &r);
    } else {
      const bool adjust = a % b != 0 && (a % b < 0) != (b < 0);
      r = op == "//" ? a / b - (adjust ? 1 : 0) : a % b + (adjust ? b : 0);
    }
  } else if (op == "**" && b >= 0) {
    r = 1;
    if (a > 1 || a < -1) {
      for (std::int64_t i = 0; i < b && !overflow; ++i) overflow = __builtin_mul_overflow(r, a, &r);
    } else if (b > 0) {
      r = a == -1 && b % 2 == 0 ? 1 : a;
    }
  } else {
    return false;
  }
  if (overflow) fail("an integer is out of range");
  out = Value(r);
  return true;
}

Value number_operation(const std::string& op, double a, double b) {
  if (op == "+") return Value(a + b);
  if (op == "-") return Value(a - b);
  if (op == "*") return Value(a * b);
  if (op == "**") return Value(std::pow(a, b));
  if (b == 0) fail("division by zero");
  if (op == "/") return Value(a / b);
  if (op == "//") return Value(std::floor(a / b));
  const double r = std::fmod(a, b);
  return Value(r != 0 && (r < 0) != (b < 0) ? r + b : r);
}

}  // namespace

Value binary_operation(Run& run, const std::string& op, const Value& left, const Value& right) {
  if (op == "%" && left.text() != nullptr) return Value(percent_format(run, *left.text(), right));
  std::int64_t i = 0;
  std::int64_t j = 0;
  Value out;
  if (left.integer(i) && right.integer(j) && integer_operation(op, i, j, out)) return out;
  double x = 0;
  double y = 0;
  if (left.number(x) && right.number(y)) return number_operation(op, x, y);
  if (op == "+" && left.text() != nullptr && right.text() != nullptr) {
    run.made_bytes(left.text()->size() + right.text()->size());
    return Value(joined(*left.text(), *right.text()));
  }
  if (op == "+" && left.list() != nullptr && right.list() != nullptr &&
      left.list()->tuple == right.list()->tuple) {
    std::vector<Value> items = left.list()->items;
    items.insert(items.end(), right.list()->items.begin(), right.list()->items.end());
    run.step(items.size());
    return Value::list(std::move(items), left.list()->tuple);
  }
  if (op == "*") {
    if (left.text() != nullptr && right.integer(i)) return text_times(run, *left.text(), i);
    if (right.text() != nullptr && left.integer(i)) return text_times(run, *right.text(), i);
    if (left.list() != nullptr && right.integer(i)) return list_times(run, *left.list(), i);
    if (right.list() != nullptr && left.integer(i)) return list_times(run, *right.list(), i);
  }
  if (left.is_undefined()) fail_undefined(left);
  if (right.is_undefined()) fail_undefined(right);
  fail(fmt::format("unsupported operand types for {}: '{}' and '{}'", op, left.type_name(),
                   right.type_name()));
}

bool contains(Run& run, const Value& haystack, const Value& needle) {
  if (const Text* text = haystack.text()) {
    if (needle.is_undefined()) fail_undefined(needle);
    run.step(text->size() / 64);
    return text->bytes().find(need_text(needle).bytes()) != std::string::npos;
  }
  if (const Dict* dict = haystack.dict()) {
    need_hashable(needle);
    return dict->find(needle) != nullptr;
  }
  const std::vector<Value> items = iterate(haystack);
  run.step(items.size());
  return std::any_of(items.begin(), items.end(), [&](const Value& v) { return equal(v, needle); });
}

Text to_text(Run& run, const Value& value) {
  if (value.object() != nullptr && value.object()->callable())
    fail(fmt::format("a {} is not printable", value.object()->type_name()));
  Text text = value.str();
  run.made_bytes(text.size());
  return text;
}

namespace {

/// grouper or list of what groupby made.
const Value* group_member(const Value& value, std::string_view name) {
  if (value.list() == nullptr || !value.list()->group) return nullptr;
  const std::vector<Value>& items = value.list()->items;
  return name == "grouper" ? &items[0] : name == "list" ? &items[1] : nullptr;
}

}  // namespace

Value get_attribute(Run&, const Value& value, const std::string& name) {
  if (value.is_undefined()) fail_undefined(value);
  if (value.object() != nullptr) return value.object()->attribute(name);
  Value method = bind_method(value, name);
  if (!method.is_undefined()) return method;
  if (value.dict() != nullptr) {
    if (const Value* item = value.dict()->find(name)) return *item;
  }
  if (const Value* item = group_member(value, name)) return *item;
  return Value::undefined(
      fmt::format("'{} object' has no attribute '{}'", value.type_name(), name));
}

Value get_item(Run&, const Value& value, const Value& key) {
  if (value.is_undefined()) fail_undefined(value);
  if (const Dict* dict = value.dict()) {
    if (const Value* item = dict->find(key)) return *item;
  }
  std::int64_t index = 0;
  if (key.integer(index)) {
    const auto place = [&](std::size_t size) {
      const auto n = static_cast<std::int64_t>(size);
      const std::int64_t at = index < 0 ? index + n : index;
      return at >= 0 && at < n ? at : -1;
    };
    if (const List* list = value.list()) {
      if (const std::int64_t at = place(list->items.size()); at >= 0)
        return list->items[static_cast<std::size_t>(at)];
    }
    if (const Text* text = value.text()) {
      const auto starts = char_starts(text->bytes());
      if (const std::int64_t at = place(starts.size() - 1); at >= 0) {
        const auto c = static_cast<std::size_t>(at);
        return Value(text->sub(starts[c], starts[c + 1]));
      }
    }
    return Value::undefined(fmt::format("{} object has no element {}", value.type_name(), index));
  }
  if (const Text* name = key.text()) {
    if (value.object() != nullptr) return value.object()->attribute(name->bytes());
    if (const Value* item = group_member(value, name->bytes())) return *item;
    if (Value method = bind_method(value, name->bytes()); !method.is_undefined()) return method;
  }
  return Value::undefined(
      fmt::format("'{} object' has no attribute '{}'", value.type_name(), key.str().bytes()));
}

Value get_slice(Run& run, const Value& value, const Value& from, const Value& to, const Value& by) {
  if (value.is_undefined()) fail_undefined(value);
  if (value.text() == nullptr && value.list() == nullptr)
    fail(fmt::format("'{}' cannot be sliced", value.type_name()));
  const auto part = [](const Value& v, std::int64_t otherwise) {
    std::int64_t i = otherwise;
    if (!v.is_none() && !v.integer(i)) fail("slice indices must be integers");
    return i;
  };
  const std::vector<std::size_t> starts =
      value.text() != nullptr ? char_starts(value.text()->bytes()) : std::vector<std::size_t>();
  const auto n = static_cast<std::int64_t>(value.text() != nullptr ? starts.size() - 1
                                                                   : value.list()->items.size());
  const std::int64_t step = part(by, 1);
  if (step == 0) fail("slice step cannot be zero");
  const std::int64_t low = step > 0 ? 0 : -1;
  const auto bound = [&](std::int64_t i) {
    return std::clamp(i < 0 ? (i < -n ? low : i + n) : i, low, step > 0 ? n : n - 1);
  };
  const std::int64_t begin = from.is_none() ? (step > 0 ? 0 : n - 1) : bound(part(from, 0));
  const std::int64_t end = to.is_none() ? (step > 0 ? n : -1) : bound(part(to, 0));
  if (const Text* text = value.text(); text != nullptr && step == 1) {
    run.made_bytes(text->size());
    if (begin >= end) return Value(Text());
    return Value(
        text->sub(starts[static_cast<std::size_t>(begin)], starts[static_cast<std::size_t>(end)]));
  }
  Text chars;
  std::vector<Value> items;
  const std::int64_t stride = std::clamp(step, -n - 1, n + 1);
  for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += stride) {
    const auto at = static_cast<std::size_t>(i);
    if (value.text() != nullptr) {
      chars.append(*value.text(), starts[at], starts[at + 1]);
    } else {
      items.push_back(value.list()->items[at]);
    }
  }
  run.step(static_cast<std::uint64_t>(n));
  if (value.text() != nullptr) return Value(std::move(chars));
  return Value::list(std::move(items), value.list()->tuple);
}

Value call_value(Run& run, const Value& callee, const Args& args) {
  if (callee.is_undefined()) fail_undefined(callee);
  if (callee.object() == nullptr || !callee.object()->callable())
    fail(fmt::format("'{}' object is not callable", callee.type_name()));
  const Nested nested(run);
  return callee.object()->call(run, args);
}

}  // namespace minfer::chat

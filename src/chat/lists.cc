// Filters and methods of lists, dicts and numbers.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <list>

#include "chat/builtins.h"

namespace minfer::chat {
namespace {

/// The key that sort, min, max and unique compare: an attribute, lower case unless told otherwise.
Value sort_key(Run& run, const Value& item, const Value* attribute, bool case_sensitive) {
  Value key =
      attribute != nullptr && !attribute->is_none() ? attribute_path(run, item, *attribute) : item;
  if (!case_sensitive && key.text() != nullptr)
    return Value(change_case(*key.text(), Case::kLower));
  return key;
}

std::vector<Value> sorted(Run& run, const std::vector<Value>& items, const Value* attribute,
                          bool case_sensitive, bool reverse) {
  std::list<std::pair<Value, Value>> keyed;  // sorts stably, and bears an order that is none (NaN)
  for (const Value& item : items) {
    run.step();
    keyed.emplace_back(sort_key(run, item, attribute, case_sensitive), item);
  }
  keyed.sort([&](const auto& a, const auto& b) {
    run.step();
    return reverse ? less(b.first, a.first) : less(a.first, b.first);
  });
  std::vector<Value> out;
  for (auto& [key, item] : keyed) out.push_back(std::move(item));
  return out;
}

Value extreme(Run& run, const Value& v, const Args& a, bool largest) {
  const std::vector<Value> items = iterate(v);
  if (items.empty()) return Value::undefined("no item, sequence was empty");
  const bool sensitive = flag_or(a, 0, "case_sensitive", false);
  const Value* attribute = a.find(1, "attribute");
  Value best = items[0];
  Value best_key = sort_key(run, best, attribute, sensitive);
  for (const Value& item : items) {
    run.step();
    Value key = sort_key(run, item, attribute, sensitive);
    if (largest ? less(best_key, key) : less(key, best_key)) {
      best = item;
      best_key = std::move(key);
    }
  }
  return best;
}

Value chosen(Run& run, const Value& v, const Args& a, bool by_attribute, bool wanted) {
  const std::size_t first = by_attribute ? 1 : 0;
  Test test = nullptr;
  Args rest;
  if (a.positional.size() > first) {
    const std::string name = need_text(a.positional[first]).bytes();
    test = find_test(name);
    if (test == nullptr) fail(fmt::format("there is no test named '{}'", name));
    rest.positional.assign(a.positional.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                           a.positional.end());
  }
  std::vector<Value> out;
  if (!v.truth()) return Value::list({});
  for (const Value& item : iterate(v)) {
    run.step();
    const Value subject = by_attribute ? attribute_path(run, item, need(a, 0, "attribute")) : item;
    const bool holds = test != nullptr ? test(run, subject, rest) : subject.truth();
    if (holds == wanted) out.push_back(item);
  }
  return Value::list(std::move(out));
}

double parse_number(const std::string& text, bool& ok) {
  const Stripped cut = strip(text, nullptr, true, true);
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data() + cut.begin, text.data() + cut.end, value);
  ok = error == std::errc() && rest == text.data() + cut.end;
  return value;
}

}  // namespace

std::vector<Value> sorted_by_first(Run& run, std::vector<Value> pairs) {
  const Value first(std::int64_t{0});
  return sorted(run, pairs, &first, true, false);
}

const Value& need(const Args& args, std::size_t index, std::string_view name) {
  const Value* value = args.find(index, name);
  if (value == nullptr) fail(fmt::format("the argument '{}' is missing", name));
  return *value;
}

std::int64_t integer_or(const Args& args, std::size_t index, std::string_view name,
                        std::int64_t otherwise) {
  const Value* value = args.find(index, name);
  if (value == nullptr || value->is_none()) return otherwise;
  std::int64_t out = 0;
  if (!value->integer(out)) fail(fmt::format("the argument '{}' must be an integer", name));
  return out;
}

bool flag_or(const Args& args, std::size_t index, std::string_view name, bool otherwise) {
  const Value* value = args.find(index, name);
  return value == nullptr ? otherwise : value->truth();
}

const Text& need_text(const Value& value) {
  if (value.is_undefined()) fail(*value.as<Value::Undefined>()->what);
  if (value.text() == nullptr) fail(fmt::format("a string is needed, not '{}'", value.type_name()));
  return *value.text();
}

Value attribute_path(Run& run, const Value& value, const Value& path) {
  if (path.text() == nullptr) return get_item(run, value, path);
  Value at = value;
  const std::string& names = path.text()->bytes();
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find('.', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    const bool index = !name.empty() && name.size() < 10 &&
                       name.find_first_not_of("0123456789") == std::string::npos;
    at = get_item(
        run, at, index ? Value(static_cast<std::int64_t>(std::stoll(name))) : Value::literal(name));
    begin = end + 1;
  }
  return at;
}

Value filter_abs(Run&, const Value& v, const Args&) {
  std::int64_t i = 0;
  if (v.integer(i)) {
    if (i == INT64_MIN) fail("an integer is out of range");
    return Value(std::abs(i));
  }
  double d = 0;
  if (!v.number(d)) fail("abs needs a number");
  return Value(std::fabs(d));
}
Value filter_attr(Run& run, const Value& v, const Args& a) {
  if (v.dict() != nullptr) return bind_method(v, need_text(need(a, 0, "name")).bytes());
  return get_attribute(run, v, need_text(need(a, 0, "name")).bytes());
}
Value filter_default(Run&, const Value& v, const Args& a) {
  const bool use = v.is_undefined() || (flag_or(a, 1, "boolean", false) && !v.truth());
  if (!use) return v;
  const Value* other = a.find(0, "default_value");
  return other != nullptr ? *other : Value(Text());
}
Value filter_dictsort(Run& run, const Value& v, const Args& a) {
  if (v.dict() == nullptr) fail("dictsort needs a mapping");
  const Value* by = a.find(1, "by");
  const bool by_value = by != nullptr && by->text() != nullptr && by->text()->bytes() == "value";
  const Value column(std::int64_t{by_value ? 1 : 0});
  return Value::list(sorted(run, filter_items(run, v, {}).list()->items, &column,
                            flag_or(a, 0, "case_sensitive", false),
                            flag_or(a, 2, "reverse", false)));
}
Value filter_first(Run&, const Value& v, const Args&) {
  const std::vector<Value> items = iterate(v);
  return items.empty() ? Value::undefined("no first item, sequence was empty") : items.front();
}
Value filter_last(Run&, const Value& v, const Args&) {
  const std::vector<Value> items = iterate(v);
  return items.empty() ? Value::undefined("no last item, sequence was empty") : items.back();
}
Value filter_float(Run&, const Value& v, const Args& a) {
  if (v.is_undefined()) fail(*v.as<Value::Undefined>()->what);
  double d = 0;
  if (v.number(d)) return Value(d);
  bool ok = false;
  if (v.text() != nullptr) d = parse_number(v.text()->bytes(), ok);
  if (ok) return Value(d);
  const Value* otherwise = a.find(0, "default");
  return otherwise != nullptr ? *otherwise : Value(0.0);
}
Value filter_int(Run&, const Value& v, const Args& a) {
  if (v.is_undefined()) fail(*v.as<Value::Undefined>()->what);
  std::int64_t i = 0;
  if (v.integer(i)) return Value(i);
  double d = 0;
  bool ok = v.number(d);
  if (v.text() != nullptr) {
    const std::string& text = v.text()->bytes();
    const Stripped cut = strip(text, nullptr, true, true);
    const auto [rest, error] = std::from_chars(
        text.data() + cut.begin, text.data() + cut.end, i,
        static_cast<int>(std::clamp<std::int64_t>(integer_or(a, 1, "base", 10), 2, 36)));
    if (error == std::errc() && rest == text.data() + cut.end) return Value(i);
    d = parse_number(text, ok);
  }
  if (ok && std::fabs(d) < 9e18) return Value(static_cast<std::int64_t>(d));
  return Value(integer_or(a, 0, "default", 0));
}
Value filter_items(Run& run, const Value& v, const Args&) {
  if (v.is_undefined()) return Value::list({});
  if (v.dict() == nullptr) fail("can only get item pairs from a mapping");
  std::vector<Value> items;
  run.step(v.dict()->items().size());
  for (const auto& [key, item] : v.dict()->items()) items.push_back(Value::list({key, item}, true));
  return Value::list(std::move(items));
}
Value filter_join(Run& run, const Value& v, const Args& a) {
  const Value* separator = a.find(0, "d");
  const Value* attribute = a.find(1, "attribute");
  const Text between = separator != nullptr ? to_text(run, *separator) : Text();
  Text out;
  bool first = true;
  for (const Value& item : iterate(v)) {
    run.step();
    if (!first) out.append(between);
    first = false;
    out.append(to_text(run, attribute != nullptr && !attribute->is_none()
                                ? attribute_path(run, item, *attribute)
                                : item));
    run.made_bytes(between.size());
  }
  run.made_bytes(out.size());
  return Value(std::move(out));
}
Value filter_length(Run&, const Value& v, const Args&) {
  std::size_t n = 0;
  if (v.text() != nullptr) {
    n = char_starts(v.text()->bytes()).size() - 1;
  } else if (v.dict() != nullptr) {
    n = v.dict()->items().size();
  } else {
    n = iterate(v).size();
  }
  return Value(static_cast<std::int64_t>(n));
}
Value filter_list(Run& run, const Value& v, const Args&) {
  std::vector<Value> items = iterate(v);
  run.step(items.size());
  return Value::list(std::move(items));
}
Value filter_map(Run& run, const Value& v, const Args& a) {
  std::vector<Value> out;
  const Value* attribute = a.positional.empty() ? a.find(0, "attribute") : nullptr;
  Filter filter = nullptr;
  Args rest;
  if (attribute == nullptr) {
    const std::string name = need_text(need(a, 0, "filter")).bytes();
    filter = find_filter(name);
    if (filter == nullptr) fail(fmt::format("there is no filter named '{}'", name));
    rest.positional.assign(a.positional.begin() + 1, a.positional.end());
    rest.named = a.named;
  }
  const Value* otherwise = attribute != nullptr ? a.find(1, "default") : nullptr;
  if (!v.truth()) return Value::list({});
  for (const Value& item : iterate(v)) {
    run.step();
    Value got =
        attribute != nullptr ? attribute_path(run, item, *attribute) : filter(run, item, rest);
    out.push_back(got.is_undefined() && otherwise != nullptr ? *otherwise : std::move(got));
  }
  return Value::list(std::move(out));
}
Value filter_max(Run& run, const Value& v, const Args& a) { return extreme(run, v, a, true); }
Value filter_min(Run& run, const Value& v, const Args& a) { return extreme(run, v, a, false); }
Value filter_select(Run& run, const Value& v, const Args& a) {
  return chosen(run, v, a, false, true);
}
Value filter_reject(Run& run, const Value& v, const Args& a) {
  return chosen(run, v, a, false, false);
}
Value filter_selectattr(Run& run, const Value& v, const Args& a) {
  return chosen(run, v, a, true, true);
}
Value filter_rejectattr(Run& run, const Value& v, const Args& a) {
  return chosen(run, v, a, true, false);
}
Value filter_reverse(Run&, const Value& v, const Args&) {
  std::vector<Value> items = iterate(v);
  std::reverse(items.begin(), items.end());
  if (v.text() == nullptr) return Value::list(std::move(items));
  Text out;
  for (const Value& item : items) out.append(*item.text());
  return Value(std::move(out));
}
Value filter_round(Run&, const Value& v, const Args& a) {
  double d = 0;
  if (!v.number(d)) fail("round needs a number");
  std::int64_t whole = 0;
  const bool is_whole = v.integer(whole);
  const double scale = std::pow(10.0, static_cast<double>(integer_or(a, 0, "precision", 0)));
  const Value* method = a.find(1, "method");
  const std::string how = method != nullptr ? need_text(*method).bytes() : "common";
  if (how == "ceil") return Value(std::ceil(d * scale) / scale);
  if (how == "floor") return Value(std::floor(d * scale) / scale);
  return is_whole ? Value(whole) : Value(std::nearbyint(d * scale) / scale);
}
Value filter_sort(Run& run, const Value& v, const Args& a) {
  return Value::list(sorted(run, iterate(v), a.find(2, "attribute"),
                            flag_or(a, 1, "case_sensitive", false),
                            flag_or(a, 0, "reverse", false)));
}
Value filter_sum(Run& run, const Value& v, const Args& a) {
  const Value* attribute = a.find(0, "attribute");
  const Value* start = a.find(1, "start");
  Value total = start != nullptr ? *start : Value(std::int64_t{0});
  for (const Value& item : iterate(v)) {
    run.step();
    total = binary_operation(run, "+", total,
                             attribute != nullptr && !attribute->is_none()
                                 ? attribute_path(run, item, *attribute)
                                 : item);
  }
  return total;
}
Value filter_unique(Run& run, const Value& v, const Args& a) {
  const bool sensitive = flag_or(a, 0, "case_sensitive", false);
  Dict seen;
  std::vector<Value> out;
  for (const Value& item : iterate(v)) {
    Value key = sort_key(run, item, a.find(1, "attribute"), sensitive);
    run.step(seen.items().size() / 8 + 1);
    if (seen.find(key) != nullptr) continue;
    seen.set(std::move(key), Value());
    out.push_back(item);
  }
  return Value::list(std::move(out));
}
Value method_copy(Run&, const Value& v, const Args&) { return v; }
Value method_unsafe(Run&, const Value&, const Args&) { fail("the method would change its object"); }
Value method_list_count(Run&, const Value& v, const Args& a) {
  const auto& items = v.list()->items;
  if (a.positional.size() > 1) fail("count() takes exactly one argument");
  return Value(
      static_cast<std::int64_t>(std::count_if(items.begin(), items.end(), [&](const Value& item) {
        return equal(item, need(a, 0, "value"));
      })));
}
Value method_list_index(Run&, const Value& v, const Args& a) {
  const auto& items = v.list()->items;
  if (a.positional.size() > 1) fail("index() with a range is not known");
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (equal(items[i], need(a, 0, "value"))) return Value(static_cast<std::int64_t>(i));
  }
  fail("the value is not in the list");
}
Value method_get(Run&, const Value& v, const Args& a) {
  need_hashable(need(a, 0, "key"));
  const Value* found = v.dict()->find(need(a, 0, "key"));
  if (found != nullptr) return *found;
  const Value* otherwise = a.find(1, "default");
  return otherwise != nullptr ? *otherwise : Value();
}
Value method_values(Run&, const Value& v, const Args&) {
  std::vector<Value> items;
  for (const auto& [key, item] : v.dict()->items()) items.push_back(item);
  return Value::list(std::move(items));
}

}  // namespace minfer::chat

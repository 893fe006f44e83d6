#include "chat/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/utf8.h"

namespace minfer::chat {

void fail(std::string message) { throw TemplateError{std::move(message)}; }

const Value* Args::find(std::size_t index, std::string_view name) const {
  if (index < positional.size()) return &positional[index];
  for (const auto& [key, value] : named) {
    if (key == name) return &value;
  }
  return nullptr;
}

Value Object::attribute(const std::string& name) {
  return Value::undefined(fmt::format("'{}' has no attribute '{}'", type_name(), name));
}
Value Object::call(Run&, const Args&) { fail(fmt::format("'{}' is not callable", type_name())); }
bool Object::set(const std::string&, Value) { return false; }

Value Value::undefined(std::string what) {
  Value value;
  value.data_ = Undefined{std::make_shared<const std::string>(std::move(what))};
  return value;
}

Value Value::list(std::vector<Value> items, bool tuple) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  if (depth >= kMaxValueDepth) fail("a value is nested too deeply");
  Value value;
  value.data_ = std::make_shared<const List>(List{std::move(items), tuple, depth + 1});
  return value;
}

Value Value::group(Value grouper, Value list) {
  Value value = Value::list({std::move(grouper), std::move(list)}, true);
  auto group = std::make_shared<List>(*value.list());
  group->group = true;
  value.data_ = ListPtr(std::move(group));
  return value;
}

Value Value::dict(Dict dict) {
  if (dict.depth() > kMaxValueDepth) fail("a value is nested too deeply");
  Value value;
  value.data_ = std::make_shared<const Dict>(std::move(dict));
  return value;
}

Value Value::from_json(const JsonValue& json) {
  struct Convert {
    Value operator()(std::nullptr_t) const { return {}; }
    Value operator()(bool b) const { return Value(b); }
    Value operator()(std::int64_t i) const { return Value(i); }
    Value operator()(double d) const { return Value(d); }
    Value operator()(const std::string& s) const { return request(s); }
    Value operator()(const JsonValue::Array& array) const {
      std::vector<Value> items;
      for (const JsonValue& item : array) items.push_back(from_json(item));
      return list(std::move(items));
    }
    Value operator()(const JsonValue::Object& object) const {
      Dict out;
      for (const auto& [key, value] : object) out.set(request(key), from_json(value));
      return dict(std::move(out));
    }
  };
  return std::visit(Convert{}, json.data);
}

const Text* Value::text() const {
  const auto* p = as<TextPtr>();
  return p != nullptr ? p->get() : nullptr;
}
const List* Value::list() const {
  const auto* p = as<ListPtr>();
  return p != nullptr ? p->get() : nullptr;
}
const Dict* Value::dict() const {
  const auto* p = as<DictPtr>();
  return p != nullptr ? p->get() : nullptr;
}
Object* Value::object() const {
  const auto* p = as<ObjectPtr>();
  return p != nullptr ? p->get() : nullptr;
}

bool Value::integer(std::int64_t& out) const {
  if (const auto* i = as<std::int64_t>()) return out = *i, true;
  if (const auto* b = as<bool>()) return out = *b ? 1 : 0, true;
  return false;
}

bool Value::number(double& out) const {
  std::int64_t i = 0;
  if (integer(i)) return out = static_cast<double>(i), true;
  if (const auto* d = as<double>()) return out = *d, true;
  return false;
}

bool Value::truth() const {
  if (is_none() || is_undefined()) return false;
  double number_value = 0;
  if (number(number_value)) return number_value != 0;
  if (const Text* t = text()) return t->size() != 0;
  if (const List* l = list()) return !l->items.empty();
  if (const Dict* d = dict()) return !d->items().empty();
  return true;
}

const char* Value::type_name() const {
  static constexpr const char* kNames[] = {"NoneType", "Undefined", "bool", "int",   "float",
                                           "str",      "list",      "dict", "object"};
  if (const List* l = list(); l != nullptr && l->tuple) return "tuple";
  return kNames[data_.index()];
}

int Value::depth() const {
  if (const List* l = list()) return l->depth;
  if (const Dict* d = dict()) return d->depth();
  return 0;
}

std::size_t Dict::place(const Value& key) const {
  if (const Text* text = key.text()) {
    const auto found = by_text_.find(text->bytes());
    return found == by_text_.end() ? items_.size() : found->second;
  }
  std::size_t at = 0;
  while (at < items_.size() && !equal(items_[at].first, key)) ++at;
  return at;
}

void need_hashable(const Value& key) {
  if (key.dict() != nullptr || (key.list() != nullptr && !key.list()->tuple))
    fail(fmt::format("unhashable type: '{}'", key.type_name()));
}

void Dict::set(Value key, Value value) {
  need_hashable(key);
  depth_ = std::max(depth_, 1 + std::max(value.depth(), key.depth()));
  const std::size_t at = place(key);
  if (at < items_.size()) {
    items_[at].second = std::move(value);
    return;
  }
  if (const Text* text = key.text()) by_text_.emplace(text->bytes(), at);
  items_.emplace_back(std::move(key), std::move(value));
}

const Value* Dict::find(const Value& key) const {
  const std::size_t at = place(key);
  return at < items_.size() ? &items_[at].second : nullptr;
}

const Value* Dict::find(const std::string& key) const {
  const auto found = by_text_.find(key);
  return found == by_text_.end() ? nullptr : &items_[found->second].second;
}

bool equal(const Value& a, const Value& b) {
  std::int64_t i = 0;
  std::int64_t j = 0;
  if (a.integer(i) && b.integer(j)) return i == j;
  double x = 0;
  double y = 0;
  if (a.number(x) && b.number(y)) return x == y;
  if (a.text() != nullptr && b.text() != nullptr) return a.text()->bytes() == b.text()->bytes();
  if (a.list() != nullptr && b.list() != nullptr) {
    const List& l = *a.list();
    const List& r = *b.list();
    return l.tuple == r.tuple &&
           std::equal(l.items.begin(), l.items.end(), r.items.begin(), r.items.end(), equal);
  }
  if (a.dict() != nullptr && b.dict() != nullptr) {
    if (a.dict()->items().size() != b.dict()->items().size()) return false;
    return std::all_of(a.dict()->items().begin(), a.dict()->items().end(), [&](const auto& item) {
      const Value* other = b.dict()->find(item.first);
      return other != nullptr && equal(item.second, *other);
    });
  }
  if (a.object() != nullptr) return a.object() == b.object();
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

bool less(const Value& a, const Value& b) {
  std::int64_t i = 0;
  std::int64_t j = 0;
  if (a.integer(i) && b.integer(j)) return i < j;
  double x = 0;
  double y = 0;
  if (a.number(x) && b.number(y)) return x < y;
  if (a.text() != nullptr && b.text() != nullptr) return a.text()->bytes() < b.text()->bytes();
  if (a.list() != nullptr && b.list() != nullptr && a.list()->tuple == b.list()->tuple) {
    const auto& l = a.list()->items;
    const auto& r = b.list()->items;
    for (std::size_t at = 0; at < std::min(l.size(), r.size()); ++at) {
      if (!equal(l[at], r[at])) return less(l[at], r[at]);
    }
    return l.size() < r.size();
  }
  for (const Value* v : {&a, &b}) {
    if (const auto* u = v->as<Value::Undefined>()) fail(*u->what);
  }
  fail(fmt::format("'{}' and '{}' have no order", a.type_name(), b.type_name()));
}

std::vector<Value> iterate(const Value& value) {
  if (value.is_undefined()) return {};
  if (const List* list = value.list()) return list->items;
  std::vector<Value> items;
  if (const Dict* dict = value.dict()) {
    for (const auto& item : dict->items()) items.push_back(item.first);
    return items;
  }
  if (const Text* text = value.text()) {
    const std::vector<std::size_t> starts = char_starts(text->bytes());
    for (std::size_t i = 0; i + 1 < starts.size(); ++i)
      items.emplace_back(text->sub(starts[i], starts[i + 1]));
    return items;
  }
  fail(fmt::format("'{}' object is not iterable", value.type_name()));
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const double size = std::fabs(value);
  std::string text = fmt::format("{}", value);
  const bool has_exponent = text.find('e') != std::string::npos;
  if (size >= 1e16 && !has_exponent) {
    for (int digits = 0; digits < 17; ++digits) {
      text = fmt::format("{:.{}e}", value, digits);
      if (std::strtod(text.c_str(), nullptr) == value) break;
    }
    return text;
  }
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

namespace {

void append_quoted(Text& out, const Text& text) {
  const std::string& bytes = text.bytes();
  const bool use_double =
      bytes.find('\'') != std::string::npos && bytes.find('"') == std::string::npos;
  const char quote = use_double ? '"' : '\'';
  const auto put = [&](std::string_view s) { out.append(s, Origin::kRequest); };
  put(std::string_view(&quote, 1));
  for (std::size_t at = 0; at < bytes.size();) {
    const Char c = decode_char(bytes, at);
    if (c.code == static_cast<unsigned char>(quote) || c.code == '\\') {
      put(std::string{'\\', bytes[at]});
    } else if (c.code == '\n') {
      put("\\n");
    } else if (c.code == '\r') {
      put("\\r");
    } else if (c.code == '\t') {
      put("\\t");
    } else if (c.code < 0x20 || (c.code >= 0x7F && c.code < 0xA1) || c.code == 0xAD) {
      put(fmt::format("\\x{:02x}", static_cast<unsigned>(c.code)));
    } else {
      out.append(text, at, at + c.length);
    }
    at += c.length;
  }
  put(std::string_view(&quote, 1));
}

void append_repr(Text& out, const Value& value) {
  const auto put = [&](std::string_view s) { out.append(s, Origin::kRequest); };
  if (const Text* text = value.text()) {
    if (text->markup) put("Markup(");
    append_quoted(out, *text);
    return text->markup ? put(")") : void();
  }
  if (const List* list = value.list()) {
    put(list->tuple ? "(" : "[");
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      if (i > 0) put(", ");
      append_repr(out, list->items[i]);
    }
    if (list->tuple && list->items.size() == 1) put(",");
    return put(list->tuple ? ")" : "]");
  }
  if (const Dict* dict = value.dict()) {
    put("{");
    bool first = true;
    for (const auto& [key, item] : dict->items()) {
      if (!first) put(", ");
      first = false;
      append_repr(out, key);
      put(": ");
      append_repr(out, item);
    }
    return put("}");
  }
  if (value.is_undefined()) return put("Undefined");
  if (value.is_none()) return put("None");
  if (const auto* b = value.as<bool>()) return put(*b ? "True" : "False");
  if (const auto* i = value.as<std::int64_t>()) return put(fmt::format("{}", *i));
  if (const auto* d = value.as<double>()) return put(float_text(*d));
  put(fmt::format("<{}>", value.object()->type_name()));
}

}  // namespace

Text Value::repr() const {
  Text out;
  append_repr(out, *this);
  return out;
}

Text Value::str() const {
  if (const Text* t = text()) return *t;
  if (is_undefined()) return {};
  return repr();
}

}  // namespace minfer::chat

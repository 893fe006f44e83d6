// The tests of `is`.
#include "chat/builtins.h"

namespace minfer::chat {
namespace {

const Value& other(const Args& a) { return need(a, 0, "other"); }

std::int64_t need_integer(const Value& v) {
  std::int64_t i = 0;
  if (!v.integer(i)) fail("an integer is needed");
  return i;
}

}  // namespace

bool test_boolean(Run&, const Value& v, const Args&) { return v.as<bool>() != nullptr; }
bool test_callable(Run&, const Value& v, const Args&) {
  return v.object() != nullptr && v.object()->callable();
}
bool test_defined(Run&, const Value& v, const Args&) { return !v.is_undefined(); }
bool test_undefined(Run&, const Value& v, const Args&) { return v.is_undefined(); }
bool test_divisibleby(Run&, const Value& v, const Args& a) {
  const std::int64_t n = need_integer(other(a));
  if (n == 0) fail("integer division or modulo by zero");
  return n == -1 || need_integer(v) % n == 0;
}
bool test_even(Run&, const Value& v, const Args&) { return need_integer(v) % 2 == 0; }
bool test_odd(Run&, const Value& v, const Args&) { return need_integer(v) % 2 != 0; }
bool test_eq(Run&, const Value& v, const Args& a) { return equal(v, other(a)); }
bool test_ne(Run&, const Value& v, const Args& a) { return !equal(v, other(a)); }
bool test_lt(Run&, const Value& v, const Args& a) { return less(v, other(a)); }
bool test_gt(Run&, const Value& v, const Args& a) { return less(other(a), v); }
bool test_le(Run&, const Value& v, const Args& a) {
  return less(v, other(a)) || equal(v, other(a));
}
bool test_ge(Run&, const Value& v, const Args& a) {
  return less(other(a), v) || equal(v, other(a));
}
bool test_in(Run& run, const Value& v, const Args& a) { return contains(run, other(a), v); }
bool test_true(Run&, const Value& v, const Args&) { return v.as<bool>() != nullptr && v.truth(); }
bool test_false(Run&, const Value& v, const Args&) { return v.as<bool>() != nullptr && !v.truth(); }
bool test_none(Run&, const Value& v, const Args&) { return v.is_none(); }
bool test_float(Run&, const Value& v, const Args&) { return v.as<double>() != nullptr; }
bool test_integer(Run&, const Value& v, const Args&) { return v.as<std::int64_t>() != nullptr; }
bool test_number(Run&, const Value& v, const Args&) {
  double d = 0;
  return v.number(d);
}
bool test_string(Run&, const Value& v, const Args&) { return v.text() != nullptr; }
bool test_mapping(Run&, const Value& v, const Args&) { return v.dict() != nullptr; }
bool test_sequence(Run&, const Value& v, const Args&) {
  return v.text() != nullptr || v.list() != nullptr || v.dict() != nullptr || v.is_undefined();
}
bool test_iterable(Run& run, const Value& v, const Args& a) { return test_sequence(run, v, a); }
bool test_sameas(Run&, const Value& v, const Args& a) {
  return std::string_view(v.type_name()) == other(a).type_name() && equal(v, other(a));
}

bool test_escaped(Run&, const Value& v, const Args&) {
  return v.text() != nullptr && v.text()->markup;
}
bool test_filter(Run&, const Value& v, const Args&) {
  need_hashable(v);
  return v.text() != nullptr && find_filter(v.text()->bytes()) != nullptr;
}
bool test_test(Run&, const Value& v, const Args&) {
  need_hashable(v);
  return v.text() != nullptr && find_test(v.text()->bytes()) != nullptr;
}

}  // namespace minfer::chat

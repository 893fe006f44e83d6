// The functions behind filters.def, tests.def, methods.def and functions.def, and what they share.
//
// Thread-safety: pure functions over a Run.
#pragma once

#include "chat/run.h"

namespace minfer::chat {

#define FILTER(name, function) Value function(Run& run, const Value& value, const Args& args);
#include "chat/filters.def"
#undef FILTER
#define FUNCTION(name, function) Value function(Run& run, const Args& args);
#include "chat/functions.def"
#undef FUNCTION
#define JINJA_TEST(name, function) bool function(Run& run, const Value& value, const Args& args);
#include "chat/tests.def"
#undef JINJA_TEST
#define METHOD(type, name, function) Value function(Run& run, const Value& value, const Args& args);
#include "chat/methods.def"
#undef METHOD

/// The argument, or fails saying that it is missing.
const Value& need(const Args& args, std::size_t index, std::string_view name);
/// An optional integer, text or switch.
std::int64_t integer_or(const Args& args, std::size_t index, std::string_view name,
                        std::int64_t otherwise);
bool flag_or(const Args& args, std::size_t index, std::string_view name, bool otherwise);
/// The text of a value that must be a string.
const Text& need_text(const Value& value);

/// str.replace: at most `limit` times where that is not negative.
Text replace(Run& run, const Text& text, const Text& from, const Text& to, std::int64_t limit);

/// `text % values`, Python's: a tuple's items, a dict's by name, or one value.
Text percent_format(Run& run, const Text& format, const Value& values);
/// Blanks before or after the text up to `width` characters.
Text pad(Run& run, const Text& text, std::int64_t width, bool left);
/// `left` and `right` times `fill` around the text.
Text pad_by(Run& run, const Text& text, std::int64_t left, std::int64_t right, const Text& fill);

/// Lists or tuples in the order of their first items, stably.
std::vector<Value> sorted_by_first(Run& run, std::vector<Value> pairs);

/// HTML's special characters as entities; text that is markup stays.
Text escaped(const Text& text);
/// a + b; where one is markup, the other is escaped and the sum is markup.
Text joined(const Text& a, const Text& b);

/// Letters by Unicode: upper case, lower case, or neither.
enum class Case : std::uint8_t { kNone, kUpper, kLower };
Case case_of(char32_t code);
bool is_letter(char32_t code);
bool is_decimal(char32_t code);
Text change_case(const Text& text, Case wanted);

/// a.b.c or a name of one part, as map(attribute=...) and its kin take it.
Value attribute_path(Run& run, const Value& value, const Value& path);

}  // namespace minfer::chat

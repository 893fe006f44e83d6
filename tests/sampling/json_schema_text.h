// Values as texts, for the tests of JSON Schema: written as the grammars do, and in other
// spellings.
#pragma once

#include <string>
#include <vector>

#include "base/json_reader.h"

namespace minfer::sampling {

/// `value` as a serialiser writes it: one blank after `:` and `,`, and of an object first the keys
/// that `schema` declares anywhere, in its order, then those that it only names, then the others.
std::string canonical_json(const JsonValue& schema, const JsonValue& value);

/// Other spellings of the same value: compact, with line breaks, with every character of strings
/// escaped, with the keys turned round, with other spellings of numbers.
std::vector<std::string> other_spellings(const JsonValue& schema, const JsonValue& value);

}  // namespace minfer::sampling

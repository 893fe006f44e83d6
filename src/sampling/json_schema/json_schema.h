// JSON Schema as a grammar: which schemas are known, what their values look like when written, and
// what is refused is in docs/json-schema.md.
//
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "base/json_reader.h"
#include "base/status.h"

namespace minfer::sampling {

struct JsonSchemaOptions {
  std::string root = "root";  // the name of the rule for a whole value
  std::string prefix = "";    // of the names of all other rules
  /// Not empty: the rules read texts as they are, without quotes and escapes, that do not hold
  /// this. Values that are no texts are left out.
  std::string bare_end = "";
};

/// GBNF rules for the values that fit `schema`, in the one form in which they are written. Every
/// text of the grammar is a value that fits. kInvalidArgument for what is no schema or fits
/// nothing, kUnsupported for what is not supported; both name keyword and JSON pointer. Bounded in
/// time: a schema whose combinations are too many is refused.
Result<std::string> json_schema_to_gbnf(const JsonValue& schema,
                                        const JsonSchemaOptions& options = {});

/// The same for any JSON object.
std::string json_object_gbnf(const JsonSchemaOptions& options = {});

}  // namespace minfer::sampling

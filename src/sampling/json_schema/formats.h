// The values of `format` that are known, each as an automaton.
//
// Thread-safety: pure functions.
#pragma once

#include <optional>
#include <string_view>

#include "sampling/json_schema/dfa.h"

namespace minfer::sampling::schema {

/// The strings that are written for a string of `format`: all of them follow the format's own
/// specification, though not everything that follows it need be among them (docs/json-schema.md).
/// Nothing for an unknown format.
std::optional<Dfa> format_language(std::string_view format);

/// Formats of other vocabularies that say nothing about a value that JSON can tell.
bool is_silent_format(std::string_view format);

/// The strings that RFC 4648 section 4 makes of bytes.
Dfa base64_language();

}  // namespace minfer::sampling::schema

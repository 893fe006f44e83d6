// Any bytes as a JSON Schema: refused, or a grammar that compiles, in bounded time.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json_reader.h"
#include "sampling/grammar/grammar.h"
#include "sampling/json_schema/json_schema.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto schema = minfer::parse_json(text);
  if (!schema.ok()) return 0;
  const auto gbnf = minfer::sampling::json_schema_to_gbnf(*schema);
  if (gbnf.ok() && !minfer::sampling::Grammar::compile(*gbnf).ok()) __builtin_trap();
  return 0;
}

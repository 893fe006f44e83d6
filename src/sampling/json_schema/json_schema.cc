#include "sampling/json_schema/json_schema.h"

#include "sampling/json_schema/emitter.h"

namespace minfer::sampling {

Result<std::string> json_schema_to_gbnf(const JsonValue& schema, const JsonSchemaOptions& options) {
  MINFER_ASSIGN_OR_RETURN(schema::Document document, schema::Document::open(schema));
  schema::Emitter emitter(document);
  MINFER_ASSIGN_OR_RETURN(
      const schema::RuleSet rules,
      options.bare_end.empty() ? emitter.run() : emitter.run_bare_text(options.bare_end));
  return rules.text(options.root, options.prefix);
}

std::string json_object_gbnf(const JsonSchemaOptions& options) {
  const JsonValue any{JsonValue::Object{{"type", JsonValue{std::string("object")}}}};
  return *json_schema_to_gbnf(any, options);
}

}  // namespace minfer::sampling

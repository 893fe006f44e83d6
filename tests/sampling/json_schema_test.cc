// Schemas of our own (json_schema_cases.json): what the JSON Schema Test Suite's drafts do not
// have, the rules of writing, and what is refused.
#include "sampling/json_schema/json_schema.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "sampling/grammar/grammar.h"

namespace minfer::sampling {
namespace {

JsonValue read_cases() {
  const char* source = std::getenv("MINFER_SOURCE_DIR");
  std::ifstream in(std::string(source != nullptr ? source : ".") +
                   "/tests/sampling/json_schema_cases.json");
  std::stringstream text;
  text << in.rdbuf();
  Result<JsonValue> cases = parse_json(text.str());
  EXPECT_TRUE(cases.ok()) << cases.status().message();
  return cases.ok() ? *cases : JsonValue{JsonValue::Array{}};
}

bool accepts(const std::string& gbnf, const std::string& text) {
  const auto grammar = Grammar::compile(gbnf);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message() << "\n" << gbnf;
  if (!grammar.ok()) return false;
  const Result<bool> result = grammar_accepts(**grammar, text);
  EXPECT_TRUE(result.ok());
  return result.ok() && *result;
}

Result<std::string> translate(const std::string& schema, const JsonSchemaOptions& options = {}) {
  const Result<JsonValue> parsed = parse_json(schema);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return json_schema_to_gbnf(*parsed, options);
}

TEST(JsonSchema, Cases) {
  const JsonValue cases = read_cases();
  EXPECT_GT(cases.array()->size(), 60U);
  for (const JsonValue& test : *cases.array()) {
    SCOPED_TRACE(*test.find("name")->string());
    const Result<std::string> gbnf = json_schema_to_gbnf(*test.find("schema"));
    if (const JsonValue* words = test.find("refused"); words != nullptr) {
      ASSERT_FALSE(gbnf.ok()) << *gbnf;
      EXPECT_NE(gbnf.status().message().find(*words->string()), std::string::npos)
          << gbnf.status().message();
      continue;
    }
    ASSERT_TRUE(gbnf.ok()) << gbnf.status().message();
    for (const JsonValue& text : *test.find("accepts")->array())
      EXPECT_TRUE(accepts(*gbnf, *text.string())) << *text.string() << "\n" << *gbnf;
    for (const JsonValue& text : *test.find("rejects")->array())
      EXPECT_FALSE(accepts(*gbnf, *text.string())) << *text.string() << "\n" << *gbnf;
  }
}

TEST(JsonSchema, SeveralSchemasShareOneGrammar) {
  const auto a =
      translate(R"({"type": "object", "properties": {"n": {"type": "integer"}}})", {"first", "a-"});
  const auto b = translate(R"({"type": "array", "items": {"type": "string"}})", {"second", "b-"});
  ASSERT_TRUE(a.ok() && b.ok());
  const std::string both = "root ::= first | second\n" + *a + *b;
  EXPECT_TRUE(accepts(both, "{\"n\": 1}"));
  EXPECT_TRUE(accepts(both, "[\"x\", \"y\"]"));
  EXPECT_FALSE(accepts(both, "[1]"));
}

TEST(JsonSchema, AnyObject) {
  const std::string gbnf = json_object_gbnf();
  for (const char* text : {"{}", R"({"a": {"b": [1, "x", null, true, {}]}, "a": -1.5})"})
    EXPECT_TRUE(accepts(gbnf, text)) << text;
  for (const char* text : {"[]", "1", "{\"a\":1}", "{ }", "{\"a\": }", "{\"a\": 1,  \"b\": 2}"})
    EXPECT_FALSE(accepts(gbnf, text)) << text;
}

TEST(JsonSchema, CountsCostNothing) {
  const auto gbnf = translate(
      R"({"type": "array", "items": {"type": "string", "maxLength": 100000}, "maxItems": 100000})");
  ASSERT_TRUE(gbnf.ok());
  EXPECT_LT(gbnf->size(), 2000U);
  EXPECT_TRUE(accepts(*gbnf, "[\"a\", \"b\"]"));
}

TEST(JsonSchema, ManyWaysWithADiscriminator) {
  std::string schema = R"({"oneOf": [)";
  for (int i = 0; i < 300; ++i) {
    schema += fmt::format(R"({{"type": "object", "properties": {{"k": {{"const": "k{}"}}}}, )", i);
    schema += R"("required": ["k"]}, )";
  }
  for (int i = 0; i < 300; ++i)
    schema += fmt::format(R"({{"const": "word {}", "title": "t"}}, )", i);
  const auto gbnf = translate(schema + R"({"type": "null"}]})");
  ASSERT_TRUE(gbnf.ok()) << gbnf.status().message();
  for (const char* text : {R"({"k": "k0"})", R"({"k": "k299"})", R"("word 77")", "null"})
    EXPECT_TRUE(accepts(*gbnf, text)) << text;
  for (const char* text : {R"({"k": "k300"})", R"("word 300")", "{}"})
    EXPECT_FALSE(accepts(*gbnf, text)) << text;
}

// Each is refused or done, in bounded time.
TEST(JsonSchema, HostileSchemasTakeBoundedTime) {
  const auto repeat = [](const std::string& text, int n) {
    std::string out;
    for (int i = 0; i < n; ++i) out += text;
    return out;
  };
  std::string chain = R"({"$ref": "#/$defs/d0", "$defs": {)";
  for (int i = 0; i < 20000; ++i)
    chain += fmt::format(R"("d{}": {{"$ref": "#/$defs/d{}"}}, )", i, i + 1);
  chain += R"("d20000": {"type": "null"}}})";
  std::string nested = R"({"$ref": "#/$defs/d0", "$defs": {)";
  for (int i = 0; i < 20000; ++i)
    nested +=
        fmt::format(R"("d{}": {{"title": "t", "not": {{"$ref": "#/$defs/d{}"}}}}, )", i, i + 1);
  nested += R"("d20000": {"type": "null"}}})";
  std::string branching = R"({"$ref": "#/$defs/d0", "$defs": {)";
  for (int i = 0; i < 2000; ++i) {
    branching +=
        fmt::format(R"("d{}": {{"anyOf": [{{"allOf": [{{"$ref": "#/$defs/d{}"}}]}}, )", i, i + 1);
    branching += R"({"if": true, "then": false}]}, )";
  }
  branching += R"("d2000": {"type": "null"}}})";
  std::string wide = R"({"type": "object", "properties": {)";
  for (int i = 0; i < 10000; ++i) wide += fmt::format(R"("key{}": {{"type": "integer"}}, )", i);
  wide += R"("z": {}}, "additionalProperties": {"type": "string"}})";
  std::string one_of = R"({"oneOf": [)";
  for (int i = 0; i < 3000; ++i) {
    one_of += fmt::format(R"({{"type": "object", "properties": {{"k": {{"const": {}}}}}, )", i);
    one_of += R"("required": ["k"]}, )";
  }
  one_of += R"({"type": "null"}]})";
  std::string values = R"({"enum": [)";
  for (int i = 0; i < 20000; ++i) values += fmt::format("\"value {}\", ", i);
  values += "1]}";
  const std::string schemas[] = {
      repeat(R"({"allOf": [)", 60) + "{}" + repeat("]}", 60),
      repeat(R"({"not": )", 120) + "{}" + repeat("}", 120),
      R"({"allOf": [)" + repeat(R"({"anyOf": [{"minimum": 1}, {"maximum": 2}]}, )", 40) + "{}]}",
      R"({"not": {"allOf": [)" + repeat(R"({"oneOf": [{"minimum": 1}, {"maxLength": 2}]}, )", 40) +
          "{}]}}",
      R"({"pattern": ")" + repeat("(a|b|", 60) + "c" + repeat(")*", 60) + "\"}",
      R"({"pattern": "^(a?){200}a{200}$"})",
      R"({"pattern": "((a{1,99}){1,99}){1,99}"})",
      R"({"patternProperties": {"a.{9}$": {}, "b.{9}$": {}, "c.{9}$": {}, "d.{9}$": {}}})",
      R"({"type": "string", "pattern": "^[a-z]*$", "minLength": 5000, "maxLength": 1000000})",
      R"({"type": "number", "multipleOf": 0.0001, "minimum": 0.123456789012345678901234567890})",
      R"({"type": "integer", "multipleOf": 1997, "maximum": 1e300})",
      R"({"type": "array", "contains": {"const": 1}, "minContains": 1000000})",
      R"({"type": "object", "maxProperties": 1000000, "minProperties": 1})",
      chain,
      nested,
      branching,
      R"({"not": {"$ref": "#/$defs/d0"}, )" + branching.substr(branching.find("\"$defs")),
      wide,
      one_of,
      values};
  for (const std::string& schema : schemas) {
    SCOPED_TRACE(schema.substr(0, 100));
    const auto start = std::chrono::steady_clock::now();
    const auto gbnf = translate(schema);
    EXPECT_TRUE(!gbnf.ok() || Grammar::compile(*gbnf).ok());
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::cout << fmt::format("{:6.3f} s  {:8} bytes  {}  {}\n", seconds.count(),
                             gbnf.ok() ? gbnf->size() : 0, schema.substr(0, 40),
                             gbnf.ok() ? "" : gbnf.status().message().substr(0, 90));
    EXPECT_LT(seconds.count(), 20);
  }
}

}  // namespace
}  // namespace minfer::sampling

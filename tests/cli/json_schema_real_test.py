"""JSON Schema on the real model S at temperature 1: what it writes validates by the Python package
jsonschema, and ends by itself. 20 answers; MINFER_JSON_SCHEMA_ANSWERS=200 asks for more."""

import json
import os

import rig
from rig import minfer, real

try:
    import jsonschema
except ImportError:
    jsonschema = None

ANSWERS = int(os.environ.get("MINFER_JSON_SCHEMA_ANSWERS", 20))
AMPLE = 1500


def closed(properties, **more):
    return {"type": "object", "properties": properties, "required": list(properties),
            "additionalProperties": False, **more}


# A question and the schema of its answer. Strings and nesting have a largest size: no number of
# tokens is ample for a model that repeats itself.
TASKS = [
    ("Describe a person.", closed({
        "name": {"type": "string", "minLength": 1, "maxLength": 40},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "email": {"type": "string", "format": "email"},
        "hobbies": {"type": "array", "items": {"type": "string", "maxLength": 30}, "minItems": 1,
                    "maxItems": 4}})),
    ("What is the weather in Paris?", closed({
        "call": {"const": "get_weather"},
        "arguments": closed({"city": {"type": "string", "maxLength": 30}, "unit": {"enum": ["celsius", "fahrenheit"]},
                             "days": {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 15}})})),
    ("Plan a meeting.", closed({
        "id": {"type": "string", "format": "uuid"}, "start": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "address": {"type": "string", "format": "ipv4"}})),
    ("Draw a shape.", {"oneOf": [
        closed({"kind": {"const": "circle"}, "radius": {"type": "number", "exclusiveMinimum": 0}}),
        closed({"kind": {"const": "box"}, "width": {"type": "number", "minimum": 0.5},
                "height": {"type": "number", "maximum": 1e6}}),
        closed({"kind": {"const": "text"}, "words": {"type": "string", "maxLength": 60}})]}),
    ("Draw a tree.", {
        "$ref": "#/$defs/node",
        "$defs": {"node": closed({"value": {"type": "integer"},
                                  "children": {"type": "array", "items": {"$ref": "#/$defs/leaf"},
                                               "maxItems": 3}}),
                  "leaf": closed({"value": {"type": "integer"}})}}),
    ("Write a product.", {
        "allOf": [{"type": "object", "properties": {"sku": {"type": "string", "pattern": "^[A-Z]{3}-\\d{4}$"}},
                   "required": ["sku"]}],
        "properties": {"price": {"type": "number", "minimum": 0, "maximum": 10000},
                       "stock": {"type": "integer", "multipleOf": 5},
                       "tags": {"type": "array", "items": {"enum": ["new", "sale", "used"]},
                                "uniqueItems": True}},
        "required": ["price"], "unevaluatedProperties": False}),
    ("Name three numbers.", {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}),
    ("Is the sky blue?", {"type": ["boolean", "null"]}),
    ("Say a word.", {"type": "string", "pattern": "^[a-z]+( [a-z]+)?$", "not": {"const": "no"}}),
    ("Greet in a few languages.", {
        "type": "object", "propertyNames": {"pattern": "^[a-z]{2}$"}, "maxProperties": 4,
        "additionalProperties": {"type": "string", "maxLength": 40}}),
    ("Tell me about the moon.", closed({"answer": {"type": "string", "maxLength": 300}, "sure": {"type": "boolean"}})),
    ("List two books.", {"type": "array", "minItems": 2, "maxItems": 2, "items": closed(
        {"title": {"type": "string", "maxLength": 80}, "year": {"type": ["integer", "null"]}})}),
]


@rig.unittest.skipIf(jsonschema is None, "the Python package jsonschema is not installed")
class Answers(rig.Test):
    def test_each_validates_and_ends(self):
        kind = jsonschema.Draft202012Validator
        longest = 0
        for i in range(ANSWERS):
            question, schema = TASKS[i % len(TASKS)]
            done = minfer(real("S"), question, "--json", "--temp", 1, "--seed", i, "-n", AMPLE,
                          "--json-schema-str", json.dumps(schema))
            self.assertEqual(done.code, 0, f"{question} seed {i}: {done.err}")
            result = done.json()
            self.assertEqual(result["finish_reason"], "stop", result["text"])
            longest = max(longest, len(result["ids"]))
            errors = list(kind(schema, format_checker=kind.FORMAT_CHECKER)
                          .iter_errors(json.loads(result["text"])))
            self.assertEqual(errors, [], result["text"])
        print(f"{ANSWERS} answers, the longest of {longest} tokens")

    def test_any_object_makes_progress(self):
        # A poem as JSON at temperature 0: whole, or cut with text and not blanks.
        done = minfer(real("S"), "Write a poem.", "--json-object", "--temp", 0, "-n", 200, "-q")
        self.assertIn(done.code, (0, 3), done.err)
        self.assertTrue(done.text.startswith("{"))
        self.assertNotIn("  ", done.text)
        self.assertNotIn("\n", done.text)
        if done.code == 0:
            json.loads(done.text)
        else:
            self.assertIn("the JSON is incomplete: raise -n", done.err)


class Structured(rig.Test):
    """The schemas that other programs let through unconstrained."""

    def test_output_or_refusal(self):
        integer = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
                   "additionalProperties": False}
        pair = {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "number"}}
        for schema in (integer, {"type": "object", "properties": {}},
                       {"type": "string", "pattern": "^((a+)+)$"}, pair):
            done = self.ok(minfer(real("S"), "Answer.", "-q", "-n", AMPLE, "--json-schema-str",
                                  json.dumps(schema)))
            value = json.loads(done.text)
            if jsonschema is not None:
                jsonschema.validate(value, schema)
        done = minfer(real("S"), "Answer.", "-q", "-n", 300, "--json-schema-str", "{}")
        self.assertIn(done.code, (0, 3))
        if done.code == 0:
            json.loads(done.text)
        for schema in ({"$ref": "#/nope"}, {"enum": []}):
            self.refused(minfer(real("S"), "Answer.", "--json-schema-str", json.dumps(schema)), 2,
                         "JSON schema, #")
        done = minfer(real("S"), "Answer.", "-q", "-n", 3, "--json-schema-str", json.dumps(integer))
        self.assertEqual((done.code, done.err), (3, "minfer: the JSON is incomplete: raise -n\n"))


if __name__ == "__main__":
    rig.main()

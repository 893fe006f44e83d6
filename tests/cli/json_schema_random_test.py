"""Random schemas, and answers to them by a model that knows nothing: each answer that ends validates by
the Python package jsonschema, is spelt as docs/json-schema.md says, and a schema of which the program
says that no value fits has none among some candidates."""

import json
import random
import re

import rig
from rig import minfer, tiny

try:
    import jsonschema
except ImportError:
    jsonschema = None

KEYS = ["a", "b", "ab", "c"]
CONSTANTS = [None, True, False, 0, 1, -3, 1.5, 100, "a", "ab", "", 'b"\n', [], {}, [1], {"a": 1}, "c d"]
NUMBERS = [0, 1, -1, 2, 10, 3.5, -2.5, 100, 0.01, 17]
PATTERNS = ["^a", "b$", "^[a-c]*$", "a|b", "^(ab|c)+$", "^\\d{2,3}$", "x.y", "^[^a]+$", "^\\w+?$"]
CANDIDATES = CONSTANTS + [5, -7, "abc", ["a"], [None, 1], {"a": None}, {"b": "a"}, {"a": "a", "b": 1},
                          {"c": True}, {"ab": 3}, {"a": 0, "b": [], "c": ""}]


class Schemas:
    """Schemas of a seed; most are nonsense, as a whole some value fits most of them."""

    def __init__(self, seed):
        self.r = random.Random(seed)

    def document(self):
        schema = self.schema(self.r.randint(0, 3))
        if isinstance(schema, dict):
            schema = {**schema, "$defs": {"x": self.schema(1), "y": self.schema(2)}}
        return schema

    def schema(self, depth):
        kinds = [self.type, self.const, self.enum, self.number, self.string, self.trivial]
        if depth > 0:
            kinds += [self.object, self.object, self.array, self.contains, self.combined, self.combined,
                      self.condition, self.reference, self.mixed, self.unevaluated, self.dependent]
        return self.r.choice(kinds)(depth - 1)

    def maybe(self, chance, schema, key, make):
        if self.r.random() < chance:
            schema[key] = make()

    def list(self, depth, most=3):
        return [self.schema(depth) for _ in range(self.r.randint(1, most))]

    def trivial(self, _):
        return self.r.choice([True, {}])

    def type(self, _):
        names = ["null", "boolean", "integer", "number", "string", "array", "object"]
        return {"type": self.r.choice(names) if self.r.random() < 0.7 else self.r.sample(names, 2)}

    def const(self, _):
        return {"const": self.r.choice(CONSTANTS)}

    def enum(self, _):
        return {"enum": self.r.sample(CONSTANTS, self.r.randint(1, 4))}

    def number(self, _):
        schema = {"type": self.r.choice(["integer", "number"])}
        for bound in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            self.maybe(0.4, schema, bound, lambda: self.r.choice(NUMBERS))
        self.maybe(0.3, schema, "multipleOf", lambda: self.r.choice([1, 2, 3, 0.5, 7]))
        return schema

    def string(self, _):
        schema = {"type": "string"}
        self.maybe(0.4, schema, "minLength", lambda: self.r.randint(0, 3))
        self.maybe(0.4, schema, "maxLength", lambda: self.r.randint(0, 5))
        self.maybe(0.5, schema, "pattern", lambda: self.r.choice(PATTERNS))
        self.maybe(0.2, schema, "format", lambda: self.r.choice(["date", "ipv4", "ipv6", "uuid", "email"]))
        return schema

    def object(self, depth):
        schema = {"type": "object"} if self.r.random() < 0.8 else {}
        self.maybe(0.8, schema, "properties",
                   lambda: {k: self.schema(depth) for k in self.r.sample(KEYS, self.r.randint(0, 3))})
        self.maybe(0.5, schema, "required", lambda: self.r.sample(KEYS, self.r.randint(0, 2)))
        self.maybe(0.5, schema, "additionalProperties",
                   lambda: self.r.choice([False, True, self.schema(depth)]))
        self.maybe(0.3, schema, "patternProperties",
                   lambda: {p: self.schema(depth) for p in self.r.sample(["^a", "b", "c"], 2)})
        self.maybe(0.2, schema, "maxProperties", lambda: self.r.randint(0, 3))
        self.maybe(0.2, schema, "minProperties", lambda: self.r.randint(0, 2))
        self.maybe(0.2, schema, "propertyNames", lambda: {"maxLength": self.r.randint(1, 3)})
        return schema

    def array(self, depth):
        schema = {"type": "array"} if self.r.random() < 0.8 else {}
        self.maybe(0.4, schema, "prefixItems", lambda: self.list(depth))
        self.maybe(0.7, schema, "items", lambda: self.schema(depth))
        self.maybe(0.3, schema, "minItems", lambda: self.r.randint(0, 4))
        self.maybe(0.4, schema, "maxItems", lambda: self.r.randint(0, 4))
        self.maybe(0.1, schema, "uniqueItems", lambda: True)
        return schema

    def contains(self, depth):
        schema = {**self.array(depth), "contains": self.schema(depth)}
        self.maybe(0.4, schema, "minContains", lambda: self.r.randint(0, 3))
        self.maybe(0.4, schema, "maxContains", lambda: self.r.randint(0, 3))
        return schema

    def combined(self, depth):
        keyword = self.r.choice(["anyOf", "oneOf", "allOf", "not"])
        return {keyword: self.schema(depth) if keyword == "not" else self.list(depth)}

    def condition(self, depth):
        schema = {"if": self.schema(depth)}
        self.maybe(0.7, schema, "then", lambda: self.schema(depth))
        self.maybe(0.7, schema, "else", lambda: self.schema(depth))
        return schema

    def reference(self, _):
        return {"$ref": self.r.choice(["#/$defs/x", "#/$defs/y"])}

    def mixed(self, depth):
        schema = {}
        for part in self.list(depth):
            schema.update(part if isinstance(part, dict) else {})
        return schema

    def unevaluated(self, depth):
        schema = self.mixed(depth)
        schema[self.r.choice(["unevaluatedProperties", "unevaluatedItems"])] = self.r.choice(
            [False, False, self.schema(depth)])
        self.maybe(0.7, schema, self.r.choice(["allOf", "anyOf", "oneOf"]), lambda: self.list(depth))
        return schema

    def dependent(self, depth):
        schema = {"type": "object", "properties": {k: self.schema(depth) for k in self.r.sample(KEYS, 2)}}
        if self.r.random() < 0.5:
            schema["dependentRequired"] = {self.r.choice(KEYS): [self.r.choice(KEYS)]}
        else:
            schema["dependentSchemas"] = {self.r.choice(KEYS): self.schema(depth)}
        return schema


def ecma_pattern(_, pattern, instance, __):
    if isinstance(instance, str) and not re.search(pattern.replace("$", r"\Z"), instance, re.ASCII):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


def validator(schema):
    kind = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": ecma_pattern})
    return kind(schema, format_checker=kind.FORMAT_CHECKER)


def spelt(value):
    """As the rules of writing say, but for numbers, which may have zeros at their end."""
    if isinstance(value, dict):
        return "{" + ", ".join(spelt(k) + ": " + spelt(v) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(spelt, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, Number) else value.text


class Number(float):
    def __new__(cls, text):
        self = super().__new__(cls, text)
        self.text = text
        return self


@rig.unittest.skipIf(jsonschema is None, "the Python package jsonschema is not installed")
class RandomSchemas(rig.Test):
    def test_answers_validate(self):
        counts = {"whole": 0, "cut": 0, "refused": 0, "nothing fits": 0}
        for seed in range(30 if rig.SANITIZED else 120):
            self.answer(Schemas(seed).document(), seed, counts)
        print(counts)
        self.assertGreater(counts["whole"], counts["cut"] + counts["refused"])

    def answer(self, schema, seed, counts):
        text = json.dumps(schema)
        for attempt in range(2):
            done = minfer(tiny(), "Hi", "-q", "--json-schema-str", text, "--temp", 1, "--top-k", 0,
                          "--top-p", 1, "-n", 120, "--seed", 2 * seed + attempt)
            self.assertIn(done.code, (0, 2, 3), text + done.err)
            if done.code == 2:
                self.refusal(schema, text, done.err, counts)
                return
            counts["cut" if done.code == 3 else "whole"] += 1
            if done.code == 3:
                continue
            value = json.loads(done.text)
            errors = list(validator(schema).iter_errors(value))
            self.assertEqual(errors, [], f"{done.text}\n{text}")
            pairs = json.loads(done.text, parse_float=Number)
            # A key may come twice in an open object, and then the last one counts.
            if len(re.findall('": ', done.text)) == text_keys(pairs):
                self.assertEqual(spelt(pairs), done.text)

    def refusal(self, schema, text, error, counts):
        self.assertIn("JSON schema, #", error)
        if "no value fits" not in error:
            counts["refused"] += 1
            return
        counts["nothing fits"] += 1
        if '"format"' in text or '"properties"' in text:
            return  # less is written than fits
        for value in CANDIDATES:
            self.assertFalse(validator(schema).is_valid(value), f"{value!r} fits {text}")


def text_keys(value):
    if isinstance(value, dict):
        return sum(1 + text_keys(v) for v in value.values())
    return sum(map(text_keys, value)) if isinstance(value, list) else 0


if __name__ == "__main__":
    rig.main()

"""--json-schema, --json-schema-str and --json-object: what is refused before a model is loaded, and
how a run ends."""

import json

import rig
from rig import minfer, tiny


class Refused(rig.Test):
    def refuse(self, schema, *words):
        # No model is needed to say so.
        text = schema if isinstance(schema, str) else json.dumps(schema)
        done = self.refused(minfer("no-such.gguf", "Hi", "--json-schema-str", text), 2,
                            "--json-schema-str: JSON", *words)
        self.assertLess(done.seconds, 2)

    def test_keyword_and_pointer(self):
        self.refuse({"$ref": "#/nope"}, "#/$ref", '"#/nope" is not there')
        self.refuse({"properties": {"a": {"minLenght": 2}}}, "#/properties/a/minLenght", "unknown keyword")
        self.refuse({"items": {"contentMediaType": "a/b"}}, "#/items/contentMediaType", "not supported")
        self.refuse({"type": "string", "pattern": "(?=a)"}, "#/pattern", "look-around")
        self.refuse({"format": "regex"}, "#/format", '"regex"')
        self.refuse({"$ref": "http://example.com/x"}, "#/$ref", "out of the document")
        self.refuse({"$ref": "#"}, "leads back")
        self.refuse({"type": "text"}, "#/type", "must be")
        self.refuse({"enum": []}, "no value fits")
        self.refuse(False, "no value fits")
        self.refuse("3", "must be an object, true or false")
        self.refuse("{", "line 1, column 2")
        self.refuse("", "line 1, column 1")

    def test_hostile_schemas_are_refused_or_done_in_time(self):
        deep = '{"not":' * 10000 + "{}" + "}" * 10000
        self.refuse(deep, "nested too deeply")
        choices = [{"properties": {k: {"type": t}}, "required": [k]} for k in "abcdefgh"
                   for t in ("null", "string")]
        self.refuse({"type": "object", "allOf": [{"anyOf": choices} for _ in range(12)]}, "too complex")
        self.refuse({"type": "string", "pattern": "(a|b)*a(a|b){30}"}, "too big")
        self.refuse({"type": "array", "items": {"$ref": "#"}, "minItems": 1}, "no value fits")

    def test_options_that_exclude_each_other(self):
        for other in (("--json-object",), ("--grammar-str", 'root ::= "a"'), ("--ignore-eos",)):
            self.refused(minfer(tiny(), "Hi", "--json-schema-str", "{}", *other), 2, "exclude each other")

    def test_a_file_that_is_not_there(self):
        self.refused(minfer(tiny(), "Hi", "--json-schema", "no/such.json"), 1, "no/such.json")


class Ends(rig.Test):
    def test_values(self):
        person = rig.FOLDER / "person.json"
        person.write_text(json.dumps({
            "type": "object",
            "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 120},
                           "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3}},
            "required": ["age", "tags"]}))
        for seed in range(3):
            done = self.ok(minfer(tiny(), "Hi", "--temp", 1, "--seed", seed, "--json-schema", person))
            value = json.loads(done.text)
            self.assertEqual(list(value), ["age", "tags"])
            self.assertEqual(done.text, json.dumps(value))
        done = self.ok(minfer(tiny(), "Hi", "--json-schema-str", '{"type": "object", "properties": {}}'))
        self.assertEqual(done.text, "{}")

    def test_cut_is_status_3(self):
        schema = '{"type": "array", "minItems": 20, "items": {"enum": ["abc"]}}'
        done = minfer(tiny(), "Hi", "-n", 3, "-q", "--json-schema-str", schema)
        self.assertEqual((done.code, done.err), (3, "minfer: the JSON is incomplete: raise -n\n"))
        done = minfer(tiny(), "Hi", "-n", 1, "-q", "--json-object")
        self.assertEqual((done.code, done.text), (3, "{"))


if __name__ == "__main__":
    rig.main()

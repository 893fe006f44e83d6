"""Grammars on the three small real models: cut characters, dead ends, control tokens, JSON."""

import json
import re

import rig
from rig import minfer, real

EMOJI = "🦙歪é👨‍👩‍👧"
JSON = r'''
root   ::= object
value  ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" (pair (", " pair)*)? "}"
pair   ::= string ": " value
array  ::= "[" (value (", " value)*)? "]"
string ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})){0,60} "\""
number ::= "-"? ("0" | [1-9] [0-9]{0,14}) ("." [0-9]{1,9})?
'''


class Characters(rig.Test):
    def test_characters_over_several_tokens(self):
        for model in "SQG":
            done = self.ok(minfer(real(model), "x", "-q", "--grammar-str", f'root ::= "{EMOJI}"'))
            self.assertEqual(done.text, EMOJI)
            result = self.ok(minfer(real(model), "x", "--json", "--grammar-str",
                                    f'root ::= "{EMOJI}"')).json()
            self.assertEqual((result["text"], result["finish_reason"]), (EMOJI, "stop"))

    def test_cut_inside_a_character(self):
        # Whole characters, and at the end at most one U+FFFD in place of the cut one.
        for n in (1, 2, 3):
            for extra in ((), ("--json",)):
                done = minfer(real("S"), "x", "-q", "-n", n, *extra, "--grammar-str",
                              f'root ::= "{EMOJI}"')
                self.assertEqual(done.code, 3)
                text = done.json()["text"] if extra else done.text
                self.assertTrue(EMOJI.startswith(text.removesuffix("\N{REPLACEMENT CHARACTER}")))
                self.assertLessEqual(text.count("\N{REPLACEMENT CHARACTER}"), 1)
                if extra:
                    self.assertEqual(len(done.json()["ids"]), n)


class DeadEnds(rig.Test):
    def test_braces_end_with_the_end_token(self):
        result = self.ok(minfer(real("G"), "A list:", "--greedy", "--json", "--grammar-str",
                                'root ::= "{" [^}]{0,40} "}"')).json()
        self.assertRegex(result["text"], r"\A\{[^}]*\}\Z")
        self.assertEqual(result["finish_reason"], "stop")

    def test_two_byte_tokens(self):
        done = self.ok(minfer(real("S"), "x", "-q", "--grammar-str", 'root ::= "é"'))
        self.assertEqual(done.text, "é")

    def test_control_and_unused_tokens_are_never_drawn(self):
        # Biased up as far as it goes: G's <unused0> and others, Q's padding and <|im_start|>.
        for model, ids in (("G", (2, 3, 4, 6, 7, 105, 262143)), ("Q", (151643, 151644, 151700, 151935))):
            bias = [word for i in ids for word in ("--logit-bias", f"{i}:1000")]
            for temperature in (0, 1):
                result = minfer(real(model), "Hello", "--raw", "-n", 12, "--json", "--temp", temperature,
                                *bias, "--grammar-str", "root ::= [^x]+").json()
                self.assertFalse(set(ids) & set(result["ids"]), result["ids"])
                self.assertNotIn("x", result["text"])

    def test_nothing_legal_is_an_error_that_keeps_the_text(self):
        # S has no token for the byte 0xF1.
        done = minfer(real("S"), "x", "-q", "--grammar-str", 'root ::= "ab" "\\U00050000"')
        self.assertEqual(done.code, 1, done.err)
        self.assertEqual(done.text, "ab")
        self.assertIn("no legal token", done.err)


class Stops(rig.Test):
    """Stop strings over the borders of tokens, whatever the model would say."""

    def text(self, *stops, grammar='root ::= "alpha beta gamma delta"'):
        arguments = [word for stop in stops for word in ("--stop", stop)]
        streamed = self.ok(minfer(real("S"), "x", "-q", *arguments, "--grammar-str", grammar)).text
        result = self.ok(minfer(real("S"), "x", "--raw", "--json", *arguments, "--grammar-str", grammar))
        self.assertEqual(result.json()["finish_reason"], "stop")
        self.assertEqual(result.json()["text"], streamed)
        return streamed

    def test_stops(self):
        self.assertEqual(self.text("beta gamma"), "alpha ")
        self.assertEqual(self.text("gamma del", "beta"), "alpha ")
        self.assertEqual(self.text("delta!"), "alpha beta gamma delta")
        self.assertEqual(self.text("a"), "")
        self.assertEqual(self.text("ta g"), "alpha be")
        self.assertEqual(self.text("DEFGHIJ", grammar='root ::= "ABC DEFGHIJ"'), "ABC ")
        self.assertEqual(self.text("🦙", grammar='root ::= "x🦙y"'), "x")


class Json(rig.Test):
    def test_json_is_json(self):
        path = rig.FOLDER / "json.gbnf"
        path.write_text(JSON)
        for model in "SQG":
            for seed in (1, 2):
                done = minfer(real(model), "A person as JSON:", "-n", 150, "-q", "--temp", 1, "-s", seed,
                              "--grammar", path)
                self.assertIn(done.code, (0, 3), done.err)
                if done.code == 0:
                    json.loads(done.text)
                self.assertNotRegex(done.text, r"\A\s")

    def test_blanks_do_not_spin(self):
        path = rig.FOLDER / "json.gbnf"
        path.write_text(JSON)
        done = minfer(real("S"), "Write a poem.", "-n", 200, "-q", "--temp", 0, "--grammar", path)
        self.assertIn(done.code, (0, 3), done.err)
        outside = re.sub(r'"(\\.|[^"\\])*"?', "", done.text)
        self.assertNotIn("  ", outside)
        self.assertGreater(len(done.text), 50)


class Cost(rig.Test):
    """F-06: under a grammar of JSON, drawing a token takes under 5% of a decode step more."""

    def timings(self, model, *grammar):
        # Three lines are enough for the model to go on with a fourth, grammar or not.
        names = "apple pear plum fig date lemon lime mango melon grape peach cherry banana".split()
        prompt = "".join(json.dumps({"id": i, "items": [f"{name}{i}" for name in names]}) + "\n"
                         for i in range(1, 4))
        result = minfer(real(model), prompt, "--raw", "-n", 60, "--spec", "off", "--json", "-q",
                        "--temp", 0.1, *grammar).json()
        return result["text"], result["timings"]["sample_seconds"], result["timings"]["decode_seconds"]

    def test_overhead(self):
        for model in "QG":
            shares = []
            for _ in range(3):  # what else runs on the machine may hit one of them
                free_text, free, _ = self.timings(model)
                text, constrained, decode = self.timings(model, "--json-object")
                self.assertTrue(text.startswith('{"id": 4, "items": ["apple4"'), text)
                self.assertEqual(text, free_text)
                shares.append((constrained - free) / decode)
                if shares[-1] < 0.05:
                    break
            self.assertLess(min(shares), 0.05)


if __name__ == "__main__":
    rig.main()

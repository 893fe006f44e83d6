"""Speculation: the same bytes with every --spec, what is said about it, what is refused.

real_test.py runs the comparison on real models.
"""

import re

import rig
from rig import minfer, tiny

# Asks for a text that stands in the prompt: lookup finds much of it.
COPY = "Repeat exactly, three times: the quick brown fox jumps over the lazy dog, and the lazy " \
       "dog does not jump over the quick brown fox.\n"


class Same:
    """Mixed into a rig.Test."""

    def result(self, model, spec, *arguments):
        return self.ok(minfer(model, COPY, "--json", "-q", "--spec", spec, *arguments)).json()

    def same(self, model, specs, *arguments):
        plain = self.result(model, "off", *arguments)
        self.assertEqual(plain["timings"]["draft_tokens"], 0)
        accepted = {}
        for spec in specs:
            with self.subTest(spec=spec, arguments=arguments):
                result = self.result(model, spec, *arguments)
                for key in ("text", "ids", "finish_reason", "usage", "warnings"):
                    self.assertEqual(result[key], plain[key], key)
                timings = result["timings"]
                self.assertLessEqual(timings["draft_tokens_accepted"], timings["draft_tokens"])
                accepted[spec] = timings["draft_tokens_accepted"]
        return accepted

    RUNS = (("-n", 60, "--ignore-eos", "--greedy"),
            ("-n", 60, "--ignore-eos", "-s", 7, "--repeat-penalty", 1.1),
            ("-n", 500, "-c", 320, "--ignore-eos", "--greedy", "--spec-n", 5),
            ("-n", 60, "--greedy", "--stop", "dog", "--batch-size", 4))


class Tiny(Same, rig.Test):
    def test_every_mode(self):
        for arguments in self.RUNS:
            accepted = self.same(tiny(), ["auto", "lookup", tiny(), tiny("qwen2")], *arguments)
            if "--greedy" in arguments and "--stop" not in arguments:
                self.assertGreater(accepted[tiny()], 0)

    def test_without_room_for_a_draft(self):
        for arguments in (("--batch-size", 1, "-n", 20), ("-n", 1), ("-n", 2)):
            self.assertEqual(sum(self.same(tiny(), ["lookup", tiny()], *arguments).values()), 0)


class Told(rig.Test):
    def test_summary(self):
        arguments = (tiny(), "abababababababab", "--raw", "-n", 60, "--ignore-eos", "--greedy")
        done = self.ok(minfer(*arguments, "--spec", tiny()))
        found = re.search(r"(?m)^Speculation: (\d+) of (\d+) drafted tokens accepted in (\d+) "
                          r"forwards$", done.err)
        self.assertTrue(found, done.err)
        accepted, drafted, rounds = map(int, found.groups())
        # The model is its own draft: every guess is right.
        self.assertEqual(accepted, drafted)
        # Prefill, then forwards: each ends with a token that was not drafted.
        built, reused = rig.graph_counts(done)
        self.assertEqual(built + reused, 1 + 59 - accepted)
        self.assertLess(built, 8)
        self.assertGreaterEqual(59 - accepted, rounds)
        self.assertNotIn("Speculation", self.ok(minfer(*arguments, "--spec", "off")).err)
        self.assertEqual(self.ok(minfer(*arguments, "-q", "--spec", tiny())).err, "")

    def test_refused(self):
        self.refused(minfer(tiny(), "Hi", "--spec", "no-such.gguf"), 1, "--spec", "no-such.gguf")
        self.refused(minfer(tiny(), "Hi", "--spec", tiny("llama", "F32", "--no-tokenizer"), "-q"), 2,
                     "--spec", "no tokenizer")
        for n in (0, 32):
            self.refused(minfer(tiny(), "Hi", "--spec-n", n), 2, "--spec-n", "1 to 31")


if __name__ == "__main__":
    rig.main()

"""The observation switches, and how often graphs are built, on tiny models."""

import observations
import rig
from rig import minfer, tiny


class Dense(observations.Observations, rig.Test):
    def model(self):
        return tiny("llama", "Q4_0")


class Experts(observations.Observations, rig.Test):
    FUSED = ("fused_qkv",)

    def model(self):
        return tiny("qwen3moe", "Q8_0")


class Graphs(rig.Test):
    def counts(self, *arguments):
        done = self.ok(minfer(tiny(), "--ignore-eos", "-n", 100, "--spec", "off", *arguments))
        found = rig.graph_counts(done)
        self.assertTrue(found, done.err)
        return found

    def test_one_chunk(self):
        self.assertEqual(self.counts("Hello"), (2, 98))

    def test_one_token(self):
        self.assertEqual(self.counts("--raw", "a"), (1, 99))

    def test_chunks(self):
        # A chunk that is not the last (used twice), the last one, decode.
        self.assertEqual(self.counts("--raw", "a" * 40, "--batch-size", 16), (3, 1 + 98))


if __name__ == "__main__":
    rig.main()

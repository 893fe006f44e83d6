"""Tests of scripts/bench_peer: minfer itself on a tiny model beside a peer that is a small script.

    bench_peer_test.py MINFER MAKE_TINY_MODEL
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MINFER, MAKE_TINY_MODEL = sys.argv[1:3]

# Says 100, 300 and 200 tokens a second, or an answer; records how it was called.
FAKE_PEER = '''#!/usr/bin/env python3
import json, os, sys
with open(os.environ["CALLS"], "a") as calls:
    print(*sys.argv[1:], sep="|", file=calls)
if os.environ.get("PEER_FAILS"):
    print("first line\\nthe last line", file=sys.stderr)
    sys.exit(3)
if sys.argv[3] == "gen":
    print("1 2 3", flush=True)
else:
    print("noise")
    rates = [100, 300, 200]
    print(json.dumps({"pp_tps": rates if sys.argv[4] != "0" else [], "tg_tps": rates}))
'''


class BenchPeer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.peer = self.folder / "peer"
        (self.peer / "deep/libs").mkdir(parents=True)
        (self.peer / "deep/libs/libone.so.2").touch()
        self.harness = self.peer / "peer_bench"
        self.harness.write_text(FAKE_PEER)
        self.harness.chmod(0o755)
        self.model = self.folder / "tiny.gguf"
        subprocess.run([MAKE_TINY_MODEL, self.model, "llama", "Q4_0"], check=True,
                       stdout=subprocess.DEVNULL)
        self.out = self.folder / "table.md"

    def compare(self, *arguments, **environment):
        return subprocess.run(
            [sys.executable, ROOT / "scripts/bench_peer", *map(str, arguments), "--minfer", MINFER,
             "--out", self.out], text=True, check=False, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "CALLS": str(self.folder / "calls"), **environment})

    def calls(self):
        return (self.folder / "calls").read_text().splitlines()

    def test_every_test_has_a_row(self):
        done = self.compare(self.peer, self.model, "--pairs", 2, "--threads", 1, MINFER_ISA="scalar")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, self.out.read_text())
        self.assertIn("minfer: scalar, both: 1 threads. Medians of 2 interleaved", done.stdout)
        rows = [[cell.strip() for cell in line.split("|")[1:-1]]
                for line in done.stdout.splitlines() if line.startswith("| tiny")]
        self.assertEqual([row[1] for row in rows],
                         ["prefill 512", "decode", "decode at depth 2048", "8 sequences, decode",
                          "process start to first token", "peak memory"])
        for row in rows[:4]:
            self.assertEqual(row[3], "200.0 tok/s")
            ours, ratio = float(row[2].split()[0]), float(row[4])
            self.assertAlmostEqual(ratio, ours / 200, delta=0.01 * ratio + 0.01)
            self.assertRegex(row[6], r"^\d+%$")
        self.assertRegex(rows[5][2], r"^\d+ MB$")
        for row in rows:
            least, largest = map(float, row[5].split(" - "))
            self.assertTrue(least <= float(row[4]) <= largest, row)
        self.assertRegex(done.stdout, r"tiny: decode at depth 2048 against depth 0: "
                                      r"minfer \d\.\d\d, peer 1\.00\.")

    def test_the_harness_is_called_as_it_says(self):
        self.compare(self.peer, self.model, "--pairs", 1, "--threads", 1)
        common = f"{self.peer}/deep/libs|{self.model}|"
        self.assertEqual([re.sub(r"gen\|.*\|8\|1", "gen|...", call) for call in self.calls()],
                         [common + tail for tail in (
                             "-p|512|-n|0|-d|0|-r|2|-b|1|-t|1", "-p|0|-n|64|-d|0|-r|2|-b|1|-t|1",
                             "-p|0|-n|32|-d|2048|-r|1|-b|1|-t|1", "-p|0|-n|32|-d|0|-r|1|-b|8|-t|1",
                             "gen|...")])

    def test_quick_and_chosen_tests(self):
        done = self.compare(self.peer, self.model, "--tests", "memory", "--quick", "--threads", 1)
        self.assertEqual(len(self.calls()), 2, done.stderr)
        self.assertEqual(len([x for x in done.stdout.splitlines() if x.startswith("| tiny")]), 1)

    def refused(self, done, *words):
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "")
        for word in words:
            self.assertIn(word, done.stderr.splitlines()[-1])

    def test_what_is_missing_is_named(self):
        self.refused(self.compare(), "no peer", "PEER=DIR")
        self.refused(self.compare(self.folder / "none"), "none/peer_bench is missing")
        self.refused(self.compare(self.peer, self.folder / "no.gguf"), "no.gguf", "make models")
        (self.peer / "deep/libs/libone.so.2").unlink()
        self.refused(self.compare(self.peer, self.model), "no shared libraries")
        self.assertEqual(self.compare(self.peer, self.model, "--tests", "speed").returncode, 2)

    def test_a_peer_that_fails(self):
        done = self.compare(self.peer, self.model, PEER_FAILS="1")
        self.refused(done, "peer_bench failed with 3: the last line")
        self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

"""Tests of scripts/instruction_counts.py: what it reads, what it calls worse, when it skips."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import instruction_counts as gate  # noqa: E402

# Two calls of one phase, a call from within a phase, and lines between.
CALLGRIND = """events: Ir
fn=main
0 12
cfi=phases.cc
cfn=phase_load
calls=1 0
0 1000
cfn=phase_decode
calls=1 0
0 2000
0 3
fn=phase_decode
0 500
cfn=not_a_phase
calls=9 0
0 700
cfn=phase_load
calls=1 0
0 24
"""


class Gate(unittest.TestCase):
    def test_reads_inclusive_counts(self):
        self.assertEqual(gate.phase_counts(CALLGRIND), {"load": 1024, "decode": 2000})

    def compare(self, ours, theirs):
        return gate.compare({"m": ours}, {"m": theirs})

    def test_three_per_cent_more_fails(self):
        self.assertEqual(self.compare({"a": 1030}, {"a": 1000}), ([], []))
        worse, better = self.compare({"a": 1031}, {"a": 1000})
        self.assertEqual(better, [])
        self.assertEqual(worse, ["m: a takes 1,031 instructions, +3.1% against the table"])

    def test_ten_per_cent_less_asks(self):
        self.assertEqual(self.compare({"a": 900}, {"a": 1000}), ([], []))
        worse, better = self.compare({"a": 899}, {"a": 1000})
        self.assertEqual(worse, [])
        self.assertEqual(better, ["m: a takes 899 instructions, -10.1% against the table"])

    def test_a_phase_may_not_vanish(self):
        self.assertEqual(self.compare({"a": 1}, {"a": 1, "b": 1})[0],
                         ["m: b stands only in the table"])
        self.assertEqual(self.compare({"a": 1, "c": 1}, {"a": 1})[0],
                         ["m: c stands only in the program"])

    def test_another_compiler_is_skipped(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "phases")
            program.write_text("#!/bin/sh\necho gcc 99.1 x86-64\n")
            program.chmod(0o755)
            table = pathlib.Path(folder, "table.json")
            table.write_text(json.dumps({"environment": "gcc 12.2 x86-64, glibc 2.36"}))
            done = subprocess.run(
                [sys.executable, ROOT / "scripts/instruction_counts.py", program, "--table", table],
                text=True, check=False, stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 77)
        self.assertIn("the table is of gcc 12.2 x86-64, glibc 2.36, this is gcc 99.1", done.stdout)

    def test_the_table_has_every_run(self):
        table = json.loads((ROOT / "scripts/instruction_counts.json").read_text())
        self.assertEqual(sorted(table["counts"]), sorted(" ".join(run) for run in gate.RUNS))
        for counts in table["counts"].values():
            self.assertEqual(sorted(counts), ["build_graph", "decode", "load", "prefill", "sampling",
                                              "tokenize"])


if __name__ == "__main__":
    os.chdir(ROOT)
    unittest.main()

"""Processors: which instruction set and how many threads are used, and that it is said."""

import os
import re
import shutil
import signal
import unittest

import rig
from rig import minfer, tiny

QEMU = shutil.which("qemu-x86_64") or shutil.which("qemu-x86_64-static")
EMULATED = (("Nehalem", "scalar"), ("SandyBridge", "scalar"), ("Haswell", "avx2"))


def header_isa(done):
    # The emulator may warn first.
    header = next(line for line in done.err_lines if not line.startswith("qemu"))
    return header.split(" | ")[-1]


def emulated(cpu, *arguments, **options):
    return minfer(*arguments, wrap=(QEMU, "-cpu", cpu), timeout=280, **options)


@unittest.skipIf(rig.SANITIZED, "sanitizers do not run under the emulator")
@unittest.skipUnless(QEMU, "no qemu-x86_64 (package qemu-user)")
class OtherProcessors(rig.Test):
    def run_on(self, model, *arguments):
        native = self.ok(minfer(model, *arguments, env={"MINFER_ISA": "scalar"}))
        self.assertEqual(header_isa(native), "scalar")
        for cpu, isa in EMULATED:
            with self.subTest(cpu):
                done = self.ok(emulated(cpu, model, *arguments))
                self.assertEqual(header_isa(done), isa)
                self.assertEqual(done.out, native.out)

    def test_same_text(self):
        for model in (tiny("llama", "Q4_1"), tiny("gemma3"), tiny("qwen2", "Q6_K")):
            self.run_on(model, "Hello", "-n", 10, "--ignore-eos")

    def test_same_logits(self):
        tokens = ("logits", tiny("llama", "Q4_K"), "--tokens", "3,40,50", "--all", "--out", "-",
                  "-q")
        native = self.ok(minfer(*tokens)).out
        for cpu, _ in EMULATED:
            self.assertEqual(self.ok(emulated(cpu, *tokens)).out, native)

    def test_a_forced_set_that_is_not_there(self):
        done = emulated("Nehalem", tiny(), "Hello", "-n", 3, env={"MINFER_ISA": "avx2"})
        self.assertEqual(done.code, 1)
        self.assertIn("minfer: MINFER_ISA=avx2: this machine", done.err)
        self.assertIn("has no AVX2", done.err)

    def test_an_operating_system_that_saves_no_wide_registers(self):
        done = self.ok(emulated("Haswell,-xsave", tiny(), "Hello", "-n", 3))
        self.assertEqual(header_isa(done), "scalar")


class InstructionSet(rig.Test):
    def test_forced(self):
        texts = set()
        for isa in ("scalar", ""):
            done = self.ok(minfer(tiny("llama", "Q4_1"), "Hello", "-n", 20, "--ignore-eos",
                                  env={"MINFER_ISA": isa}))
            texts.add(done.out)
            if isa:
                self.assertEqual(header_isa(done), isa)
        self.assertEqual(len(texts), 1)

    def test_unknown_name(self):
        for command in ((tiny(), "Hello"), ("logits", tiny(), "--tokens", "3"), ("bench", tiny())):
            done = minfer(*command, env={"MINFER_ISA": "bogus"})
            self.refused(done, 2, "MINFER_ISA", "bogus", "scalar", "avx2")


class Threads(rig.Test):
    def header(self, *arguments, **options):
        done = self.ok(minfer(tiny(), "Hello", "-n", 3, *arguments, **options))
        return re.search(r"\| (\d+) threads? \((.+?)\) \|", done.err_lines[0]).groups()

    def test_given(self):
        self.assertEqual(self.header("-t", 3), ("3", "--threads"))
        self.assertEqual(self.header("-t", 1), ("1", "--threads"))

    def test_they_run(self):
        for count in (1, 3):
            run = rig.Running(tiny(), "Hello", "--raw", "-c", 400000, "-n", -1, "--ignore-eos",
                              "-t", count)
            self.assertTrue(rig.wait_for(lambda: len(run.out_so_far()) > 100))
            self.assertEqual(run.threads(), count)
            run.send(signal.SIGINT)
            run.finish(20)

    def test_affinity(self):
        one = {min(os.sched_getaffinity(0))}
        count, reason = self.header(preexec=lambda: os.sched_setaffinity(0, one))
        self.assertEqual(count, "1")
        if len(os.sched_getaffinity(0)) > 1:
            self.assertEqual(reason, "affinity")

    def test_automatic(self):
        count, reason = self.header()
        self.assertLessEqual(int(count), len(os.sched_getaffinity(0)))
        self.assertIn(reason, ("affinity", "cgroup quota", "physical cores"))
        done = self.ok(minfer("bench", tiny(), "-p", 4, "-n", 0, "-r", 1, "-o", "json", "-q"))
        self.assertEqual(done.json()[0]["threads"], int(count))


@unittest.skipIf(rig.SANITIZED, "sanitizers take memory of their own")
class Memory(rig.Test):
    def test_a_long_context_costs_nothing_until_it_is_used(self):
        small = self.ok(minfer(tiny(), "Hello", "-n", 3, "-c", 64)).peak_bytes
        large = self.ok(minfer(tiny(), "Hello", "-n", 3, "-c", 1000000)).peak_bytes
        self.assertLess(large - small, 40 << 20)


if __name__ == "__main__":
    rig.main()

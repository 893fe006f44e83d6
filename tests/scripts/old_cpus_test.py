"""The one binary on processors that lack what this machine has, emulated by qemu: same bits.

    old_cpus_test.py MINFER MAKE_TINY_MODEL

Skipped where qemu-x86_64 is not installed (scripts/setup --dev).
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

# Processor, and the instruction set that the program must choose there. Haswell without xsave has
# AVX2 by CPUID, but the system could not save its registers.
PROCESSORS = [
    ("qemu64", "scalar"),
    ("Nehalem", "scalar"),
    ("SandyBridge", "scalar"),
    ("Haswell,-xsave", "scalar"),
    ("Haswell", "avx2"),
]
MODELS = [["llama", "Q4_K"], ["gemma3", "Q5_0"]]


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=300, check=False)


@unittest.skipUnless(shutil.which("qemu-x86_64"), "qemu-x86_64 is not installed")
class OldProcessors(unittest.TestCase):
    minfer = ""
    make_tiny_model = ""

    def test_same_logits_everywhere(self):
        with tempfile.TemporaryDirectory() as folder:
            for number, spec in enumerate(MODELS):
                model = str(pathlib.Path(folder, f"{number}.gguf"))
                made = run(self.make_tiny_model, model, *spec)
                self.assertEqual(made.returncode, 0, made.stderr)
                self.check(spec, model)

    def check(self, spec, model):
        arguments = ["logits", model, "--tokens", "3,4,5,6,7", "--all", "--out", "-", "-t", "2"]
        native = run(self.minfer, *arguments)
        self.assertEqual(native.returncode, 0, native.stderr)
        self.assertGreater(len(native.stdout), 0)
        for processor, isa in PROCESSORS:
            with self.subTest(model=spec, processor=processor):
                emulated = run("qemu-x86_64", "-cpu", processor, self.minfer, *arguments)
                self.assertEqual(emulated.returncode, 0, emulated.stderr)
                self.assertTrue(emulated.stdout == native.stdout, "the logits differ")
                header = run("qemu-x86_64", "-cpu", processor, self.minfer, model, "--raw", "a",
                             "-n", "1").stderr.decode()
                self.assertRegex(header, rf"\b{isa}\b")


if __name__ == "__main__":
    OldProcessors.minfer, OldProcessors.make_tiny_model = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])

"""The program on other processors, emulated by qemu: same bits.

    processors_test.py x86_64|aarch64 MINFER_THERE MINFER MAKE_TINY_MODEL

MINFER_THERE, for the emulated architecture, is compared with MINFER on this machine. Skipped where
the emulator is not installed (scripts/setup --dev).
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

# Processor, and the instruction set that the program must choose there.
PROCESSORS = {
    "x86_64": [
        ("qemu64", "scalar"),
        ("Nehalem", "scalar"),
        ("SandyBridge", "scalar"),
        # AVX2 by CPUID, but the system could not save its registers.
        ("Haswell,-xsave", "scalar"),
        ("Haswell", "avx2"),
    ],
    "aarch64": [
        ("cortex-a53", "neon"),
        ("neoverse-n1", "dotprod"),
        ("max", "i8mm"),
    ],
}
MODELS = [["llama", "Q4_K"], ["gemma3", "Q5_0"]]
# Two rows meet the same weights at a time in some kernels; one is left over.
TOKENS = "3,4,5,6,7"


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=300, check=False)


class Processors(unittest.TestCase):
    architecture = ""
    minfer_there = ""
    minfer = ""
    make_tiny_model = ""

    def test_same_logits_everywhere(self):
        self.qemu = f"qemu-{self.architecture}"
        if not shutil.which(self.qemu):
            self.skipTest(f"{self.qemu} is not installed")
        with tempfile.TemporaryDirectory() as folder:
            for number, spec in enumerate(MODELS):
                model = str(pathlib.Path(folder, f"{number}.gguf"))
                made = run(self.make_tiny_model, model, *spec)
                self.assertEqual(made.returncode, 0, made.stderr)
                self.check(spec, model)

    def check(self, spec, model):
        arguments = ["logits", model, "--tokens", TOKENS, "--all", "--out", "-", "-t", "2"]
        native = run(self.minfer, *arguments)
        self.assertEqual(native.returncode, 0, native.stderr)
        self.assertGreater(len(native.stdout), 0)
        for processor, isa in PROCESSORS[self.architecture]:
            with self.subTest(model=spec, processor=processor):
                emulated = run(self.qemu, "-cpu", processor, self.minfer_there, *arguments)
                self.assertEqual(emulated.returncode, 0, emulated.stderr)
                self.assertTrue(emulated.stdout == native.stdout, "the logits differ")
                header = run(self.qemu, "-cpu", processor, self.minfer_there, model, "--raw",
                             "a", "-n", "1").stderr.decode()
                self.assertRegex(header, rf"\b{isa}\b")


if __name__ == "__main__":
    (Processors.architecture, Processors.minfer_there, Processors.minfer,
     Processors.make_tiny_model) = sys.argv[1:5]
    unittest.main(argv=sys.argv[:1])

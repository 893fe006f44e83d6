"""golden/gguf_bad: `minfer logits FILE --tokens 3,4,5` on every damaged file, within its bounds."""

import resource

import rig
from rig import minfer

MEMORY = 200 << 20
MAY_LOAD = ("tok_invalid_utf8", "tok_merge_unknown_piece", "tok_duplicate_piece")


def address_space():
    resource.setrlimit(resource.RLIMIT_AS, (2_000_000 << 10, 2_000_000 << 10))


class GoldenBad(rig.Test):
    def logits(self, path):
        """Sanitizers reserve address space and take memory: their runs have no bounds but time."""
        done = minfer("logits", path, "--tokens", "3,4,5",
                      preexec=None if rig.SANITIZED else address_space)
        self.assertLess(done.seconds, 20 if rig.SANITIZED else 2)
        if not rig.SANITIZED:
            self.assertLess(done.peak_bytes, MEMORY)
        return done

    def test_every_file(self):
        files = sorted(rig.golden("gguf_bad").glob("*.gguf"))
        self.assertEqual(len(files), 62)
        refused = 0
        for path in files:
            with self.subTest(path.name):
                done = self.logits(path)
                if path.stem == "good" or path.stem.startswith("template_"):
                    self.assertEqual(done.code, 0, done.err)
                elif path.stem in MAY_LOAD and done.code == 0:
                    self.assertGreater(len(done.out), 0)
                    self.assertEqual(done.err.splitlines()[1][:8], "minfer: ")
                    self.assertIn("\nwarning ", self.ok(minfer("info", path)).text)
                    self.assertTrue(self.ok(minfer("info", path, "--json")).json()["warnings"])
                else:
                    self.refused(done, 1, str(path))
                    self.assertGreater(len(done.err), len(f"minfer: {path}: ") + 10)
                    refused += 1
        self.assertGreaterEqual(refused, 56)

    def test_other_commands_say_no_too(self):
        for path in sorted(rig.golden("gguf_bad").glob("*.gguf")):
            for command in (("info", path), ("tokenize", path, "x"), (path, "Hello", "-n", "1")):
                with self.subTest(path=path.name, command=str(command[0])):
                    done = minfer(*command)
                    self.assertIn(done.code, (0, 1), done.err)
                    self.assertLess(done.seconds, 20 if rig.SANITIZED else 2)
                    if done.code == 1:
                        self.assertEqual(len(done.err_lines), 1, done.err)

    def test_hostile_templates_are_refused_for_chat(self):
        for path in sorted(rig.golden("gguf_bad").glob("template_*.gguf")):
            done = minfer(path, "Hello", "-n", 1)
            self.refused(done, 1, "template", "--raw")
            self.assertLess(done.seconds, 10 if rig.SANITIZED else 1)


if __name__ == "__main__":
    rig.main()

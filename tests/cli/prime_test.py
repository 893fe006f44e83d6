"""prime and --prefix: the same text as without, what is refused, what is left on the disk."""

import os
import re
import resource
import signal
import stat

import rig
from rig import Running, minfer, tiny, wait_for

TEXT = "The quick brown fox jumps over the lazy dog. " * 12
KV = rig.FOLDER / "p.kv"


def document(text=TEXT, name="document.txt"):
    path = rig.FOLDER / name
    path.write_text(text)
    return path


class Prime(rig.Test):
    def setUp(self):
        KV.unlink(missing_ok=True)

    def prime(self, *arguments, model=None, **options):
        return self.ok(minfer("prime", model or tiny(), "-o", KV, *arguments, **options))

    def counts(self, done):
        """(tokens, of them computed) of a prime's summary."""
        found = re.search(r"Prefix: (\d+) tokens, (\d+) of them computed", done.err)
        return int(found[1]), int(found[2])

    def prefilled(self, done):
        return int(re.search(r"Prefill: (\d+) tokens", done.err)[1])

    def same(self, *arguments, **options):
        """Runs with and without the prefix; how many tokens the one with it prefilled."""
        arguments = (tiny(), "-n", 20, *arguments)
        plain = self.ok(minfer(*arguments, "--json", **options)).json()
        done = self.ok(minfer(*arguments, "--json", "--prefix", KV, **options))
        for key in ("text", "ids", "prompt_ids", "finish_reason", "usage"):
            self.assertEqual(done.json()[key], plain[key], key)
        return self.prefilled(done)

    def test_a_prompt_that_goes_on_from_it(self):
        n, computed = self.counts(self.prime("-f", document()))
        self.assertEqual(n, computed)
        self.assertGreater(n, 100)
        for extra in ((), ("--temp", 1.5, "--repeat-penalty", 1.4, "--frequency-penalty", 0.5),
                      ("--spec", "lookup"), ("--spec", tiny()), ("--batch-size", 7), ("-c", 900)):
            with self.subTest(extra=extra):
                prefilled = self.same("-f", document(), *extra, stdin=b"And then?")
                self.assertLess(prefilled, 40)
        done = minfer(tiny(), "-n", 2, "-f", document(), "--prefix", KV, stdin=b"And then?")
        self.assertNotIn("--prefix", self.ok(done).err)

    def test_a_draft_model_knows_the_prefix(self):
        self.prime("-f", document())
        timings = self.ok(minfer(tiny(), "-n", 60, "--json", "--greedy", "--spec", tiny(), "-f",
                                 document(), "--prefix", KV, stdin=b"And then?")).json()["timings"]
        # It is the model itself: it is always right where it has read the same.
        self.assertGreater(timings["draft_tokens"], 20)
        self.assertGreater(timings["draft_tokens_accepted"], 0.8 * timings["draft_tokens"])

    def test_raw(self):
        self.prime(TEXT, "--raw")
        self.assertLess(self.same(TEXT + "more", "--raw"), 10)
        # The whole prompt is there: its last token is run all the same.
        self.assertGreaterEqual(self.same(TEXT, "--raw"), 1)

    def test_system_text(self):
        n, _ = self.counts(self.prime("--system", TEXT))
        self.assertLess(self.same("--system", TEXT, "Hello"), 40)
        self.assertGreater(n, 100)

    def test_a_prompt_that_begins_otherwise(self):
        self.prime("-f", document())
        half = document(TEXT[:len(TEXT) // 2] + "and something else", "half.txt")
        whole = self.prefilled(self.ok(minfer(tiny(), "-n", 1, "-f", half)))
        done = self.ok(minfer(tiny(), "-n", 1, "-f", half, "--prefix", KV))
        self.assertLess(self.prefilled(done), whole * 0.7)
        self.assertRegex(done.err, r"--prefix: the prompt begins with \d+ of the \d+ tokens in ")
        self.same("-f", half)
        self.assertIn("begins with 0 of the", self.ok(
            minfer(tiny(), "-n", 1, "--raw", "Else", "--prefix", KV)).err)
        self.same("--raw", "Else")

    def test_what_is_there_is_not_computed_again(self):
        n, _ = self.counts(self.prime("-f", document()))
        self.assertEqual(self.counts(self.prime("-f", document())), (n, 0))
        longer, computed = self.counts(self.prime("-f", document(TEXT + TEXT)))
        self.assertGreater(longer, n)
        self.assertLess(computed, longer - n + 20)
        self.same("-f", document(TEXT + TEXT), stdin=b"And then?")
        # Another model's is made anew.
        other = tiny("qwen2")
        again, computed = self.counts(self.prime("-f", document(), model=other))
        self.assertEqual(again, computed)

    def test_a_chat_begins_with_it(self):
        self.prime("--system", TEXT)
        chat = ("chat", tiny(), "-n", 8, "--temp", 1, "--system", TEXT)
        lines = b"Hello\nAnd then?\n"
        plain = self.ok(minfer(*chat, stdin=lines))
        done = self.ok(minfer(*chat, "--prefix", KV, stdin=lines))
        self.assertEqual(done.out, plain.out)
        first, second = (re.findall(r"prefill (\d+) in", run.err) for run in (plain, done))
        self.assertGreater(int(first[0]), 100)
        self.assertLess(int(second[0]), 40)
        self.assertEqual(first[1], second[1])
        # Another beginning takes nothing of it.
        other = ("chat", tiny(), "-n", 8, "--temp", 1, "--system", "Else")
        self.assertEqual(self.ok(minfer(*other, "--prefix", KV, stdin=lines)).out,
                         self.ok(minfer(*other, stdin=lines)).out)

    def test_another_model_or_type_is_refused(self):
        self.prime("-f", document())
        run = ("-q", "-n", 1, "--prefix", KV, "Hello")
        self.refused(minfer(tiny("qwen2"), *run), 1, str(KV), "cannot be used", "another model")
        self.refused(minfer(tiny(), *run, "--kv-type", "f32"), 1,
                     "another KV type: f16, this is f32")

    def test_files_that_are_no_prefix(self):
        run = (tiny(), "-q", "-n", 1, "Hello", "--prefix")
        self.refused(minfer(*run, rig.FOLDER / "none.kv"), 1, "none.kv is not there")
        self.refused(minfer(*run, document()), 1, "document.txt is no session file")
        self.refused(minfer(*run, rig.FOLDER), 2, "is a folder")
        pipe = rig.FOLDER / "pipe"
        os.mkfifo(pipe)
        self.refused(minfer(*run, pipe), 2, "is a device or pipe")
        self.refused(minfer("prime", tiny(), "-q", "x", "-o", document()), 1, "is no session file")
        self.assertEqual(document().read_text(), TEXT)

    def test_usage(self):
        self.refused(minfer("prime", tiny(), TEXT), 2, "--output")
        self.refused(minfer("prime", tiny(), "-o", KV), 2, "nothing to compute", "-f")
        self.refused(minfer("prime", tiny(), "x", "-o", tiny()), 2)
        self.refused(minfer("prime", tiny(), "x", "--raw", "--system", "y", "-o", KV), 2, "--raw")
        self.assertFalse(KV.exists())

    def test_the_file_is_private(self):
        self.prime("-f", document())
        self.assertEqual(stat.S_IMODE(KV.stat().st_mode), 0o600)

    def test_processes_share_it(self):
        text = document()
        self.prime("-f", text)
        runs = [Running(tiny(), "-n", 5, "--json", "-f", text, "--prefix", KV, stdin=b"Now")
                for _ in range(3)]
        texts = {self.ok(run.finish()).json()["text"] for run in runs}
        self.assertEqual(len(texts), 1)

    def test_a_full_disk(self):
        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000))

        done = minfer("prime", tiny(), "-q", TEXT, "-o", KV, preexec=small)
        self.refused(done, 1, f"minfer: {KV} cannot be written: File too large")
        self.assertFalse(KV.exists())
        self.assertFalse(KV.with_name("p.kv.minfer-new").exists())
        # One that was there stays as it is.
        self.prime("A short one, " * 5)
        before = KV.read_bytes()
        self.assertEqual(minfer("prime", tiny(), "-q", TEXT, "-o", KV, preexec=small).code, 1)
        self.assertEqual(KV.read_bytes(), before)

    def test_ctrl_c_leaves_nothing(self):
        run = Running("prime", tiny(), document("word " * 100000).read_text()[:90000], "-c", 100000,
                      "--raw", "-o", KV)
        self.assertTrue(wait_for(lambda: "context" in run.err_so_far().decode()))
        run.send(signal.SIGINT)
        self.assertEqual(run.finish(20).code, 130)
        self.assertFalse(KV.exists())


if __name__ == "__main__":
    rig.main()

"""chat --session: killed and gone on with, refused, full disks, damage, other models."""

import os
import pathlib
import re
import resource
import shutil
import signal
import tempfile

import rig
from rig import Running, minfer, tiny, wait_for

TURNS = ("Hello", "And then?", "Why is that so?", "Go on", "Thank you")
OPTIONS = ("-n", 12, "--temp", 1, "-s", 7)


def lines(turns):
    return "".join(turn + "\n" for turn in turns).encode()


class Session(rig.Test):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = self.folder / "s.kv"

    def chat(self, turns, *options, model=None, file=None, **more):
        return minfer("chat", model or tiny(), *OPTIONS, "--session", file or self.file, *options,
                      stdin=lines(turns), **more)

    def unbroken(self, turns, *options, model=None):
        return self.ok(minfer("chat", model or tiny(), *OPTIONS, *options, stdin=lines(turns)))

    def prefilled(self, done):
        return [int(n) for n in re.findall(r"\| prefill (\d+) in ", done.err)]

    def test_gone_on_with_it_says_what_an_unbroken_chat_says(self):
        for name, options in (("plain", ()), ("f32", ("--kv-type", "f32")), ("lookup", ("--spec", "lookup")),
                              ("system", ("--system", "Be brief.")),
                              ("penalties", ("--repeat-penalty", 1.3, "--presence-penalty", 0.5))):
            with self.subTest(options=options):
                file = self.folder / name
                whole = self.unbroken(TURNS, *options)
                parts = [self.ok(self.chat([turn], *options, file=file)) for turn in TURNS]
                self.assertEqual(b"".join(part.out for part in parts), whole.out)
                # Nothing of the history is prefilled again.
                self.assertEqual([n for part in parts for n in self.prefilled(part)],
                                 self.prefilled(whole))

    def test_another_context_and_other_threads(self):
        whole = self.unbroken(TURNS[:2])
        one = self.ok(self.chat(TURNS[:1], "-c", 200, "-t", 2))
        two = self.ok(self.chat(TURNS[1:2], "-c", 900, "-t", 1, "--batch-size", 3))
        self.assertEqual(one.out + two.out, whole.out)

    def test_killed_in_a_reply_it_loses_that_turn_alone(self):
        whole = self.unbroken(TURNS)
        self.ok(self.chat(TURNS[:3]))
        saved = self.file.read_bytes()
        # A reply without an end.
        run = Running("chat", tiny(), *OPTIONS, "-n", -1, "--ignore-eos", "-c", 400000, "--session",
                      self.file, stdin=lines(TURNS[3:4]))
        self.assertTrue(wait_for(lambda: run.out_so_far()))
        run.send(signal.SIGKILL)
        self.assertEqual(run.finish().code, -signal.SIGKILL)
        self.assertEqual(self.file.read_bytes(), saved)
        rest = self.ok(self.chat(TURNS[3:]))
        self.assertTrue(whole.out.endswith(rest.out))
        self.assertEqual(self.prefilled(rest), self.prefilled(whole)[3:])
        self.assertEqual([path.name for path in self.folder.iterdir()], ["s.kv"])

    def test_a_second_chat_is_refused(self):
        reading, writing = os.pipe()
        run = Running("chat", tiny(), *OPTIONS, "--session", self.file, stdin=reading)
        os.close(reading)
        self.assertTrue(wait_for(self.file.exists))
        self.refused(self.chat(TURNS[:1], "-q"), 1, str(self.file), "is in use by another minfer")
        os.write(writing, lines(TURNS[:1]))
        os.close(writing)
        self.ok(run.finish())
        self.ok(self.chat(TURNS[1:2]))

    def test_another_model_keeps_the_messages(self):
        self.ok(self.chat(TURNS[:2]))
        done = self.ok(self.chat(TURNS[2:3], model=tiny("qwen2")))
        self.assertRegex(done.err, r"s\.kv: it was made with another model: .*")
        self.assertIn("prefills the conversation again", done.err)
        # The history was run again: more than the message.
        self.assertGreater(self.prefilled(done)[0], sum(self.prefilled(self.unbroken(TURNS[:2]))))
        # From now on it is that model's.
        again = self.ok(self.chat(TURNS[3:4], model=tiny("qwen2")))
        self.assertNotIn("s.kv", again.err)
        self.assertLess(self.prefilled(again)[0], 40)

    def test_a_full_disk_keeps_the_turn_in_memory(self):
        self.ok(self.chat(TURNS[:1]))
        before = self.file.read_bytes()

        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100,) * 2)

        done = self.chat(TURNS[1:3], preexec=small)
        self.assertEqual(done.out, self.unbroken(TURNS[:3]).out[len(self.unbroken(TURNS[:1]).out):])
        self.assertIn("the turn is not saved, only kept in memory", done.err)
        self.assertIn("File too large", done.err)
        self.assertEqual(self.file.read_bytes(), before)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["s.kv"])
        # With room again.
        rest = self.ok(self.chat(TURNS[1:]))
        self.assertTrue(self.unbroken(TURNS).out.endswith(rest.out))

    def test_damaged_rows_are_made_again_and_say_the_same(self):
        self.ok(self.chat(TURNS[:2]))
        damaged = bytearray(self.file.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        self.file.write_bytes(damaged)
        rest = self.ok(self.chat(TURNS[2:]))
        self.assertRegex(rest.err, r"\d+ of \d+ saved tokens are damaged")
        self.assertTrue(self.unbroken(TURNS).out.endswith(rest.out))

    def test_what_was_done_to_the_chat_stays_so(self):
        for k, commands in enumerate((
                ["/undo"], ["/undo", "/undo"], ["/regen", "/regen"], ["/alt 3", "/pick 1"], ["/clear"],
                ["/goto 1"], ["/system Be brief."], ["/fork other", TURNS[4]],
                ["/fork other", TURNS[4], "/goto main"])):
            with self.subTest(commands=commands):
                file = self.folder / f"{k}.kv"
                self.ok(self.chat([*TURNS[:2], *commands], file=file))
                rest = self.ok(self.chat([TURNS[2], "/regen"], file=file))
                whole = self.unbroken([*TURNS[:2], *commands, TURNS[2], "/regen"])
                self.assertTrue(whole.out.endswith(rest.out))

    def test_a_context_that_is_too_small(self):
        self.ok(self.chat(TURNS[:4]))
        done = self.ok(self.chat(TURNS[4:], "-c", 64))
        self.assertIn("the saved tokens do not fit in the context", done.err)
        self.assertIn("turns were dropped", done.err)

    def test_files_that_are_no_session(self):
        note = self.folder / "note.txt"
        note.write_text("a letter to somebody, which is longer than the head of a session")
        self.refused(self.chat(["x"], "-q", file=note), 1, "is no session file")
        self.assertTrue(note.read_text().startswith("a letter"))
        self.refused(self.chat(["x"], "-q", file=self.folder), 2, "is a folder")
        self.refused(self.chat(["x"], "-q", file=self.folder / "no" / "s.kv"), 1, "No such file")
        self.refused(self.chat(["x"], "-q", file=tiny()), 1, "is no session file")
        empty = self.folder / "empty"
        self.ok(self.chat([], file=empty))
        self.assertFalse(empty.exists())

    def test_closed_streams_are_not_the_file(self):
        def close_all():
            for stream in (0, 1, 2):
                os.close(stream)

        whole = self.unbroken(TURNS[:2])
        one = self.ok(self.chat(TURNS[:1]))
        said = self.file.read_bytes()
        self.assertEqual(self.chat(TURNS[1:2], preexec=close_all).code, 0)  # there is nothing to read
        self.assertEqual(self.file.read_bytes(), said)
        done = self.chat(TURNS[1:2], preexec=lambda: [os.close(1), os.close(2)])
        self.assertEqual((done.code, done.out, done.err), (1, b"", ""))
        self.assertEqual(self.file.read_bytes()[:len(said)], said)
        self.assertEqual(one.out + self.ok(self.chat(["/undo", *TURNS[1:2]])).out, whole.out)

    def test_single_runs_go_on_with_it(self):
        parts = [self.ok(minfer(tiny(), turn, *OPTIONS, "--session", self.file)).out + b"\n"
                 for turn in TURNS]
        self.assertEqual(b"".join(parts), self.unbroken(TURNS).out)

    def test_one_turn_at_a_time(self):
        parts = [self.ok(minfer("chat", tiny(), *OPTIONS, "-st", turn, "--session", self.file)).out
                 for turn in TURNS]
        self.assertEqual(b"".join(parts), self.unbroken(TURNS).out)

    def test_prime_does_not_overwrite_a_conversation(self):
        self.ok(self.chat(TURNS[:1]))
        before = self.file.read_bytes()
        self.refused(minfer("prime", tiny(), "x", "-q", "-o", self.file), 1,
                     "holds a conversation", "take another name")
        self.assertEqual(self.file.read_bytes(), before)


if __name__ == "__main__":
    rig.main()

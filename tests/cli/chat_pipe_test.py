"""minfer chat fed from a pipe: replies on stdout, commands, files, exit status."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import reply_test
import rig
from rig import minfer, tiny

LETTER = {letter: 3 + ord(letter) for letter in "abcdefgh"}


def only(letter):
    """Options that make every reply a run of one letter."""
    return ("--logit-bias", f"{LETTER[letter]}:1e9")


def chat(*lines, options=(), **more):
    text = "".join(line + "\n" for line in lines).encode()
    return minfer("chat", tiny(), "-n", 3, *options, stdin=text, **more)


class Chat(rig.Test):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def messages(self, *lines, options=only("a"), code=0):
        """What a chat holds behind these lines: (role, content) of each message."""
        done = chat(*lines, f"/save {self.path('saved')}", options=options)
        self.assertEqual(done.code, code, done.err)
        with open(self.path("saved"), encoding="utf-8") as file:
            return [(m["role"], m["content"]) for m in json.load(file)["messages"]]

    def users(self, *lines, **more):
        return [content for role, content in self.messages(*lines, **more) if role == "user"]


class Lines(Chat):
    def test_each_reply_is_a_line_and_nothing_else_is_on_stdout(self):
        done = self.ok(chat("Hi", "", "  ", "Again", options=only("b")))
        self.assertEqual(done.text, "bbb\nbbb\n")
        self.assertRegex(done.err, r"\[3 tokens, [\d.]+ tok/s \| prefill \d+ in ")
        quiet = self.ok(chat("Hi", options=(*only("b"), "-q")))
        self.assertEqual((quiet.text, quiet.err), ("bbb\n", ""))

    def test_the_first_reply_is_that_of_a_single_shot(self):
        for options in ((), ("--temp", 2, "-s", 7), ("--system", "Be brief.")):
            done = self.ok(chat("Hello there", options=(*options, "-q")))
            alone = self.ok(minfer(tiny(), "Hello there", "-n", 3, "-q", *options))
            self.assertEqual(done.out, alone.out + b"\n")

    def test_a_turn_prefills_its_own_text_alone(self):
        done = self.ok(chat("Hi", "Hi", "Hi", options=only("a")))
        prefilled = [int(line.split("prefill ")[1].split()[0])
                     for line in done.err_lines if "prefill " in line]
        self.assertEqual(len(prefilled), 3)
        self.assertEqual(prefilled[1], prefilled[2])

    def test_lines_that_go_on(self):
        self.assertEqual(self.users("one\\", "two", "end\\\\"), ["one\ntwo", "end\\\\"])
        self.assertEqual(self.users('"""', "/help", "", 'two"""', "next"), ["/help\n\ntwo", "next"])
        self.assertEqual(self.users("crlf\r"), ["crlf"])

    def test_multiline_input(self):
        self.assertEqual(self.users("one", "two", "", "", "three", "",
                                    options=("-mli", *only("a"))), ["one\ntwo", "three"])

    def test_the_end_of_the_input_ends_the_last_line(self):
        self.assertEqual(self.ok(minfer("chat", tiny(), "-q", "-n", 2, *only("c"), stdin=b"Hi")).text, "cc\n")
        self.assertEqual(self.ok(minfer("chat", tiny(), stdin=b"")).text, "")
        self.assertEqual(self.ok(minfer("chat", tiny(), "-q", "-n", 1, *only("c"), stdin=b'"""Hi\nyou')).text, "c\n")

    def test_only_known_words_at_the_start_are_commands(self):
        lines = ["/etc/fstab: what is it?", " /help", "say /help", "/usr/bin"]
        self.assertEqual(self.users(*lines), [lines[0], "/help", *lines[2:]])

    def test_a_near_miss_is_a_failed_turn(self):
        done = chat("Hi", "/regne", options=only("a"))
        self.assertEqual((done.code, done.text), (1, "aaa\n"))
        self.assertIn("minfer: /regne is no command: did you mean /regen?", done.err)

    def test_single_turn(self):
        self.assertEqual(self.ok(chat("one", "two", options=(*only("a"), "-st"))).text, "aaa\n")
        self.assertEqual(self.ok(minfer("chat", tiny(), "one", "-st", "-n", 3, *only("a"))).text, "aaa\n")

    def test_peers_words_for_a_chat(self):
        for arguments in (("-m", tiny(), "-cnv"), (tiny(), "--conversation"), ("--cnv", tiny())):
            done = self.ok(minfer(*arguments, "-n", 2, "-q", *only("a"), stdin=b"x\ny\n"))
            self.assertEqual(done.text, "aa\naa\n")

    def test_colours_can_be_forced(self):
        done = self.ok(chat("Hi", options=("--color", "on", *only("a"))))
        self.assertEqual(done.text, "aaa\n")
        self.refused(chat("Hi", options=("--color", "blue")), 2, "auto|on|off")


class Thoughts(Chat):
    def test_a_grammar_is_of_the_answer(self):
        done = self.ok(minfer("chat", tiny(), "--chat-template", reply_test.THINKS, "--reasoning-budget", 5,
                              *only("a"), "--grammar-str", 'root ::= "yes"', stdin=b"Hi\nHi\n"))
        self.assertEqual(done.text, "yes\nyes\n")
        self.assertEqual(done.err.count("aaaaa\n"), 2, done.err)


class Commands(Chat):
    def test_undo_edit_clear(self):
        self.assertEqual(self.users("one", "two", "/undo", "three"), ["one", "three"])
        self.assertEqual(self.users("one", "two", "/edit second"), ["one", "second"])
        self.assertEqual(self.users("one", "two", "/edit 1 first"), ["first"])
        self.assertEqual(self.users("one", "/clear", "two", options=("--system", "s", *only("a"))), ["two"])
        self.assertEqual(self.messages("one", "/clear", options=("--system", "s", *only("a"))),
                         [("system", "s")])

    def test_what_is_refused_changes_nothing(self):
        for command in ("/edit 3 x", "/edit", "/undo", "/pick 1", "/alt 0", "/alt x", "/goto 9",
                        "/goto nowhere", "/fork a b", "/fork 3", "/set temp hot", "/set nothing 1",
                        "/set temp 1000", "/load /no/such", "/read /no/such", "/save /no/such/folder",
                        "/clear all", "/alt", "/edit 1 " + "x" * 5000):
            first = [] if command == "/undo" else ["one"]
            self.assertEqual(self.users(*first, command, options=("-c", 1000, *only("a")), code=1),
                             first, command[:20])

    def test_system(self):
        self.assertEqual(self.messages("/system Be\\", "brief.", "x")[0], ("system", "Be\nbrief."))
        self.assertEqual(self.messages("/system x", '/system ""'), [])
        self.assertIn("Be brief.", self.ok(chat("/system Be brief.", "/system")).err)

    def test_regen_alt_pick(self):
        done = self.ok(chat("Hello", "/regen", "/alt 3", "/pick 2", f"/save {self.path('saved')}",
                            options=("--temp", 3, "--top-k", 0, "--top-p", 1, "-q")))
        replies = done.text.split("\n")[:-1]
        self.assertEqual(len(replies), 5)
        self.assertEqual(replies[0], replies[2])  # attempt 0
        self.assertEqual(replies[1], replies[3])  # attempt 1
        self.assertEqual(len(set(replies)), 3)
        with open(self.path("saved"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["messages"][-1]["content"], replies[3])

    def test_a_reply_stays_where_no_other_comes(self):
        nothing = (f"/set logit-bias {LETTER['a']}:-inf",)
        kept = [("user", "x"), ("assistant", "aa")]
        options = ("--grammar-str", 'root ::= "aa"')
        for again in ("/regen", "/alt 2"):
            self.assertEqual(self.messages("x", *nothing, again, options=options, code=1), kept)
        # A value takes the place of the whole list.
        self.assertEqual(self.messages("x", *nothing, "/set logit-bias 0:0", "/regen", options=options),
                         kept)

    def test_goto_and_fork(self):
        self.assertEqual(self.users("one", "two", "three", "/goto 1", "four"), ["one", "four"])
        self.assertEqual(self.users("one", "/fork b", "two", "/goto main", "three"), ["one", "three"])
        self.assertEqual(self.users("one", "/fork b", "two", "/goto main", "three", "/goto b"),
                         ["one", "two"])

    def test_read(self):
        with open(self.path("file"), "w", encoding="utf-8") as file:
            file.write("/help\ntext")
        self.assertEqual(self.users(f"/read {self.path('file')}", "What is it?", "next"),
                         ["/help\ntext\n\nWhat is it?", "next"])

    def test_a_file_that_does_not_fit_goes_with_its_message(self):
        with open(self.path("file"), "w", encoding="utf-8") as file:
            file.write("x" * 5000)
        read = f"/read {self.path('file')}"
        done = chat(read, "one", "two", options=only("a"))
        self.assertEqual((done.code, done.text), (1, "aaa\n"), done.err)
        self.assertIn("does not fit", done.err)
        self.assertIn("what /read put in front of it is gone with it", done.err)
        self.assertEqual(self.users("one", read, "/clear", "two"), ["two"])

    def test_load(self):
        saved = self.messages("one", "two")
        self.assertEqual(self.messages("other", f"/load {self.path('saved')}"), saved)
        for broken in ("", "[", "{}", '{"messages": 3}', '[{"role": "user"}]', '["x"]',
                       '[{"role": "banana", "content": ""}]', '[{"role": "user", "content": 3}]',
                       '[{"role": "user", "content": ""}, {"role": "system", "content": ""}]'):
            with open(self.path("broken"), "w", encoding="utf-8") as file:
                file.write(broken)
            self.assertEqual(self.users("one", f"/load {self.path('broken')}", code=1), ["one"], broken)

    def test_a_dash_is_no_file(self):
        done = chat("/save -", "/load -", "/read -", cwd=self.folder)
        self.assertEqual(done.code, 1)
        self.assertEqual([line for line in done.err_lines if line.startswith("minfer:")],
                         [f"minfer: /{name} takes a file" for name in ("save", "load", "read")])
        self.assertEqual(os.listdir(self.folder), [])

    def test_set(self):
        self.assertEqual(self.ok(chat("x", f"/set logit-bias {LETTER['b']}:1e10", "x", "/set --temp 0.5",
                                      "/set greedy", "x", options=(*only("a"), "-q"))).text,
                         "aaa\nbbb\nbbb\n")
        listed = self.ok(chat("/set top-k 7", "/set", "/set temp", options=("--temp", 0.5))).err
        self.assertRegex(listed, r"(?m)^  top-k +7$")
        self.assertRegex(listed, r"(?m)^  temp 0.5 +temperature;")
        model = rig.with_key(tiny(), "general.sampling.temp", "f", 0.25)
        listed = self.ok(minfer("chat", model, stdin=b"/set\n")).err
        self.assertRegex(listed, r"(?m)^  temp +0.25$")

    def test_stats_help_exit(self):
        done = self.ok(chat("x", "/fork b", "/stats", "/help", "/bye", "y", options=only("a")))
        self.assertEqual(done.text, "aaa\n")
        for words in ("messages   2 in 1 turns", "generated  3 tokens", "b of b, main", "/regen"):
            self.assertIn(words, done.err)

    def test_the_model_is_not_overwritten(self):
        model = self.path("model.gguf")
        shutil.copy(tiny(), model)
        done = minfer("chat", model, stdin=f"/save {model}\n".encode())
        self.assertEqual(done.code, 1)
        self.assertIn("is the model", done.err)


class Failures(Chat):
    def test_a_message_that_does_not_fit(self):
        done = chat("x" * 3000, "fits", options=("-c", 512, *only("a")))
        self.assertEqual((done.code, done.text), (1, "aaa\n"))
        self.assertIn("the message does not fit", done.err)

    def test_a_full_context_drops_the_oldest_turns(self):
        done = self.ok(chat(*["x" * 100] * 8, options=("-c", 512, *only("a"))))
        self.assertEqual(done.text, "aaa\n" * 8)
        self.assertRegex(done.err, r"\(the context is full: the oldest .*dropped\)")

    def test_thousands_of_turns_are_dropped_at_once(self):
        messages = [{"role": "user", "content": f"number {i}"} for i in range(4000)]
        with open(self.path("many"), "w", encoding="utf-8") as file:
            json.dump(messages, file)
        done = self.ok(chat(f"/load {self.path('many')}", "x", options=("-c", 256, *only("a"))))
        self.assertRegex(done.err, r"the oldest 39\d\d turns were dropped")
        if not rig.SANITIZED:
            self.assertLess(done.seconds, 4)

    def test_a_closed_stdout(self):
        with open("/dev/full", "wb") as full:
            done = minfer("chat", tiny(), "-q", "-n", 2, *only("a"), stdin=b"x\ny\n", out=full)
        self.assertEqual(done.code, 1)
        self.assertEqual(len(done.err_lines), 1, done.err)
        self.assertIn("cannot write to stdout", done.err)

    def test_a_model_without_a_template(self):
        model = rig.Gguf(tiny())
        key = b"tokenizer.chat_template"
        at = model.bytes.index(key)
        model.bytes[at:at + len(key)] = b"tokenizer.chat_templatX"
        path = model.save("no-template.gguf")
        self.refused(minfer("chat", path, "-q", stdin=b"x\n"), 2, "no chat template", "--chat-template")
        done = minfer("chat", path, "-q", "-n", 2, *only("a"), "--chat-template",
                      "{% for m in messages %}{{ m.content }} {% endfor %}", stdin=b"x\n")
        self.assertEqual(self.ok(done).text, "aa\n")

    def test_options_are_checked_before_the_model_is_loaded(self):
        self.refused(minfer("chat", "no-such.gguf", "--logit-bias", "x"), 2, "--logit-bias")
        self.refused(minfer("chat", tiny(), "--raw"), 2, "--raw")

    def test_sigterm_ends_a_reply_and_the_chat(self):
        run = rig.Running("chat", tiny(), "-c", 400000, "--ignore-eos", "-q", *only("a"), stdin=b"x\ny\n")
        self.assertTrue(rig.wait_for(lambda: len(run.out_so_far()) > 20))
        run.send(15)
        done = run.finish(30)
        self.assertEqual(done.code, 143, done.err)
        self.assertRegex(done.text, r"^a+\n$")


if __name__ == "__main__":
    rig.main()

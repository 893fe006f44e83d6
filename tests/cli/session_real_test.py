"""A chat of thirty turns with a real model: what is prefilled, saved and said again after a kill."""

import os
import re
import select
import signal
import subprocess
import tempfile
import time

import rig
from rig import real

TURNS = 30
KILLED_IN = 20
ROW_BYTES = 24 * 2 * 2 * 64 * 2  # of Q: layers, K and V, heads, head size, f16
FIRST_TOKEN = 0.3
SYSTEM = "You answer in one short sentence."
MESSAGES = [f"Question {i}: tell me something about the number {i * 7}." for i in range(1, TURNS + 1)]
LINE = re.compile(r"\[(\d+) tokens.*?prefill (\d+) in .*?context (\d+) of")

# Old replies lose what stands before </think>.
FORGETS = ("{% for m in messages %}<|im_start|>{{ m.role }}\n"
           "{% if m.role == 'assistant' %}{{ m.content.split('</think>')[-1] | trim }}"
           "{% else %}{{ m.content }}{% endif %}<|im_end|>\n{% endfor %}"
           "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}")


class Turn:
    def __init__(self, text, line):
        self.text = text
        self.n_tokens, self.n_prefill, context = map(int, LINE.search(line).groups())
        self.n_prompt = context - self.n_tokens
        self.cut = "cut" in line


class Chat:
    """`minfer chat` over pipes, a turn at a time."""

    def __init__(self, *arguments, seed=7):
        self.err = tempfile.TemporaryFile()
        self.start = time.monotonic()
        self.process = subprocess.Popen(
            [rig.MINFER, "chat", str(real("Q")), "-c", "8192", "-n", "40", "--temp", "1", "--seed",
             str(seed), *map(str, arguments)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.err, bufsize=0,
            env=rig.environment())
        self.seen = 0

    def told(self):
        return os.pread(self.err.fileno(), 1 << 20, 0).decode()

    def wait(self, condition):
        if not rig.wait_for(condition, 60):
            raise AssertionError("nothing came: " + self.told())

    def ready(self):
        self.wait(lambda: "context" in self.told())
        return time.monotonic()

    def type(self, message):
        self.process.stdin.write(message.encode() + b"\n")

    def some(self, seconds=60):
        """What stdout gives next."""
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            raise AssertionError("no text: " + self.told())
        return os.read(self.process.stdout.fileno(), 65536)

    def turn(self, message, at_first_text=lambda: None):
        self.type(message)
        text = self.some()
        at_first_text()

        def done():
            nonlocal text
            while select.select([self.process.stdout], [], [], 0)[0]:
                piece = os.read(self.process.stdout.fileno(), 65536)
                if not piece:
                    break
                text += piece
            return len(LINE.findall(self.told())) > self.seen

        self.wait(done)
        self.seen += 1
        while not text.endswith(b"\n"):
            text += self.some()
        return Turn(text, [line for line in self.told().splitlines() if LINE.search(line)][-1])

    def drop(self):
        for file in (self.process.stdin, self.process.stdout, self.err):
            file.close()

    def close(self):
        self.process.stdin.close()
        code = self.process.wait(60)
        self.drop()
        return code


def n_tokens(text):
    done = rig.minfer("tokenize", real("Q"), text, "--ids")
    return len(done.text.split())


class Sessions(rig.Test):
    @classmethod
    def setUpClass(cls):
        cls.file = rig.FOLDER / "whole.kv"
        chat = Chat("--system", SYSTEM, "--session", cls.file)
        cls.turns, cls.sizes = [], []
        for message in MESSAGES:
            cls.turns.append(chat.turn(message, lambda: cls.sizes.append(cls.file.stat().st_size)))
        assert chat.close() == 0
        # A turn is on disk before the next message is read.
        cls.sizes = cls.sizes[1:] + [cls.file.stat().st_size]

    def test_a_turn_prefills_its_delta(self):
        for before, turn, message in zip(self.turns, self.turns[1:], MESSAGES[1:]):
            # The end of the turn was drawn or is missing, and was not run; nor was the last token of
            # a reply that was cut.
            delta = n_tokens(f"<|im_end|>\n<|im_start|>user\n{message}<|im_end|>\n"
                             "<|im_start|>assistant\n") + before.cut
            self.assertEqual(turn.n_prefill, delta)

    def test_a_turn_writes_its_rows_and_little_more(self):
        worst = 0
        for k in range(1, TURNS):
            rows = self.turns[k].n_prompt + self.turns[k].n_tokens - self.turns[k].cut
            rows -= self.turns[k - 1].n_prompt + self.turns[k - 1].n_tokens - self.turns[k - 1].cut
            share = (self.sizes[k] - self.sizes[k - 1]) / (rows * ROW_BYTES)
            worst = max(worst, share)
        print(f"bytes a turn: at most {worst:.3f} of the rows'", flush=True)
        self.assertLessEqual(worst, 1.1)

    def test_killed_in_a_turn_and_resumed(self):
        file = rig.FOLDER / "killed.kv"
        chat = Chat("--system", SYSTEM, "--session", file)
        texts = [chat.turn(message).text for message in MESSAGES[:KILLED_IN - 1]]
        chat.type(MESSAGES[KILLED_IN - 1])
        chat.some()  # the reply has begun
        chat.process.send_signal(signal.SIGKILL)
        chat.process.wait()
        chat.drop()
        chat = Chat("--session", file)
        ready = chat.ready()
        chat.type(MESSAGES[KILLED_IN - 1])
        begun = chat.some()
        first = time.monotonic() - ready
        self.assertTrue(rig.wait_for(lambda: LINE.search(chat.told())))
        line = [line for line in chat.told().splitlines() if LINE.search(line)][-1]
        while not begun.endswith(b"\n"):
            begun += chat.some()
        turn = Turn(begun, line)
        chat.seen = 1
        delta = n_tokens(f"<|im_end|>\n<|im_start|>user\n{MESSAGES[KILLED_IN - 1]}<|im_end|>\n"
                         "<|im_start|>assistant\n")
        self.assertIn(turn.n_prefill, (delta, delta + 1))
        texts.append(turn.text)
        texts += [chat.turn(message).text for message in MESSAGES[KILLED_IN:]]
        self.assertEqual(chat.close(), 0)
        self.assertEqual(texts, [turn.text for turn in self.turns])
        print(f"resumed: first text {first:.3f} s after ready", flush=True)
        self.assertLess(first, FIRST_TOKEN)

    def test_type_ahead_and_speculation_change_nothing(self):
        for arguments in (("--spec", "lookup"), ("--spec", "off"), ("--no-typeahead",)):
            chat = Chat("--system", SYSTEM, *arguments)
            texts = [chat.turn(message).text for message in MESSAGES[:6]]
            self.assertEqual(chat.close(), 0)
            self.assertEqual(texts, [turn.text for turn in self.turns[:6]], arguments)

    def test_a_single_run_says_the_same(self):
        done = rig.minfer(real("Q"), MESSAGES[0], "--system", SYSTEM, "-c", "8192", "-n", "40",
                          "--temp", "1", "--seed", "7", "-q")
        self.assertEqual(done.out + b"\n", self.turns[0].text)

    def test_a_template_that_drops_thoughts(self):
        chat = Chat("--system", SYSTEM, "--chat-template", FORGETS, "--reasoning-budget", "6")
        turns = [chat.turn(message) for message in MESSAGES[:5]]
        self.assertEqual(chat.close(), 0)
        opened = n_tokens("<think>\n")
        for before, turn in zip(turns, turns[1:]):
            # All that stands before the thought is kept.
            self.assertEqual(turn.n_prompt - turn.n_prefill, before.n_prompt - opened)


if __name__ == "__main__":
    rig.main()

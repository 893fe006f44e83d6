"""K-02, K-03, K-04 through `minfer chat`: what is in the KV between turns, on real models."""

import json
import re

import rig
from rig import real

LINE = re.compile(r"\[(\d+) tokens.*?prefill (\d+) in .*?context (\d+) of")
CLOSED = {"S": (31, 15), "Q": (30, 13)}  # ids of the first prompt, and that a further turn adds to it


def chat(letter, *lines, options=()):
    """Turns of a chat: (drawn, prefilled, context) of each, and Done."""
    done = rig.minfer("chat", real(letter), "--temp", "0", *options,
                      stdin="".join(line + "\n" for line in lines).encode())
    return [tuple(map(int, m)) for m in LINE.findall(done.err)], done


def n_rendered(letter, messages):
    path = rig.FOLDER / "rendered.json"
    path.write_text(json.dumps(messages))
    return len(rig.minfer("render", real(letter), "--messages", path, "--ids").text.split())


class Turns(rig.Test):
    def turn_equals_a_fresh_render(self, letter, cut, *options):
        """`cut`: the last token of the first reply is not run."""
        saved = rig.FOLDER / "saved.json"
        saved.unlink(missing_ok=True)
        turns, done = chat(letter, "Hi", f"/save {saved}", "Bye", options=options)
        self.assertEqual(done.code, 0, done.err)
        messages = json.loads(saved.read_text())["messages"]
        fresh = n_rendered(letter, [*messages, {"role": "user", "content": "Bye"}])
        drawn, prefilled, context = turns[1]
        self.assertEqual(context - drawn, fresh)
        first_prompt, growth = CLOSED[letter]
        self.assertEqual(turns[0][1], first_prompt)
        reply = n_rendered(letter, [*messages, {"role": "user", "content": "Bye"}]) - n_rendered(
            letter, [messages[0], {"role": "assistant", "content": ""},
                     {"role": "user", "content": "Bye"}])
        self.assertEqual(prefilled, fresh - first_prompt - reply + (1 if cut else 0))
        return messages[1]["content"]

    def test_K_02_an_end_of_turn_stands_between_turns_once(self):
        for letter in "SQ":
            self.turn_equals_a_fresh_render(letter, False)
            self.turn_equals_a_fresh_render(letter, True, "-n", "3")
            said = self.turn_equals_a_fresh_render(letter, False, "--stop", " help",
                                                   "--stop", " assist")
            self.assertEqual(said, "Hello! How can I")

    def test_K_02_the_counts_of_a_forced_reply(self):
        for letter, prompt, again in (("S", 31, 46), ("Q", 30, 43)):
            turns, done = chat(letter, "Hi", "Bye", options=("--grammar-str", 'root ::= "Yo"'))
            self.assertEqual(done.text, "Yo\nYo\n")
            drawn = turns[0][0]
            self.assertEqual(turns[1][2] - turns[1][0], again)
            self.assertEqual(turns[1][1], again - prompt - drawn)

    def test_K_03_an_edit_keeps_what_stands_before_it(self):
        for letter in "SQ":
            turns, _ = chat(letter, "My dog is red", "/edit 1 My dog is blue", "/edit 1 The cat is blue",
                            options=("-n", "2"))
            whole, last_word, first_word = (turn[1] for turn in turns)
            self.assertLess(last_word, first_word)
            self.assertEqual(first_word - last_word, 3)
            self.assertLess(first_word, whole)

    def test_K_03_branches_do_not_evict_each_other(self):
        turns, done = chat("Q", "Hi", "/fork other", "In other", "/goto main", "In main",
                           "/goto other", "Bye", options=("-n", "2"))
        self.assertEqual(done.code, 0, done.err)
        for _, prefilled, _ in turns[1:]:
            self.assertLess(prefilled, 20)

    def test_K_04_full(self):
        for letter in "SQ":
            turns, done = chat(letter, "Hi", "Bye",
                               options=("-c", "128", "-n", "1000", "--ignore-eos"))
            self.assertEqual(done.code, 0, done.err)
            self.assertEqual([turn[2] for turn in turns], [128, 128])
            self.assertEqual(done.err.count("the context is full: the oldest turn was dropped"), 1)
            _, none = chat(letter, "Hi", options=("-c", "1"))
            self.assertEqual(none.code, 1)
            self.assertIn("does not fit", none.err)


if __name__ == "__main__":
    rig.main()

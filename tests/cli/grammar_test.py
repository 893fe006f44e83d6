"""--grammar and --grammar-str: what is refused before a model is loaded, and how a run ends."""

import rig
from rig import minfer, tiny

DIGITS = 'root ::= [0-9]{4} "." [a-c]*'


class Refused(rig.Test):
    def test_bad_grammars_name_rule_and_column(self):
        # No model is needed to say so.
        for gbnf, words in ((r'root ::= root "a" | "b"', ("column 10", '"root"', "left recursion")),
                            ('root ::= a\na ::= b\nb ::= a "x" | "y"',
                             ("line 2, column 7", '"a"', "left recursion")),
                            ("root ::= x", ("column 10", '"x"', "not defined")),
                            ('a ::= "x"', ('no rule "root"',)),
                            ('root ::= "a', ("column 12", '"root"', "closing")),
                            ("root ::= [z-a]", ("column 11", '"root"', "backwards")),
                            ("", ("empty",)),
                            (r'root ::= "\xFF"', ("column 11", '"root"', "UTF-8"))):
            done = self.refused(minfer("no-such.gguf", "Hi", "--grammar-str", gbnf), 2,
                                "--grammar-str: grammar, line ", *words)
            self.assertLess(done.seconds, 1)

    def test_a_byte_order_mark_is_no_text(self):
        path = rig.FOLDER / "marked"
        for option, text, answer in (("--grammar", 'root ::= "a"', b"a"), ("--json-schema", '{"const": 1}', b"1")):
            path.write_text(text, "utf-8-sig")
            self.assertEqual(self.ok(minfer(tiny(), "Hi", option, path)).out, answer)
        path.write_bytes(b'\xef\xbb\xbfroot ::= "\xff"')
        self.refused(minfer("no-such.gguf", "Hi", "--grammar", path), 2, "line 1, column 11", "0xFF")

    def test_hostile_sizes(self):
        for gbnf in ("root ::= " + "(" * 60000 + '"a"' + ")" * 60000,
                     "root ::= " + "(" * 60000,
                     "\n".join(f"r{i} ::= r{i + 1}" for i in range(5000)) + '\nr5000 ::= "a"\nroot ::= r0',
                     'root ::= "a"{0,10000}',
                     'root ::= ((("a"{0,1000}){0,1000}){0,1000})',
                     'root ::= (("a"*)*)*'):
            path = rig.FOLDER / "hostile.gbnf"
            path.write_text(gbnf)
            done = minfer(tiny(), "Hi", "-n", 2, "-q", "--grammar", path)
            self.assertIn(done.code, (0, 2, 3), done.err)
            if not rig.SANITIZED:
                self.assertLess(done.seconds, 1)

    def test_options_that_exclude_each_other(self):
        self.refused(minfer(tiny(), "Hi", "--grammar-str", DIGITS, "--grammar", "x"), 2,
                     "--grammar and --grammar-str exclude each other")
        self.refused(minfer(tiny(), "Hi", "--grammar-str", DIGITS, "--ignore-eos"), 2,
                     "--grammar-str and --ignore-eos exclude each other")

    def test_a_file_that_is_not_there(self):
        self.refused(minfer(tiny(), "Hi", "--grammar", "no/such.gbnf"), 1, "no/such.gbnf")

    def test_a_token_that_the_model_does_not_have(self):
        self.refused(minfer(tiny(), "Hi", "--grammar-str", "root ::= <|nope|>", "-q"), 2, "column 10",
                     "no token <|nope|>")


class Ends(rig.Test):
    def test_whole(self):
        path = rig.FOLDER / "whole.gbnf"
        path.write_text("# four digits\nroot ::= [0-9]{4} tail\ntail ::= \".\"\n")
        for choice in (("--greedy",), ("--temp", 1), ("--temp", 1, "--top-k", 0)):
            done = self.ok(minfer(tiny(), "Hi", "--grammar", path, *choice))
            self.assertRegex(done.text, r"\A[0-9]{4}\.\Z")

    def test_cut_before_the_end_is_status_3(self):
        done = minfer(tiny(), "Hi", "-n", 3, "-q", "--grammar-str", DIGITS)
        self.assertEqual((done.code, done.err), (3, "minfer: the text is incomplete: raise -n\n"))
        self.assertRegex(done.text, r"\A[0-9]{3}\Z")
        done = minfer(tiny(), "Hi", "-q", "-c", 64, "--grammar-str", 'root ::= "a"{1000}')
        self.assertEqual(done.code, 3, done.err)
        self.assertEqual(done.err, "minfer: the text is incomplete: raise --ctx-size\n")
        self.assertRegex(done.text, r"\Aa+\Z")

    def test_cut_where_it_may_end_is_done(self):
        self.ok(minfer(tiny(), "Hi", "-n", 5, "--grammar-str", 'root ::= [0-9]{4} "."  "x"*'))

    def test_no_legal_token_stops_loudly_and_keeps_the_text(self):
        for temperature in (0, 1):
            done = minfer(tiny(), "Hi", "-q", "--temp", temperature, "--grammar-str", 'root ::= "ab"',
                          "--logit-bias", f"{3 + ord('b')}:-inf")
            self.assertEqual((done.code, done.text), (1, "a"))
            self.assertIn("no legal token", done.err)

    def test_stop_string_ends_it(self):
        done = self.ok(minfer(tiny(), "Hi", "--stop", "beta gamma", "-q", "--grammar-str",
                              'root ::= "alpha beta gamma delta"'))
        self.assertEqual(done.text, "alpha ")

    def test_same_text_with_and_without_speculation(self):
        texts = {self.ok(minfer(tiny(), "aaaa aaaa aaaa", "-q", "--grammar-str",
                                'root ::= ("abc" [a-z]){20}', "--spec", spec)).text
                 for spec in ("off", "lookup")}
        self.assertEqual(len(texts), 1)


class Chat(rig.Test):
    def test_every_reply_follows_the_grammar(self):
        done = self.ok(minfer("chat", tiny(), "-q", "--grammar-str", 'root ::= "yes" | "no"',
                              stdin=b"one\ntwo\n/regen\n/alt 3\n"))
        self.assertRegex(done.text, r"\A\s*(yes|no)\s+(yes|no)\s+(yes|no)\s")
        self.assertFalse(set(done.text) - set("yesno \n123456789.:()[]*/"), done.text)

    def test_a_reply_that_is_cut_is_said(self):
        arguments = ("chat", tiny(), "-q", "-n", "2", "--grammar-str", 'root ::= [a-z]{9}')
        done = minfer(*arguments, stdin=b"one\n")
        self.assertEqual(done.code, 1)
        self.assertIn("incomplete: raise -n", done.err)
        self.assertEqual(minfer(*arguments, "-st", stdin=b"one\n").code, 3)
        whole = minfer("chat", tiny(), "-q", "-n", "2", "--grammar-str", 'root ::= [a-z]+',
                       stdin=b"one\n")
        self.assertEqual((whole.code, whole.err), (0, ""))

    def test_a_bad_grammar_is_refused_before_the_model(self):
        self.refused(minfer("chat", "no-such.gguf", "--grammar-str", "root ::= x", stdin=b"one\n"), 2,
                     "column 10", "not defined")


if __name__ == "__main__":
    rig.main()

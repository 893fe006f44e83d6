"""What goes to stdout and what to stderr, and in which form: text, JSON, tables."""

import csv
import io
import math
import os
import re

import rig
from rig import minfer, tiny

ESCAPE = b"\x1b"


class Streams(rig.Test):
    def test_text_alone_goes_to_stdout(self):
        done = self.ok(minfer(tiny(), "Hello", "-n", 20))
        quiet = self.ok(minfer(tiny(), "Hello", "-n", 20, "-q"))
        self.assertGreater(len(done.out), 0)
        self.assertEqual(done.out, quiet.out)
        text = self.ok(minfer(tiny(), "Hello", "-n", 20, "--json")).json()["text"]
        self.assertEqual(done.out, text.encode())

    def test_no_escape_sequence_in_a_pipe(self):
        done = self.ok(minfer(tiny(), "Hello", "-n", 20))
        self.assertNotIn(ESCAPE, done.err.encode())
        self.assertNotIn("\r", done.err)

    def test_header_and_summary_on_stderr(self):
        done = self.ok(minfer(tiny(), "Hello", "-n", 20, "-t", 1, "-c", 256,
                              "--spec", "off"))
        header, *rest = done.err_lines
        self.assertRegex(header, r"^Tiny llama-F32 \| llama F32, [\d.]+ MB \| context 256 \(-c\) \| "
                                 r"1 thread \(--threads\) \| \w+$")
        self.assertIn("minfer: cut after 20 tokens (--predict)", rest)
        self.assertRegex(done.err, r"(?m)^Prefill: \d+ tokens in [\d.]+ s \([\d.]+ tok/s\)$")
        self.assertRegex(done.err, r"(?m)^Generated: 20 tokens in [\d.]+ s \([\d.]+ tok/s\)$")
        self.assertRegex(done.err, r"(?m)^Total: [\d.]+ s \| graphs: built 2 in [\d.]+ ms, "
                                   r"reused 18 \| peak memory [\d.]+ MB \| seed 42$")

    def test_quiet_silences_all_but_errors(self):
        done = self.ok(minfer(tiny(), "Hello", "-n", 20, "-q"))
        self.assertEqual(done.err, "")
        self.refused(minfer("no-such-model.gguf", "Hello", "-q"), 1, "no-such-model.gguf")

    def test_full_disk(self):
        with open("/dev/full", "wb") as full:
            done = minfer(tiny(), "Hello", "-n", 20, "-q", out=full)
        self.refused(done, 1, "cannot write to stdout", "No space left")

    def test_full_disk_in_every_command(self):
        for arguments in (("--version",), ("--help",), ("info", tiny()),
                          ("tokenize", tiny(), "Hello"), ("logits", tiny(), "--tokens", "3", "-q"),
                          ("logits", tiny(), "--tokens", "3", "-q", "--out", "-"),
                          ("bench", tiny(), "-p", 8, "-n", 8, "-r", 1, "-q"),
                          (tiny(), "Hello", "-n", 5, "-q", "--json")):
            with self.subTest(arguments[0]), open("/dev/full", "wb") as full:
                self.refused(minfer(*arguments, out=full), 1, "cannot write to stdout")

    def test_the_reader_goes_away(self):
        # The reader takes one byte and leaves; the run must end by itself, long before -n.
        reading, writing = os.pipe()
        run = rig.Running(tiny(), "Hello", "-n", 100000, "-c", 200000, "--ignore-eos", "-q",
                          out=writing)
        os.close(writing)
        os.read(reading, 1)
        os.close(reading)
        self.refused(run.finish(20), 1, "cannot write to stdout", "the reader is gone")

    def test_closed_stdout(self):
        done = minfer(tiny(), "Hello", "-n", 5, "-q", preexec=lambda: os.close(1))
        self.refused(done, 1, "cannot write to stdout")


class RunJson(rig.Test):
    def test_one_object_with_every_field(self):
        done = self.ok(minfer(tiny(), "Hello", "-n", 6, "--ignore-eos", "--json", "-q", "-s", 7))
        result = done.json()
        self.assertEqual(done.out.count(b"\n"), 1)
        self.assertEqual(sorted(result), ["finish_reason", "ids", "prompt_ids", "seed", "text",
                                          "timings", "usage", "warnings"])
        self.assertEqual(result["finish_reason"], "length")
        self.assertEqual(result["seed"], 7)
        self.assertEqual(len(result["ids"]), 6)
        self.assertEqual(result["usage"], {"prompt_tokens": len(result["prompt_ids"]),
                                           "completion_tokens": 6,
                                           "total_tokens": len(result["prompt_ids"]) + 6})
        self.assertEqual(result["warnings"], ["cut after 6 tokens (--predict)"])
        for name in ("load_seconds", "prefill_seconds", "decode_seconds", "sample_seconds",
                     "total_seconds"):
            self.assertGreaterEqual(result["timings"][name], 0)

    def test_text_that_is_no_utf8_stays_valid_json(self):
        # Token 3 + 0xFF is the byte 0xFF alone.
        done = self.ok(minfer(tiny(), "Hello", "-n", 3, "--greedy", "--logit-bias",
                              f"{3 + 0xFF}:100000", "--json", "-q"))
        self.assertEqual(done.json()["text"], "\ufffd" * 3)

    def test_warnings_tell_what_stderr_tells(self):
        result = self.ok(minfer(tiny(), "Hello", "-n", 1, "-c", 2048, "--json")).json()
        self.assertIn("a context of 2048 is longer than the 1024 the model was trained for",
                      result["warnings"])


class Bench(rig.Test):
    ARGUMENTS = ("-p", 16, "-n", 8, "-r", 2, "-q")

    def test_json(self):
        rows = self.ok(minfer("bench", tiny(), *self.ARGUMENTS, "-o", "json")).json()
        self.assertEqual([row["test"] for row in rows], ["pp16", "tg8"])
        for row in rows:
            self.assertEqual(sorted(row), sorted((
                "model", "size", "params", "backend", "isa", "threads", "test", "n_prompt",
                "n_gen", "depth", "n_seq", "ts_mean", "ts_stddev", "samples_ts", "gbps",
                "gflops", "share_of_limit")))
            self.assertTrue(0 < row["share_of_limit"] < 1.5, row)
            self.assertEqual(len(row["samples_ts"]), 2)
            self.assertAlmostEqual(row["ts_mean"], sum(row["samples_ts"]) / 2, delta=1e-3)
        self.assertEqual((rows[0]["n_prompt"], rows[0]["n_gen"]), (16, 0))
        self.assertEqual((rows[1]["n_prompt"], rows[1]["n_gen"]), (0, 8))

    def rows(self, *arguments):
        done = self.ok(minfer("bench", tiny(), *arguments, "-r", 1, "-q", "-o", "json"))
        return done.json()

    def test_a_row_for_each_combination(self):
        rows = self.rows("-p", "4,16", "-n", "2,8", "-d", "0,70", "-np", "1,3", "-ctk", "f16,f32",
                         "-t", "1,2")
        names = [f"{test}{at}{many}"
                 for at in ("", "@d70") for tests, manys in ((("pp4", "pp16"), ("",)),
                                                             (("tg2", "tg8"), ("", "x3")))
                 for many in manys for test in tests]
        self.assertEqual([row["test"] for row in rows],
                         [name + kv for threads in (1, 2) for kv in ("", " f32") for name in names])
        self.assertEqual([row["threads"] for row in rows], [1] * 24 + [2] * 24)
        for row in rows:
            self.assertEqual("@d70" in row["test"], row["depth"] == 70)
            self.assertEqual("x3" in row["test"], row["n_seq"] == 3)

    def test_a_depth_is_filled_once(self):
        done = self.ok(minfer("bench", tiny(), "-p", 0, "-n", 2, "-d", "70,75,70", "-np", 3, "-r", 2,
                              "-q", "--batch-size", 2, env={"MINFER_GRAPH_TRACE": "1"}))
        steps = re.findall(r"^graph uid=\d+ (\w+) rows=(\d+) out=(\d+)", done.err, re.MULTILINE)
        # Three repetitions with the one that warms up, each of an untimed step and two.
        decode = [("decode", "3", "3")] * 9
        def fill(n):  # 3 sequences, in batches of 2
            return n * 3 // 2
        runs = [index for index, step in enumerate(steps) if step == decode[0]]
        self.assertEqual(len(runs), 27)
        self.assertEqual(runs[0], fill(70))
        self.assertEqual(steps[runs[0]:runs[0] + 9], decode)
        self.assertGreater(runs[9], runs[8] + 1)             # from 70 to 75
        self.assertEqual(runs[18], runs[17] + 1)             # 70 is cut back to
        self.assertEqual(len(steps), runs[26] + 1)

    def test_what_a_token_costs(self):
        # bytes and operations a token, from speeds that the row itself holds
        def cost(*arguments):
            row, = self.rows(*arguments)
            return (row["gbps"] / row["ts_mean"] * 1e9, row["gflops"] / row["ts_mean"] * 1e9)
        shallow = cost("-p", 0, "-n", 1)
        deep = cost("-p", 0, "-n", 1, "-d", 100)
        wide = cost("-p", 0, "-n", 1, "-d", 100, "-ctk", "f32")
        many = cost("-p", 0, "-n", 1, "-np", 4)
        prefill = cost("-p", 64, "-n", 0)
        self.assertGreater(deep[0], shallow[0])
        self.assertGreater(deep[1], shallow[1])
        self.assertAlmostEqual((wide[0] - shallow[0]) / (deep[0] - shallow[0]), 2, delta=0.1)
        self.assertAlmostEqual(many[1], shallow[1], delta=1)
        self.assertLess(many[0], shallow[0] / 3)
        self.assertLess(prefill[0], shallow[0] / 30)
        # Logits for the last token alone.
        self.assertLess(cost("-p", 2, "-n", 0, "-d", 1)[1], shallow[1])

    def test_csv(self):
        done = self.ok(minfer("bench", tiny(), *self.ARGUMENTS, "-o", "csv"))
        rows = list(csv.DictReader(io.StringIO(done.text)))
        self.assertEqual([row["test"] for row in rows], ["pp16", "tg8"])
        for row in rows:
            self.assertGreater(float(row["ts_mean"]), 0)
            self.assertNotIn(None, row)

    def test_markdown(self):
        done = self.ok(minfer("bench", tiny(), *self.ARGUMENTS))
        lines = done.text.splitlines()
        self.assertEqual(len(lines), 4)
        self.assertEqual(len({line.count("|") for line in lines}), 1, done.text)

    def test_a_name_with_a_bar_or_a_quote_breaks_no_table(self):
        model = rig.Gguf(tiny())
        name = b"Tiny llama-F32"
        at = model.keys["general.name"]
        model.bytes[at + 8:at + 8 + len(name)] = b'a|b"c,d\x1b[1m-F32'[:len(name)]
        path = model.save("quoted.gguf")
        lines = self.ok(minfer("bench", path, *self.ARGUMENTS)).text.splitlines()
        columns = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
        self.assertEqual(len(columns), 1, lines)
        done = self.ok(minfer("bench", path, *self.ARGUMENTS, "-o", "csv"))
        self.assertTrue(next(csv.DictReader(io.StringIO(done.text)))["model"].startswith('a|b"c,d'))
        self.ok(minfer("bench", path, *self.ARGUMENTS, "-o", "json")).json()

    def test_one_test_alone(self):
        rows = self.ok(minfer("bench", tiny(), "-p", 0, "-n", 4, "-r", 1, "-q", "-o", "json")).json()
        self.assertEqual([row["test"] for row in rows], ["tg4"])
        self.refused(minfer("bench", tiny(), "-p", 0, "-n", 0), 2, "nothing to measure")


class Info(rig.Test):
    def test_text(self):
        text = self.ok(minfer("info", tiny("qwen2", "Q4_0"))).text
        for words in ("Tiny qwen2-Q4_0", "qwen2", "307 tokens", "byte-level BPE (qwen2)", "bytes of Jinja",
                      "1024 trained"):
            self.assertIn(words, text)

    def test_json(self):
        info = self.ok(minfer("info", tiny(), "--json")).json()
        self.assertEqual(info["architecture"], "llama")
        self.assertEqual(info["n_vocab"], 307)
        self.assertEqual(info["n_ctx_train"], 1024)
        self.assertNotIn("metadata", info)
        self.assertEqual(sum(info["tensor_types"].values()), len(rig.Gguf(tiny()).tensors))

    def test_all(self):
        keys = rig.Gguf(tiny()).keys
        tensors = rig.Gguf(tiny()).tensors
        text = self.ok(minfer("info", tiny(), "--all")).text
        for name in keys:
            self.assertIn(f"\n{name} = ", text)
        for name in tensors:
            self.assertIn(f"\n{name} ", text)
        info = self.ok(minfer("info", tiny(), "--all", "--json")).json()
        self.assertEqual(list(info["metadata"]), list(keys))
        self.assertEqual([tensor["name"] for tensor in info["tensors"]], list(tensors))
        for tensor in info["tensors"]:
            self.assertEqual(math.prod(tensor["shape"]), tensors[tensor["name"]][2])
        self.assertEqual(info["warnings"], [])

    def test_tied_weights_count_once(self):
        free, tied = (self.ok(minfer("info", tiny("llama", "F32", *flags), "--json")).json()
                      for flags in ((), ("--tied",)))
        n_output = free["n_vocab"] * free["n_embd"]
        self.assertEqual(free["n_params"] - tied["n_params"], n_output)
        self.assertEqual(free["size_bytes"] - tied["size_bytes"], 4 * n_output)
        for info, flags in ((free, ()), (tied, ("--tied",))):
            model = rig.Gguf(tiny("llama", "F32", *flags))
            self.assertEqual(info["n_params"], sum(n for _, _, n in model.tensors.values()))


class Tokenize(rig.Test):
    def ids(self, *arguments, **options):
        line = self.ok(minfer("tokenize", tiny(), "--ids", *arguments, **options)).text
        return [int(word) for word in line.split()]

    def test_table(self):
        lines = self.ok(minfer("tokenize", tiny(), "a\nthe")).text.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertRegex(lines[0], r'^ +\d+  "a"$')
        self.assertRegex(lines[1], r'^ +\d+  "\\n"$')

    def test_ids_and_json_agree(self):
        ids = self.ids("hello world")
        tokens = self.ok(minfer("tokenize", tiny(), "hello world", "--json")).json()["tokens"]
        self.assertEqual([token["id"] for token in tokens], ids)
        self.assertEqual("".join(token["text"] for token in tokens), "hello world")

    def test_special_tokens(self):
        self.assertEqual(self.ids("<|im_end|>"), [2])
        self.assertGreater(len(self.ids("<|im_end|>", "--no-special")), 3)

    def test_decode(self):
        ids = self.ids("hello  world\n\u00e9")
        done = self.ok(minfer("tokenize", tiny(), "--decode", " ".join(map(str, ids))))
        self.assertEqual(done.text, "hello  world\n\u00e9")
        for text in ("1 2", "1,2", " 1 ,\n2"):
            done = self.ok(minfer("tokenize", tiny(), "--decode", text))
            self.assertEqual(done.text, "<|im_start|><|im_end|>")
        done = self.ok(minfer("tokenize", tiny(), "--decode", "--no-special", "1 2"))
        self.assertEqual(done.text, "")
        for text in ("307", "-1", "x", "1x", "99999999999"):
            self.refused(minfer("tokenize", tiny(), "--decode", "--", text), 2, "--decode", text)

    def test_decode_json(self):
        result = self.ok(minfer("tokenize", tiny(), "--decode", "--json", "1 2")).json()
        self.assertEqual([token["id"] for token in result["tokens"]], [1, 2])
        self.assertEqual(result["text"], "<|im_start|><|im_end|>")

    def test_input(self):
        ids = self.ids("hello\n")
        self.assertEqual(self.ids(stdin=b"hello\n"), ids)
        self.assertEqual(self.ids("-f", "-", stdin=b"hello\n"), ids)
        path = rig.FOLDER / "text.txt"
        path.write_text("hello\n")
        self.assertEqual(self.ids("-f", path), ids)
        self.refused(minfer("tokenize", tiny()), 2, "no text given", "Example: minfer tokenize")

    def test_empty_text_has_no_tokens(self):
        self.assertEqual(self.ids(""), [])
        self.assertEqual(self.ids(stdin=b""), [])

    def test_a_model_without_tokenizer(self):
        path = tiny("llama", "F32", "--no-tokenizer")
        self.refused(minfer("tokenize", path, "x"), 1, str(path), "no tokenizer")
        self.refused(minfer(path, "x"), 1, str(path), "no tokenizer", "logits")


class Logits(rig.Test):
    def test_list(self):
        text = self.ok(minfer("logits", tiny(), "--tokens", "3,4,5", "-q")).text
        self.assertEqual(len(text.splitlines()), 11)
        self.assertTrue(text.startswith("position 2\n"))
        text = self.ok(minfer("logits", tiny(), "--tokens", "3,4,5", "-q", "--all", "--top", 2)).text
        self.assertEqual([line for line in text.splitlines() if line.startswith("position")],
                         ["position 0", "position 1", "position 2"])

    def test_raw_numbers(self):
        out = rig.FOLDER / "logits.f32"
        listed = self.ok(minfer("logits", tiny(), "--tokens", "3,4,5", "-q", "--all", "--out", out))
        piped = self.ok(minfer("logits", tiny(), "--tokens", "3,4,5", "--all", "--out", "-"))
        self.assertEqual(len(piped.out), 3 * 307 * 4)
        self.assertEqual(piped.out, out.read_bytes())
        self.assertIn(listed.text, piped.err)  # the list is then on stderr
        last = self.ok(minfer("logits", tiny(), "--tokens", "3,4,5", "-q", "--out", "-"))
        self.assertEqual(last.out, piped.out[2 * 307 * 4:])

    def test_refusals(self):
        self.refused(minfer("logits", tiny()), 2, "no tokens given", "Example: minfer logits")
        for tokens in ("307", "-1", "x", "1,,2", "1 2", ","):
            self.refused(minfer("logits", tiny(), f"--tokens={tokens}", "-q"), 2, "--tokens")
        self.refused(minfer("logits", tiny(), "--tokens", "3", "-q", "--out", "/nowhere/x.f32"), 1,
                     "cannot write /nowhere/x.f32")


class Help(rig.Test):
    def test_every_command_has_one(self):
        for command in ((), ("tokenize",), ("logits",), ("info",), ("bench",)):
            for spelling in ("--help", "-h"):
                done = self.ok(minfer(*command, spelling))
                self.assertEqual(done.err, "")
                self.assertIn("minfer " + " ".join(command), done.text)
                self.assertLessEqual(max(map(len, done.text.splitlines())), 80)

    def test_version(self):
        self.assertRegex(self.ok(minfer("--version")).text, r"^minfer \d+\.\d+\.\d+ .*\n$")


if __name__ == "__main__":
    rig.main()

"""How a run ends: limits, stop strings, bad numbers, signals; and that it ends the same way twice."""

import os
import resource
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import unittest

import rig
from rig import minfer, tiny

# So long that only a signal ends it.
ENDLESS = ("-c", 400000, "-n", -1, "--ignore-eos", "--raw")
LETTERS = [argument for letter in range(ord("a"), ord("z") + 1)
           for argument in ("--logit-bias", f"{3 + letter}:1000")]


def little_memory():
    if not rig.SANITIZED:  # they need address space of their own
        resource.setrlimit(resource.RLIMIT_AS, (2_000_000 << 10, 2_000_000 << 10))


def run_json(*arguments, **options):
    done = minfer(*arguments, "--json", **options)
    return done, done.json() if done.out else None


class Limits(rig.Test):
    def generate(self, *arguments, **options):
        done, result = run_json(*arguments, **options)
        self.ok(done)
        return done, result

    def raw(self, n):
        """A raw prompt of n tokens."""
        return ("--raw", "x" * n)

    def test_predict(self):
        for n in (0, 1, 2, 17):
            done, result = self.generate(tiny(), "Hello", "-n", n, "--ignore-eos")
            self.assertEqual(len(result["ids"]), n)
            self.assertEqual(result["finish_reason"], "length")
            self.assertEqual("(--predict)" in done.err, n > 0)

    def test_raw_prompts_end_after_512(self):
        _, result = self.generate(tiny(), *self.raw(3), "--ignore-eos", "-c", 1000)
        self.assertEqual(len(result["ids"]), 512)

    def test_full_context(self):
        done, result = self.generate(tiny(), "Hello", "-c", 128, "-n", 1000, "--ignore-eos")
        self.assertEqual(result["usage"]["total_tokens"], 128)
        self.assertEqual(result["finish_reason"], "length")
        self.assertIn("minfer: the context of 128 is full", done.err)
        # No forward is run for the last token: prefill and one for each other.
        self.assertEqual(sum(rig.graph_counts(done)), len(result["ids"]))
        self.assertIn("the context of 128 is full", result["warnings"][-1])

    def test_room_for_the_prompt_and_some(self):
        _, result = self.generate(tiny(), *self.raw(250), "-c", 256, "-n", 100, "--ignore-eos")
        self.assertEqual(len(result["ids"]), 6)
        _, result = self.generate(tiny(), *self.raw(255), "-c", 256, "-n", 100, "--ignore-eos")
        self.assertEqual(len(result["ids"]), 1)

    def test_a_prompt_that_does_not_fit_raises_the_context(self):
        for n, n_ctx in ((256, 256), (257, 256), (401, 256), (1, 1)):
            done, result = self.generate(tiny(), *self.raw(n), "-c", n_ctx, "-n", 5, "--ignore-eos")
            note = (f"the prompt has {n} tokens and does not fit in a context of {n_ctx}: "
                    f"using {n + 5}")
            self.assertIn(note, result["warnings"])
            self.assertIn(f"minfer: {note}", done.err)
            self.assertEqual(len(result["ids"]), 5)

    def test_no_further_than_the_trained_length(self):
        _, result = self.generate(tiny(), *self.raw(1020), "-c", 64, "-n", 50, "--ignore-eos")
        self.assertEqual(result["usage"]["total_tokens"], 1024)
        for n_ctx, context in ((0, "context 1024:"), (64, "context 64 (trained for 1024):"),
                               (1024, "context 1024:")):
            done = minfer(tiny(), *self.raw(1024), "-c", n_ctx)
            self.refused(done, 1, "the prompt has 1024 tokens", context, "shorten the prompt")
        # Asked for in so many words, a longer context holds.
        done, _ = self.generate(tiny(), *self.raw(1500), "-c", 2000, "-n", 2)
        self.assertIn("longer than the 1024 the model was trained for", done.err)

    @unittest.skipIf(rig.SANITIZED, "sanitizers need address space of their own")
    def test_a_context_larger_than_memory(self):
        for n_ctx in (1 << 30, 1 << 29):
            done = minfer(tiny(), "Hello", "-c", n_ctx, "-q", preexec=little_memory)
            self.refused(done, 1, str(n_ctx), "--ctx-size")

    def test_any_number_of_tokens_may_be_asked_for(self):
        for n in (2147483647, 1 << 30):
            done = minfer(tiny(), "Hello", "-n", n, "-c", 64, "--ignore-eos", "--json", "-q",
                          preexec=little_memory)
            self.assertEqual(self.ok(done).json()["usage"]["total_tokens"], 64)

    def test_logits_and_bench_do_not_outgrow_theirs(self):
        self.refused(minfer("logits", tiny(), "--tokens", "3,4,5", "-c", 2), 2, "3 tokens", "2")
        self.refused(minfer("bench", tiny(), "-p", 100, "-c", 64), 2, "129", "--ctx-size")


class Stops(rig.Test):
    """Letters by chance, and stop strings taken from them: tokens are single letters."""

    def text(self, *arguments, **options):
        done, result = run_json(tiny(), "Hello", "-n", 60, "-q", *LETTERS, *arguments, **options)
        self.ok(done)
        return result

    def test_cut_before_the_first_stop_string(self):
        whole = self.text()["text"]
        self.assertRegex(whole, "^[a-z]{60}$")
        for begin, end in ((10, 14), (0, 1), (57, 60), (20, 29)):
            stop = whole[begin:end]
            result = self.text("--stop", stop)
            self.assertEqual(result["text"], whole[:whole.find(stop)])
            self.assertEqual(result["finish_reason"], "stop")
            plain = self.ok(minfer(tiny(), "Hello", "-n", 60, "-q", *LETTERS, "--stop", stop))
            self.assertEqual(plain.text, result["text"])

    def test_the_earliest_of_several(self):
        whole = self.text()["text"]
        result = self.text("--stop", whole[30:33], "--stop", whole[12:15], "--stop", "#")
        self.assertEqual(result["text"], whole[:min(whole.find(whole[30:33]),
                                                    whole.find(whole[12:15]))])

    def test_a_held_back_tail_is_shown(self):
        whole = self.text()
        result = self.text("--stop", whole["text"][-4:] + "!")
        self.assertEqual(result["text"], whole["text"])
        self.assertEqual(result["finish_reason"], "length")

    def test_an_empty_stop_string_stops_nothing(self):
        self.assertEqual(len(self.text("--stop", "")["text"]), 60)

    def test_end_of_generation(self):
        done, result = run_json(tiny(), "Hello", "--logit-bias", "2:100000", "-q")
        self.ok(done)
        self.assertEqual((result["text"], result["ids"], result["finish_reason"]), ("", [], "stop"))


class Draws(rig.Test):
    def text(self, *arguments):
        return self.ok(minfer(tiny(), "Hello", "-n", 40, "--ignore-eos", "-q", *arguments)).out

    def test_same_seed_same_text(self):
        self.assertEqual(self.text(), self.text())
        self.assertEqual(self.text(), self.text("-s", 42))
        self.assertNotEqual(self.text(), self.text("-s", 43))

    def test_machine_settings_change_nothing(self):
        expected = self.text()
        for arguments in (("-t", 1), ("-t", 2), ("-t", 3), ("--batch-size", 1),
                          ("--batch-size", 7)):
            with self.subTest(arguments):
                self.assertEqual(self.text(*arguments), expected)

    def test_a_random_seed_is_shown_and_can_be_used_again(self):
        runs = [run_json(tiny(), "Hello", "-n", 40, "--ignore-eos", "-s", -1) for _ in range(2)]
        (done, first), (_, second) = runs
        self.assertNotEqual(first["seed"], second["seed"])
        self.assertIn(f"| seed {first['seed']}\n", done.err)
        self.assertEqual(self.text("-s", first["seed"]), first["text"].encode())

    def test_greedy(self):
        greedy = self.text("--greedy")
        self.assertEqual(greedy, self.text("--temp", 0))
        self.assertEqual(greedy, self.text("--temperature", 0))
        self.assertEqual(greedy, self.text("--top-k", 1))
        self.assertEqual(greedy, self.text("--greedy", "-s", 7, "--repeat-penalty", 50))

    def test_bias(self):
        _, result = run_json(tiny(), "Hello", "-n", 3, "-q", "--logit-bias", f"{3 + ord('z')}:1e9")
        self.assertEqual(result["text"], "zzz")
        done = minfer(tiny(), "Hello", "-q", "--logit-bias", "307:1")
        self.refused(done, 2, "307")

    def test_settings_in_the_file_hold_unless_given(self):
        model = rig.with_key(tiny(), "general.sampling.temp", "f", 0.0)
        run = ("-n", 40, "--ignore-eos", "-q")
        from_file = self.ok(minfer(model, "Hello", *run)).out
        self.assertEqual(from_file, self.text("--greedy"))
        given = self.ok(minfer(model, "Hello", *run, "--temp", 0.8)).out
        self.assertEqual(given, self.text())
        builtin = self.ok(minfer(model, "Hello", *run, "--sampling", "builtin")).out
        self.assertEqual(builtin, self.text())
        for value in (-1.0, float("nan"), 1e30):
            bad = rig.with_key(tiny(), "general.sampling.temp", "f", value)
            self.refused(minfer(bad, "Hello", *run), 1, str(bad), "general.sampling.temp",
                         "--sampling builtin")


    def test_every_stage_is_reached(self):
        greedy = self.text("--greedy")
        self.assertEqual(greedy, self.text("--top-n-sigma", 1e-6))
        self.assertEqual(greedy, self.text("--top-nsigma", 1e-6))
        self.assertEqual(greedy, self.text("--min-p", 1, "--top-k", 0))
        unchanged = self.text()
        for options in (("--typical", 0), ("--xtc-probability", 1, "--xtc-threshold", 0),
                        ("--mirostat", 1, "--mirostat-tau", 1), ("--mirostat", 2),
                        ("--mirostat", 2, "--mirostat-eta", 1, "--mirostat-tau", 1),
                        ("--frequency-penalty", 10, "--repeat-last-n", -1)):
            self.assertNotEqual(unchanged, self.text(*options), options)

    def test_dry(self):
        repeat = ("--logit-bias", f"{3 + ord('a')}:1000", "--logit-bias", f"{3 + ord('b')}:950")
        dry = ("--temp", 0, *repeat, "--dry-multiplier", 100, "--dry-base", 1,
               "--dry-allowed-length", 1)
        once = self.text("--temp", 0, *repeat)
        self.assertEqual(once, b"a" * 40)
        self.assertEqual(len(set(self.text(*dry))), 2)
        # Every token is a breaker, or every token is none.
        self.assertEqual(self.text(*dry, "--dry-sequence-breaker", "a",
                                   "--dry-sequence-breaker", "b"), once)
        self.assertEqual(self.text(*dry, "--dry-sequence-breaker", "a", "--dry-sequence-breaker",
                                   "none"), self.text(*dry))

    def test_mirostat_makes_the_cuts_that_nobody_gave(self):
        run = ("-n", 40, "--ignore-eos", "-q")
        alone = self.text("--mirostat", 2)
        self.assertEqual(alone, self.text("--mirostat", 2, "--top-k", 0, "--top-p", 1))
        self.assertEqual(alone, self.text("--mirostat", 2, "--temp", 5))
        self.assertEqual(self.text("--greedy"), self.text("--mirostat", 2, "--top-k", 1))
        model = rig.with_key(rig.with_key(tiny(), "general.sampling.mirostat", "I", 2),
                             "general.sampling.top_k", "I", 1)
        self.assertEqual(alone, self.ok(minfer(model, "Hello", *run)).out)


class Numbers(rig.Test):
    """Weights and hyper-parameters that are no numbers."""

    def test_nan_weight(self):
        model = rig.Gguf(tiny()).set_element("output_norm.weight", 0, float("nan")).save("nan.gguf")
        done, result = run_json(model, "Hello", "-n", 5, "-q")
        self.assertEqual(done.code, 1)
        self.assertEqual(result["finish_reason"], "error")
        self.refused(minfer(model, "Hello", "-n", 5, "-q"), 1, "position", "nan")
        self.refused(minfer("logits", model, "--tokens", "3,4", "-q"), 1, "non-finite",
                     "position 1", "--check-tensors")

    def test_check_tensors_names_tensor_and_index(self):
        for value in (float("nan"), float("inf")):
            model = (rig.Gguf(tiny()).set_element("blk.1.ffn_norm.weight", 7, value)
                     .save("nan2.gguf"))
            for command in ((model, "Hello"), ("info", model), ("logits", model, "--tokens", "3")):
                self.refused(minfer(*command, "--check-tensors"), 1, str(model),
                             "blk.1.ffn_norm.weight", "7")
        self.ok(minfer(tiny(), "Hello", "-n", 1, "--check-tensors"))

    def test_rope_base(self):
        for base in (float("nan"), 0.0, -1.0, float("inf")):
            model = rig.Gguf(tiny()).set_key("llama.rope.freq_base", "f", base).save("rope.gguf")
            self.refused(minfer(model, "Hello"), 1, str(model), "llama.rope.freq_base")

    def test_all_weights_zero(self):
        model = rig.Gguf(tiny()).zero_weights().save("zero.gguf")
        _, result = run_json(model, "Hello", "-n", 3, "-q", "--greedy")
        self.assertEqual((result["ids"], result["finish_reason"]), ([], "stop"))  # 0 ends a text
        _, result = run_json(model, "Hello", "-n", 3, "-q", "--greedy", "--ignore-eos")
        self.assertEqual(result["ids"], [1, 1, 1])
        listed = self.ok(minfer("logits", model, "--tokens", "3", "-q")).text.splitlines()[1:]
        self.assertEqual([int(line.split()[0]) for line in listed], list(range(10)))

    def test_head_size_that_does_not_fit_the_weights(self):
        model = rig.Gguf(tiny()).set_key("llama.attention.key_length", "I", 256).save("head.gguf")
        self.refused(minfer(model, "Hello"), 1, str(model))


class ShrinkingFile(rig.Test):
    def test_a_file_that_shrinks_ends_the_run_with_one_line(self):
        path = rig.FOLDER / "shrinks.gguf"
        path.write_bytes(tiny().read_bytes())
        run = rig.Running(path, "Hello", *ENDLESS, "-q")
        self.assertTrue(rig.wait_for(lambda: len(run.out_so_far()) > 100))
        os.truncate(path, 1000)
        done = run.finish(20)
        self.assertEqual(done.code, 1)
        self.assertEqual(done.err, f"minfer: {path}: the file changed or shrank while it was being "
                                   "read\n")


class Signals(rig.Test):
    LATENCY = 0.2

    def stopped(self, number, arguments, ready, summary=True, **options):
        """Sends a signal once `ready(run)`; on a machine with other work the best of three counts."""
        latencies = []
        for _ in range(3):
            run = rig.Running(*arguments, **options)
            self.assertTrue(rig.wait_for(lambda: ready(run)))
            start = time.monotonic()
            run.send(number)
            done = run.finish(20)
            latencies.append(time.monotonic() - start)
            self.assertEqual(done.code, 128 + number, done.err)
            self.assertEqual("Total: " in done.err, summary, done.err)
            if latencies[-1] < self.LATENCY or rig.SANITIZED:
                return done
        self.fail(f"ended after {latencies} s")

    def test_decode(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            done = self.stopped(number, (tiny(), "Hello", *ENDLESS),
                                lambda run: len(run.out_so_far()) > 100)
            self.assertRegex(done.err, r"Generated: [1-9]\d* tokens")

    def test_prefill(self):
        done = self.stopped(signal.SIGINT, (tiny(), *ENDLESS, "-f", self.long_text()),
                            lambda run: b"|" in run.err_so_far())
        self.assertIn("Generated: 0 tokens", done.err)

    def test_prefill_of_logits_and_bench(self):
        tokens = ",".join(["3"] * 30000)
        for arguments in (("logits", tiny(), "--tokens", tokens),
                          ("bench", tiny(), "-p", 30000, "-n", 0, "-c", 40000)):
            for number in (signal.SIGINT, signal.SIGTERM):
                done = self.stopped(number, arguments, lambda run: b"|" in run.err_so_far(),
                                    summary=False)
                self.assertEqual(done.out, b"")
                self.assertEqual(len(done.err_lines), 3, done.err)  # header, note, the reason

    def test_while_reading_the_prompt(self):
        reading, writing = os.pipe()
        run = rig.Running(tiny(), stdin=reading)
        time.sleep(0.3)
        run.send(signal.SIGINT)
        self.assertEqual(run.finish(20).code, 130)
        os.close(reading)
        os.close(writing)

    def test_json_of_a_stopped_run(self):
        done = self.stopped(signal.SIGINT, (tiny(), "Hello", *ENDLESS, "--json"),
                            lambda run: b"|" in run.err_so_far())
        self.assertEqual(done.json()["finish_reason"], "cancelled")

    def test_the_second_signal_ends_at_once(self):
        run = rig.Running(tiny(), "Hello", *ENDLESS)
        self.assertTrue(rig.wait_for(lambda: len(run.out_so_far()) > 100))
        run.send(signal.SIGSTOP)  # so that both are there when it goes on
        run.send(signal.SIGINT)
        run.send(signal.SIGTERM)
        run.send(signal.SIGCONT)
        done = run.finish(20)
        self.assertIn(done.code, (130, 143))
        self.assertNotIn("Total: ", done.err)

    def long_text(self):
        path = rig.FOLDER / "long.txt"
        path.write_text("x" * 300000)
        return path


class Terminal(rig.Test):
    """The program on a pseudo-terminal of its own."""

    def test_answer_and_summary(self):
        shown, done = rig.on_terminal(tiny(), "Hello", "-n", 5, "--greedy", *LETTERS)
        self.assertEqual(done.code, 0)
        lines = shown.replace("\r\n", "\n").splitlines()
        self.assertTrue(lines[0].startswith("Tiny llama-F32 | "))
        self.assertRegex(lines[1], "^[a-z]{5}$")  # the answer has a line of its own
        self.assertIn("minfer: cut after 5 tokens (--predict)", lines)
        self.assertTrue(any(line.startswith("Prefill: ") for line in lines))

    def test_control_characters_are_shown_as_symbols(self):
        for byte, symbol in ((0x1B, "\u241b"), (0x07, "\u2407"), (0x0D, "\u240d"), (0x7F, "\u2421")):
            shown, _ = rig.on_terminal(tiny(), "Hello", "-n", 2, "-q", "--greedy",
                                        "--logit-bias", f"{3 + byte}:1e9")
            self.assertEqual(shown, symbol * 2 + "\r\n")
            piped = self.ok(minfer(tiny(), "Hello", "-n", 2, "-q", "--greedy", "--logit-bias",
                                   f"{3 + byte}:1e9"))
            self.assertEqual(piped.out, bytes([byte, byte]))

    def test_control_characters_in_a_path(self):
        shown, done = rig.on_terminal("no\x1b[31msuch.gguf", "Hello")
        self.assertEqual(done.code, 1)
        self.assertNotIn("\x1b", shown)
        self.assertIn("no\u241b[31msuch.gguf", shown)

    def test_a_name_with_escape_sequences(self):
        model = rig.Gguf(tiny())
        at = model.keys["general.name"] + 8
        model.bytes[at:at + 5] = b"\x1b[31m"
        path = model.save("evil.gguf")
        for arguments in ((path, "Hello", "-n", 1), ("info", path), ("info", path, "--all"),
                          ("bench", path, "-p", 4, "-n", 0, "-r", 1)):
            shown, _ = rig.on_terminal(*arguments)
            self.assertNotIn("\x1b[31m", shown)

    def test_ctrl_c(self):
        shown, done = rig.on_terminal(tiny(), "Hello", *ENDLESS, *LETTERS, keys=b"\x03",
                                       after=rb"[a-z]{30}")
        self.assertEqual(done.code, 130)
        self.assertRegex(shown, r"\nGenerated: [1-9]\d* tokens")
        self.assertIn("\nTotal: ", shown)

    def test_nobody_types_a_prompt(self):
        # A terminal without a prompt is a chat; --raw has none.
        shown, done = rig.on_terminal(tiny(), "--raw")
        self.assertEqual(done.code, 2)
        self.assertIn("no prompt given", shown)


class OutputFiles(rig.Test):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def logits(self, out):
        return minfer("logits", tiny(), "--tokens", "3,4", "-q", "--out", out)

    def test_a_link_is_followed_and_the_mode_kept(self):
        with open(self.path("real"), "wb") as file:
            file.write(b"old")
        os.chmod(self.path("real"), 0o600)
        os.symlink("real", self.path("link"))
        self.ok(self.logits(self.path("link")))
        self.assertTrue(os.path.islink(self.path("link")))
        info = os.stat(self.path("real"))
        self.assertEqual((info.st_mode & 0o777, info.st_size % 4), (0o600, 0))
        self.assertGreater(info.st_size, 3)
        self.assertEqual(sorted(os.listdir(self.folder)), ["link", "real"])

    def test_a_pipe_is_written_to_and_stays_one(self):
        os.mkfifo(self.path("pipe"))
        reader = subprocess.Popen(["cat", self.path("pipe")], stdout=subprocess.PIPE)
        self.ok(self.logits(self.path("pipe")))
        self.assertGreater(len(reader.communicate()[0]), 3)
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("pipe")).st_mode))

    def test_the_model_is_not_overwritten(self):
        self.refused(self.logits(tiny()), 2, "is the model")
        self.refused(self.logits(""), 2, "the name of a file")

    def test_a_folder_that_is_not_there(self):
        self.refused(self.logits(self.path("no/where")), 1, "No such file")


class Resources(rig.Test):
    def test_an_endless_prompt_is_refused(self):
        self.refused(minfer(tiny(), "-f", "/dev/zero", "-q"), 2, "256 MB")

    def test_threads_that_do_not_start_are_done_without(self):
        done = minfer(tiny(), "Hello", "-t", 900, "-n", 2, "-q", preexec=little_memory)
        self.assertIn(done.code, (0, 1), done.err)  # 1: out of memory, said in a line
        self.assertLessEqual(len(done.err.splitlines()), 1)


if __name__ == "__main__":
    rig.main()

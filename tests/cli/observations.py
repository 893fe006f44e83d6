"""The observation switches on one model: what they show, and that they change nothing.

observe_test.py runs these on a tiny model, real_test.py on a real one.
"""

import collections
import json
import re

import rig
from rig import minfer

SWITCHES = {"MINFER_TIMING": "1", "MINFER_OP_TIMING": "1", "MINFER_GRAPH_TRACE": "1",
            "MINFER_REBUILD_TRACE": "1"}


class Observations:
    """Mixed into a rig.Test with `model()`; `MAX_BARRIERS`: a layer's, or None; `FUSED`: the
    projections that it has fused."""

    MAX_BARRIERS = None
    FUSED = ("fused_qkv", "fused_gate_up")

    def generate(self, *arguments, env=None):
        # One forward a token: what is counted here is the forwards.
        return self.ok(minfer(self.model(), "Hi", "--ignore-eos", "--greedy", "--spec", "off",
                              *arguments, env=env))

    def test_one_set_of_graph_lines_a_forward(self):
        for n, batch in ((1, 512), (5, 512), (5, 16)):
            done = self.generate("-n", n, "--batch-size", batch, env={"MINFER_GRAPH_TRACE": "1"})
            prefill = int(re.search(r"Prefill: (\d+) tokens", done.err)[1])
            graphs = re.findall(r"(?m)^graph uid=\d+ (\w+) rows=(\d+) out=\d splits=(\d+)$", done.err)
            splits = re.findall(r"(?m)^  split 0 cpu nodes=\d+ staged=0: .*$", done.err)
            n_chunks = -(-prefill // batch)
            self.assertEqual(len(graphs), n_chunks + n - 1)
            self.assertEqual(len(splits), len(graphs))
            self.assertEqual({split for _, _, split in graphs}, {"1"})
            self.assertEqual([kind for kind, _, _ in graphs],
                             ["prefill"] * n_chunks + ["decode"] * (n - 1))
            self.assertEqual(sum(int(rows) for kind, rows, _ in graphs if kind == "prefill"),
                             prefill)

    def test_a_line_a_token(self):
        done = self.generate("-n", 6, env={"MINFER_TIMING": "1"})
        lines = re.findall(r"(?m)^token (\d+): sample ([\d.]+) ms \(([\d.]+)%\), "
                           r"forward ([\d.]+) ms \(([\d.]+)%\)$", done.err)
        self.assertEqual([int(line[0]) for line in lines], [1, 2, 3, 4, 5, 6])
        for line in lines:
            self.assertAlmostEqual(float(line[2]) + float(line[4]), 100, delta=0.2)
        self.assertEqual(float(lines[-1][3]), 0)  # nobody reads the last token's logits

    def test_time_by_operation(self):
        done = self.generate("-n", 4, env={"MINFER_OP_TIMING": "1"})
        header = re.search(r"(?m)^op +calls +ms +share +GB/s +GFLOP/s$", done.err)
        self.assertTrue(header, done.err)
        rows = re.findall(r"(?m)^(\w+(?: \w+)?) +(\d+) +([\d.]+) +([\d.]+)% +([\d.]+) +([\d.]+)$",
                          done.err)
        self.assertIn("attention", [row[0] for row in rows])
        self.assertAlmostEqual(sum(float(row[3]) for row in rows), 100, delta=1)
        barriers = re.search(r"(?m)^barriers a decode step: (\d+) \(([\d.]+) a layer\)$", done.err)
        self.assertTrue(barriers, done.err)
        if self.MAX_BARRIERS:
            self.assertLessEqual(float(barriers[2]), self.MAX_BARRIERS)

    def test_rebuilds(self):
        done = self.generate("-n", 4, env={"MINFER_REBUILD_TRACE": "1"})
        lines = re.findall(r"(?m)^rebuild uid=(\d+) .*\((.*)\): build ([\d.]+) ms, assign .* ms, "
                           r"fuse .* ms, plan .* ms", done.err)
        self.assertEqual([line[0] for line in lines], ["1", "2"])
        self.assertEqual(lines[0][1], "the first graph")
        self.assertRegex(lines[1][1], r"^n_tokens \d+ -> 1$")

    def test_prefill_and_decode_graphs_differ_by_the_row_gathers(self):
        prefill = self.dumped("Hello world")
        decode = self.dumped(self.one_token())
        self.assertEqual({node["backend"] for node in prefill["nodes"] + decode["nodes"]}, {"cpu"})
        prefill, decode = (collections.Counter(node["op"] for node in graph["nodes"])
                           for graph in (prefill, decode))
        self.assertEqual(prefill - decode, {"gather_rows": 2})
        self.assertEqual(decode - prefill, {})

    def test_fusion_switches(self):
        for switch, op in (("MINFER_NO_FUSE_QKV", "fused_qkv"),
                           ("MINFER_NO_FUSE_FFN", "fused_gate_up")):
            for value, there in (("0", op in self.FUSED), ("1", False)):
                done = self.generate("-n", 2, env={"MINFER_GRAPH_TRACE": "1", switch: value})
                self.assertEqual(op in done.err, there, done.err)

    def one_token(self):
        return "a"

    def dumped(self, prompt):
        dot, dump = rig.FOLDER / "graph.dot", rig.FOLDER / "graph.json"
        done = self.ok(minfer(self.model(), prompt, "--raw", "--dump-graph", dot,
                              "--dump-graph-json", dump))
        self.assertEqual(done.out, b"")
        self.assertTrue(dot.read_text().startswith("digraph"))
        return json.loads(dump.read_text())

    def test_dumped_rows_grow_by_one_a_step(self):
        before = None
        for n in (1, 2, 3, 4):
            folder = rig.FOLDER / f"dump-{self.model().stem}-{n}"
            result = self.generate("-n", n, "--json", env={"MINFER_GRAPH_DUMP": str(folder)}).json()
            index = json.loads((folder / "index.json").read_text())
            step = index["decode" if n > 1 else "prefill"]
            n_prompt = result["usage"]["prompt_tokens"]
            self.assertEqual(step["n_valid"], n_prompt + n - 1)
            rows = {}
            for file in step["files"]:
                data = (folder / file["name"]).read_bytes()
                size = 4
                for extent in file["shape"]:
                    size *= extent
                self.assertEqual(len(data), size, file)
                if file["name"].startswith("kv"):
                    self.assertEqual(file["shape"][0], step["n_valid"])
                    rows[file["name"].split("_")[0]] = (data, size // file["shape"][0])
            for layer, (data, row) in rows.items():
                if before:
                    self.assertEqual(len(data), len(before[layer][0]) + row)
                    self.assertTrue(data.startswith(before[layer][0]), layer)
            before = rows
            self.dumped_logits_are_those_of_the_command(folder, index, result, n)

    def dumped_logits_are_those_of_the_command(self, folder, index, result, n):
        tokens = result["prompt_ids"] + result["ids"][:n - 1]
        kind = "decode" if n > 1 else "prefill"
        logits = self.ok(minfer("logits", self.model(), "--tokens", ",".join(map(str, tokens)),
                                "--out", "-", "-q")).out
        self.assertEqual((folder / f"logits_{kind}.f32").read_bytes(), logits)
        self.assertEqual(index[kind]["n_vocab"] * 4, len(logits))

    def test_nothing_changes(self):
        tokens = ("--tokens", ",".join(str(3 + i) for i in range(40)))
        plain_logits = self.ok(minfer("logits", self.model(), *tokens, "--all", "--out", "-", "-q"))
        plain_text = self.generate("-n", 12, "-q")
        env = {**SWITCHES, "MINFER_GRAPH_DUMP": str(rig.FOLDER / "dump-all")}
        logits = self.ok(minfer("logits", self.model(), *tokens, "--all", "--out", "-", "-q",
                                env=env))
        self.assertEqual(logits.out, plain_logits.out)
        self.assertEqual(self.generate("-n", 12, "-q", env=env).out, plain_text.out)
        for switch in ("MINFER_NO_FUSE_QKV", "MINFER_NO_FUSE_FFN"):
            unfused = self.ok(minfer("logits", self.model(), *tokens, "--all", "--out", "-", "-q",
                                     env={switch: "1"}))
            self.assertEqual(unfused.out, plain_logits.out)

    def test_empty_and_zero_are_off(self):
        for value in ("", "0"):
            done = self.generate("-n", 3, env={switch: value for switch in
                                               (*SWITCHES, "MINFER_GRAPH_DUMP")})
            self.assertEqual(len(done.err_lines), 5, done.err)

    def test_a_dump_that_cannot_be_written(self):
        file = rig.FOLDER / "a file"
        file.write_text("")
        done = minfer(self.model(), "Hi", "-n", 3, "-q", env={"MINFER_GRAPH_DUMP": str(file)})
        self.refused(done, 1, str(file))
        for option in ("--dump-graph", "--dump-graph-json"):
            done = minfer(self.model(), "Hi", option, file / "x")
            self.refused(done, 1, f"cannot write {file}/x")

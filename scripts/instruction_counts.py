#!/usr/bin/env python3
"""Counts the instructions of what minfer does in an answer, and compares them with a table.

    scripts/instruction_counts.py PHASES [--update]

PHASES is the program of tests/perf, built in release; it runs under callgrind on one thread, with
instruction sets that valgrind knows. Time on shared machines says little, instructions say the same
everywhere with one compiler and one C library: with others than the table's nothing is compared
(exit status 77). A phase that takes over 3% more than in the table fails; one that takes over 10%
less asks for --update, which writes the table anew.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TABLE = pathlib.Path(__file__).resolve().parent / "instruction_counts.json"
MORE = 1.03
LESS = 0.90
SKIPPED = 77
# architecture, type, instruction set
RUNS = [("llama", "Q4_0", "avx2"), ("gemma3", "Q4_K", "avx2"), ("llama", "Q4_0", "scalar")]
NEEDED_FLAGS = {"avx2", "fma", "f16c"}


class Skip(Exception):
    """Why nothing can be compared here."""


def phase_counts(text):
    """The inclusive instructions of the functions phase_* in callgrind's output, by name."""
    counts = {}
    phase = None
    for line in text.splitlines():
        if line.startswith("cfn="):
            match = re.search(r"phase_(\w+)$", line)
            phase = match.group(1) if match else None
        elif phase and not line.startswith(("calls=", "cfi=", "cfl=", "cob=")):
            counts[phase] = counts.get(phase, 0) + int(line.split()[-1])
            phase = None
    return counts


def run(*command, **environment):
    return subprocess.run([str(part) for part in command], check=True, text=True,
                          env={**os.environ, **environment}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE).stdout


def environment_of(phases):
    return f"{run(phases, 'compiler').strip()}, {os.confstr('CS_GNU_LIBC_VERSION')}"


def count_all(phases):
    if shutil.which("valgrind") is None:
        raise Skip("valgrind is not installed: scripts/setup --dev")
    flags = re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    if not flags or not NEEDED_FLAGS <= set(flags.group(1).split()):
        raise Skip("this processor has no AVX2, FMA and F16C")
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        model, out = pathlib.Path(folder, "model.gguf"), pathlib.Path(folder, "callgrind.out")
        for arch, dtype, isa in RUNS:
            run(phases, "write", model, arch, dtype)
            run("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
                "--compress-strings=no", "--compress-pos=no", phases, "run", model, MINFER_ISA=isa)
            counts[f"{arch} {dtype} {isa}"] = phase_counts(out.read_text())
    return counts


def compare(counts, table):
    """Lines about phases that changed: (those that fail, those that ask for an update)."""
    worse, better = [], []
    for name in sorted(counts.keys() | table.keys()):
        ours, theirs = counts.get(name, {}), table.get(name, {})
        for phase in sorted(ours.keys() | theirs.keys()):
            if phase not in ours or phase not in theirs:
                worse.append(f"{name}: {phase} stands only in the "
                             f"{'table' if phase in theirs else 'program'}")
                continue
            ratio = ours[phase] / theirs[phase]
            line = (f"{name}: {phase} takes {ours[phase]:,} instructions, "
                    f"{100 * (ratio - 1):+.1f}% against the table")
            if ratio > MORE:
                worse.append(line)
            elif ratio < LESS:
                better.append(line)
    return worse, better


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("phases", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--table", type=pathlib.Path, default=TABLE)
    options = parser.parse_args()
    here = environment_of(options.phases)
    table = json.loads(options.table.read_text()) if options.table.exists() else {}
    if not options.update and table.get("environment") != here:
        raise Skip(f"the table is of {table.get('environment')}, this is {here}")
    counts = count_all(options.phases)
    if options.update:
        text = json.dumps({"environment": here, "counts": counts}, indent=1, sort_keys=True)
        options.table.write_text(text + "\n")
        return 0
    worse, better = compare(counts, table["counts"])
    for line in worse + better:
        print(f"instruction_counts: {line}")
    if worse or better:
        print("instruction_counts: if that is meant: scripts/instruction_counts.py "
              f"{os.path.relpath(options.phases)} --update, and commit the table with the change")
    else:
        n_phases = sum(len(phases) for phases in counts.values())
        print(f"instruction_counts: ok, {n_phases} phases")
    return 1 if worse else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Skip as reason:
        print(f"instruction_counts: skipped: {reason}")
        sys.exit(SKIPPED)
    except subprocess.CalledProcessError as failed:
        last = (failed.stderr.strip().splitlines() or [""])[-1]
        sys.exit(f"instruction_counts: {failed.cmd[0]} failed with {failed.returncode}: {last}")

#!/usr/bin/env python3
"""Checks the size of the files and that nothing unfinished or private stands in them.

A source file over 500 lines or a function over 60 is a warning, a file over 800 lines a failure.
Failures too: marks of unfinished work, left-over conflict markers, text that is not UTF-8, paths of
somebody's machine, and files over 1 MB. Prints the median length of the sources.
"""

import re
import statistics
import sys

import tree

WARN_LINES = 500
MAX_LINES = 800
WARN_FUNCTION_LINES = 60
MAX_BYTES = 1 << 20
LONG_FILES = set()  # exceptions: generated tables and the like, by path

SOURCE_SUFFIXES = {".h", ".cc", ".inc", ".def"}
SOURCE_FOLDERS = {"src", "apps", "include", "tests", "bench", "fuzz"}

# This file names what it looks for, and so is not searched.
UNSEARCHED = {"scripts/check_files.py"}
FORBIDDEN = [
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "a mark of unfinished work"),
    (re.compile(r"^(<{7} |>{7} |={7}$)", re.MULTILINE), "a conflict marker"),
    (re.compile(r"(?<![\w.$}])/(work|root|home|Users)/\w"), "a path of somebody's machine"),
]


# A line at the level of a namespace or class that opens a body: `... ) {`, `... ) const {`.
FUNCTION_OPENS = re.compile(
    r"^ {0,4}(?!if\b|for\b|while\b|switch\b|namespace\b|class\b|struct\b|enum\b|\}|//).*\).*\{$")


def is_source(path):
    return path.parts[0] in SOURCE_FOLDERS and path.suffix in SOURCE_SUFFIXES


def line_counts(root):
    return {path: tree.read(root, path).count("\n") for path in tree.files(root) if is_source(path)}


def long_functions(text):
    """(first line, length) of the functions that are too long, as clang-format lays them out."""
    opened = None  # line number and indentation of the function being read
    for number, line in enumerate(text.split("\n"), start=1):
        indent = len(line) - len(line.lstrip(" "))
        if opened is None:
            if FUNCTION_OPENS.match(line):
                opened = (number, indent)
        elif line.startswith("}", indent) and indent <= opened[1]:
            if number - opened[0] > WARN_FUNCTION_LINES:
                yield opened[0], number - opened[0] + 1
            opened = None


def check_text(root, path):
    data = (root / path).read_bytes()
    if len(data) > MAX_BYTES:
        return [f"{path}: {len(data)} bytes, over {MAX_BYTES}"]
    if b"\0" in data or "corpus" in path.parts or str(path) in UNSEARCHED:
        return []
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return [f"{path}: is not UTF-8"]
    return [f"{path}:{text.count(chr(10), 0, found.start()) + 1}: {what}: {found.group(0)!r}"
            for pattern, what in FORBIDDEN for found in pattern.finditer(text)]


def check(root):
    problems = []
    for path, lines in line_counts(root).items():
        if lines > MAX_LINES and str(path) not in LONG_FILES:
            problems.append(f"{path}: {lines} lines, over {MAX_LINES}")
    for path in tree.files(root):
        problems += check_text(root, path)
    return problems


def summary():
    counts = line_counts(tree.ROOT)
    for path, lines in sorted(counts.items()):
        if lines > WARN_LINES:
            print(f"warning: {path}: {lines} lines, over {WARN_LINES}")
        for first, length in long_functions(tree.read(tree.ROOT, path)):
            print(f"warning: {path}:{first}: a function of {length} lines, over {WARN_FUNCTION_LINES}")
    return f"ok, {len(counts)} source files, median {statistics.median(counts.values()):g} lines"


GOOD = {
    "src/base/a.cc": "// Reads build/work/notes and $HOME/.config; a todo list is fine.\n" * MAX_LINES,
    "README.md": "=======x\n",
}
BAD = [
    ("src/base/a.cc", "int x;\n" * (MAX_LINES + 1), "801 lines"),
    ("src/base/b.cc", "int x;\n// TODO(me): y\n", "b.cc:2: a mark of unfinished work"),
    ("docs/a.md", "<<<<<<< ours\n", "a conflict marker"),
    ("scripts/x", "cd /home/me/minfer\n", "a path of somebody's machine"),
    ("docs/big.txt", "x" * (MAX_BYTES + 1), "bytes, over"),
]

if __name__ == "__main__":
    sys.exit(tree.main("check_files", check, summary, GOOD, BAD))

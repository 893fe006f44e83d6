#!/usr/bin/env python3
"""Checks that what the documents point at exists.

Looks at every Markdown file of the tree: relative links and their anchors, `make TARGET` in code,
and paths in back-ticks that begin with a folder of the tree. Exit status 1 names each that is not
there, and each document of the list below that is missing.
"""

import re
import sys

import tree

REQUIRED = ["README.md", "docs/architecture.md", "docs/arithmetic.md", "docs/dependencies.md"]

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
HEADING = re.compile(r"^#+\s+(.*?)\s*$", re.MULTILINE)
MAKE = re.compile(r"(?:^|[\s`])make ([a-z_]+)")
TREE_PATH = re.compile(r"^(src|apps|include|tests|bench|fuzz|docs|cmake|scripts)/[\w./+-]+$")


def anchor(heading):
    """The anchor that a Markdown viewer gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(root, path):
    return {anchor(h) for h in HEADING.findall(FENCE.sub("", tree.read(root, path)))}


def make_targets(root):
    if not (root / "Makefile").is_file():
        return set()
    return set(re.findall(r"^([a-z_]+):", (root / "Makefile").read_text(), re.MULTILINE))


def check_links(root, path, text):
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, fragment = target.partition("#")
        linked = (root / path).parent / file if file else root / path
        if not linked.exists():
            yield f"{path}: link to {target}: no such file"
        elif fragment and linked.suffix == ".md" and fragment not in anchors(root, linked):
            yield f"{path}: link to {target}: no such heading"


def check_code(root, path, text, targets):
    fenced = " \n".join(FENCE.findall(text))
    inline = CODE.findall(FENCE.sub("", text))
    for name in MAKE.findall("\n".join([fenced, *(f"`{code}" for code in inline)])):
        if name not in targets:
            yield f"{path}: make {name}: no such target"
    for code in inline:
        if TREE_PATH.match(code) and not (root / code).exists():
            yield f"{path}: {code}: no such file"


def check(root):
    problems = [f"{name} is missing" for name in REQUIRED if not (root / name).is_file()]
    targets = make_targets(root)
    for path in tree.files(root):
        if path.suffix == ".md":
            text = tree.read(root, path)
            problems += check_links(root, path, text)
            problems += check_code(root, path, text, targets)
    return problems


GOOD = {
    "Makefile": "test: build\nbuild:\n",
    "README.md": "[a](docs/architecture.md#two-words-3) `make test` `src/x.cc` [w](https://x.y) make sure\n"
                 "```\nmake build\n```\n",
    "src/x.cc": "\n",
    "docs/architecture.md": "# Two *words*, 3\n[up](../README.md)\n",
    "docs/arithmetic.md": "a <one|two>/x `docs/<name>.md`\n",
    "docs/dependencies.md": "\n",
}
BAD = [
    ("docs/a.md", "[x](missing.md)\n", "link to missing.md"),
    ("docs/a.md", "[x](architecture.md#nowhere)\n", "no such heading"),
    ("docs/a.md", "run `make tests`\n", "make tests: no such target"),
    ("docs/a.md", "```\nmake all\n```\n", "make all: no such target"),
    ("docs/a.md", "see `src/gone.cc`\n", "src/gone.cc: no such file"),
]

if __name__ == "__main__":
    sys.exit(tree.main("check_docs", check, lambda: "ok", GOOD, BAD))

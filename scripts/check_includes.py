#!/usr/bin/env python3
"""Checks the directions of #include between the rooms of src/ against one table.

A file of a room may include only from its own room and from those that the table names for it, and
a library only where the second table allows it. Exit status 1 names every line that does not.
"""

import re
import sys

import tree

# The rooms, lowest first. A room that is missing here may not exist.
ROOMS = {
    "base": "",
    "tensor": "base",
    "quant": "base tensor",
    "gguf": "base tensor quant",
    "text": "base",
    "chat": "base",
    "ir": "base tensor quant",
    "backend": "base tensor quant ir",
    "passes": "base tensor quant ir backend",
    "plan": "base tensor quant ir backend passes",
    "cpu": "base tensor quant ir backend",
    "model": "base tensor quant gguf text ir backend plan",
    "sampling": "base",
    "engine": "base tensor quant gguf text chat ir backend passes plan model sampling",
    "apps": "base tensor quant gguf text chat ir backend passes plan cpu model sampling engine",
}

# Headers of libraries and of instruction sets, and the folders that may include them.
LIBRARIES = {
    r"fmt/": ["src", "apps"],
    r"CLI/": ["apps"],
    r"boost/": ["src/base", "src/server"],
    r"pcre2\.h": [],
    r"utf8proc\.h": ["src/chat", "src/text"],
    r"xxhash\.h": ["src"],
    r"simde/": [],
    r"(gtest|gmock|benchmark)/|rapidcheck": [],
    r"[a-z]*mmintrin\.h|immintrin\.h|x86intrin\.h|arm_neon\.h": ["src/cpu/kernels"],
    r"cpuid\.h": ["src/base"],
}

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)


def room_of(path):
    """The room that a file belongs to, or None for tests, benchmarks and the like."""
    if path.parts[0] == "src" and len(path.parts) > 2:
        return path.parts[1]
    return "apps" if path.parts[0] == "apps" else None


def allowed_library(path, header):
    for pattern, folders in LIBRARIES.items():
        if re.match(pattern, header):
            return any(str(path).startswith(folder + "/") for folder in folders)
    return True


def check_file(root, path):
    room = room_of(path)
    if room not in ROOMS:
        return [f"{path}: room {room!r} is not in the table of scripts/check_includes.py"]
    allowed = {room, *ROOMS[room].split()}
    problems = []
    text = tree.read(root, path)
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        quote, header = match.groups()
        first = header.split("/")[0]
        if quote == '"' and "/" not in header and room != "apps":
            problems.append(f'{path}:{line}: write "{room}/{header}", from the root of src/')
        elif first in ROOMS and first not in allowed:
            problems.append(f"{path}:{line}: {room} may not include {header}")
        elif not allowed_library(path, header):
            problems.append(f"{path}:{line}: {header} has no place in {path.parent}")
    return problems


def check_public_header(root, path):
    """include/minfer/ shows standard types only."""
    return [f"{path}: includes {header}: public headers use standard types only"
            for _, header in INCLUDE.findall(tree.read(root, path))
            if "/" in header and not header.startswith("minfer/")]


def check(root):
    problems = []
    for path in tree.files(root):
        if path.suffix not in (".h", ".cc", ".inc", ".def"):
            continue
        if path.parts[0] in ("src", "apps"):
            problems += check_file(root, path)
        elif path.parts[0] == "include":
            problems += check_public_header(root, path)
    return problems


GOOD = {
    "src/base/status.cc": '#include "base/status.h"\n#include <vector>\n#include <fmt/core.h>\n',
    "src/engine/session.cc": '#include "model/hparams.h"\n#include "backend/backend.h"\n',
    "src/cpu/kernels/dot/x86_avx2.cc": "#include <immintrin.h>\n",
    "apps/minfer/main.cc": '#include "engine/session.h"\n#include "commands.h"\n',
    "include/minfer/minfer.h": "#include <string>\n",
    "tests/cpu/ops.cc": '#include <gtest/gtest.h>\n#include "engine/session.h"\n',
}
BAD = [
    ("src/base/status.cc", '#include "base/status.h"\n#include "tensor/shape.h"\n', ":2: base may not"),
    ("src/engine/session.cc", '#include "cpu/backend.h"\n', "engine may not include cpu/"),
    ("src/cpu/backend.cc", '#  include "model/hparams.h"\n', "cpu may not include model/"),
    ("src/text/bpe.cc", '#include "gguf/reader.h"\n', "text may not include gguf/"),
    ("src/text/bpe.h", '#include "bpe_table.h"\n', 'write "text/bpe_table.h"'),
    ("src/novelty/a.cc", "#include <vector>\n", "room 'novelty'"),
    ("src/cpu/ops/add.cc", "#include <immintrin.h>\n", "immintrin.h has no place"),
    ("src/gguf/reader.cc", "#include <gtest/gtest.h>\n", "gtest/gtest.h has no place"),
    ("include/minfer/minfer.h", '#include "engine/session.h"\n', "standard types only"),
]

if __name__ == "__main__":
    sys.exit(tree.main("check_includes", check, lambda: f"ok, {len(ROOMS)} rooms", GOOD, BAD))

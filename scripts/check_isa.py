#!/usr/bin/env python3
"""Checks by disassembly that one binary runs on every x86-64 machine.

    scripts/check_isa.py BUILD_DIR [--compiler C++]      (or --self-test)

The objects of src/ and apps/ may hold baseline x86-64 instructions (SSE2) only. The exceptions are
the kernel files of an instruction set, src/cpu/kernels/**/x86_<isa>*.cc; those in turn may neither
offer the linker a weak symbol (an inline function compiled for AVX2 that the linker could choose
for the whole program) nor run code before main. Exit status 1 names each object at fault.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import tree

ISA_FILE = re.compile(r"cpu/(CMakeFiles/\w+\.dir/)?kernels/(.*/)?x86_(sse|avx|amx)\w*\.cc\.o$")

# VEX and EVEX mnemonics begin with v; the rest are SSE3 to SSE4.2, BMI and relatives. (tzcnt is not
# among them: compilers write it for bsf, and old machines run it as that.)
BEYOND_BASELINE = re.compile(
    r"^(v(?!err|erw)[a-z]\w*|tile\w+|tdp\w+|k(mov|and|or|xor|not|test|add|shift|unpck)\w*"
    r"|andn|bextr|bls(i|r|msk)|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx|lzcnt|popcnt|movbe|crc32\w?"
    r"|addsubp[sd]|haddp[sd]|hsubp[sd]|lddqu|mov(ddup|shdup|sldup)|pabs[bwd]|palignr|ph(add|sub)\w+"
    r"|pmaddubsw|pmulhrsw|pshufb|psign[bwd]|p?blend\w+|dpp[sd]|extractps|insertps|movntdqa|mpsadbw"
    r"|packusdw|pcmpeqq|pcmpgtq|pcmp[ei]str[im]|pextr[bdq]|phminposuw|pinsr[bdq]|pmaxs[bd]|pmaxu[wd]"
    r"|pmins[bd]|pminu[wd]|pmov[sz]x\w+|pmuldq|pmulld|ptest|round[ps][sd])$")
INSTRUCTION = re.compile(r"^\s*[0-9a-f]+:\t(?:(?:rep|repz|repnz|lock|notrack|bnd|data16) )*(\S+)")


def tool(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def foreign_instructions(path):
    """Instructions beyond the baseline in an object, as {function: mnemonic}."""
    found = {}
    function = "?"
    for line in tool("objdump", "-d", "-C", "--no-show-raw-insn", str(path)).splitlines():
        if line.endswith(">:"):
            function = line.split("<", 1)[1][:-2]
        elif (match := INSTRUCTION.match(line)) and BEYOND_BASELINE.match(match.group(1)):
            found.setdefault(function, match.group(1))
    return found


def weak_functions(path):
    """Functions that the object offers to share with the rest of the program."""
    rows = (line.split(" ", 2) for line in tool("nm", "-C", "--defined-only", str(path)).splitlines())
    return [row[2] for row in rows if len(row) == 3 and row[1] == "W"]


def check_object(path, name):
    if ISA_FILE.search(name):
        problems = [f"{name}: weak function {f}: give it internal linkage" for f in weak_functions(path)]
        if ".init_array" in tool("objdump", "-h", str(path)):
            problems.append(f"{name}: runs code before main")
        return problems
    return [f"{name}: {mnemonic} in {function}"
            for function, mnemonic in foreign_instructions(path).items()]


def check(build):
    problems = []
    objects = [p for folder in ("src", "apps") for p in sorted((build / folder).rglob("*.o"))]
    for path in objects:
        problems += check_object(path, path.relative_to(build).as_posix())
    if not objects:
        problems.append(f"{build}: no object files: build first")
    return problems, len(objects)


SELF_TEST = [
    # name, flags, source, what must be reported (empty: nothing)
    ("src/a.cc", [], "int f(int x) { return __builtin_ctz(x); }", ""),
    ("src/a.cc", ["-mavx2"], "void f(float* x) { for (int i = 0; i < 64; ++i) x[i] *= 2; }", " in f(float*)"),
    ("src/a.cc", ["-msse4.2"], "int f(unsigned x) { return __builtin_popcount(x); }", "popcnt in f"),
    ("apps/a.cc", ["-mbmi2"], "long f(long x, int n) { return x << n; }", "shlx in f"),
    ("src/cpu/kernels/k/x86_avx2.cc", ["-mavx2"],
     "void f(float* x) { for (int i = 0; i < 64; ++i) x[i] *= 2; }", ""),
    ("src/cpu/kernels/k/x86_avx2.cc", ["-mavx2", "-fno-inline"],
     "inline float g(float x) { return x * 2; } float f(float x) { return g(x); }", "weak function g"),
    ("src/cpu/kernels/k/x86_avx2.cc", ["-mavx2"], "int g(); int x = g();", "runs code before main"),
    ("src/cpu/kernels/k/generic.cc", ["-mavx"], "float f(float x) { return x * 2; }", "vaddss in f"),
]


def self_test(compiler):
    failures = []
    for number, (name, flags, source, expected) in enumerate(SELF_TEST):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder, name + ".o")
            target.parent.mkdir(parents=True)
            subprocess.run([compiler, "-O2", "-ftree-vectorize", *flags, "-x", "c++", "-c", "-", "-o",
                            str(target)], input=source, text=True, check=True)
            problems = check(pathlib.Path(folder))[0]
        if not expected and problems:
            failures += problems
        if expected and not any(expected in problem for problem in problems):
            failures.append(f"sample {number} ({name}): not reported: {expected!r} (got {problems})")
    return tree.report("check_isa --self-test", failures, f"ok, {len(SELF_TEST)} samples")


def main():
    parser = argparse.ArgumentParser(description="No instruction set leaks out of its kernel files.")
    parser.add_argument("build", type=pathlib.Path, nargs="?", help="the build folder")
    parser.add_argument("--compiler", default="c++", help="for the samples of --self-test")
    parser.add_argument("--self-test", action="store_true", help="prove that the check can fail")
    args = parser.parse_args()
    if args.self_test:
        return self_test(args.compiler)
    if args.build is None:
        parser.error("which build folder?")
    problems, count = check(args.build)
    return tree.report("check_isa", problems, f"ok, {count} objects")


if __name__ == "__main__":
    sys.exit(main())

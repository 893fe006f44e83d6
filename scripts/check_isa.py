#!/usr/bin/env python3
"""Checks by disassembly that one binary runs on every x86-64 or arm64 machine.

    scripts/check_isa.py BUILD_DIR [--compiler C++]      (or --self-test)

The objects of src/ and apps/ may hold baseline instructions (x86-64: SSE2; arm64: Armv8.0) only.
The exceptions are the kernel files of an instruction set, src/cpu/kernels/**/x86_<isa>*.cc and
arm_<isa>*.cc, which may hold those of their set (the table FILE_SETS) and of no other; they in turn may neither offer the linker a weak
symbol (an inline function compiled for AVX2 that the linker could choose for the whole program) nor
run code before main. Exit status 1 names each object at fault.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import tree

ISA_FILE = re.compile(r"cpu/(CMakeFiles/\w+\.dir/)?kernels/(.*/)?(?:x86|arm)_([a-z0-9]+)(_\w+)?\.cc\.o$")

# What the files of an instruction set (the name after x86_ or arm_) may hold beyond the baseline.
FILE_SETS = {
    "avx2": {"avx2"},
    "avxvnni": {"avx2", "avxvnni"},
    "avx512": {"avx2", "avx512"},
    "avx512vnni": {"avx2", "avx512", "avx512vnni"},
    "amx": {"avx2", "avx512", "avx512vnni", "amx"},
    "neon": set(),
    "dotprod": {"dotprod"},
    "i8mm": {"dotprod", "i8mm"},
}

# Of AVX-512, the parts F, BW, DQ and VL belong to "avx512", VNNI to "avx512vnni". Whatever else has
# been added to it or to AVX since is in no set that the program asks for.
DOT = re.compile(r"^vpdp(busd|wssd)s?$")
TILE = re.compile(r"^([ls][dt]tilecfg|tile(loadd(t1)?|stored|zero|release)|tdpb[su][su]d)$")
OTHER = re.compile(
    r"^(v(p2intersect|pmadd52|pmultishift|pcompress[bw]|pexpand[bw]|psh[lr]d|popcnt|pshufbitqmb"
    r"|p?conflict|plzcnt|pdp\w\wd|pdpb[su][su]d|pdpw[su][su]d|gf2p8|gather[01]pf|scatter[01]pf|exp2"
    r"|rcp28|rsqrt28|cvtne|dpbf16|bcstne|aes|pclmul|pbroadcastm|perm[it]?2?b$|sha|sm[34])\w*"
    r"|v\w+(ph|sh|bf16)|tile\w+|tdp\w+)$")
F16C = ("vcvtph2ps", "vcvtps2ph")
MASK = re.compile(r"^k[a-z]+[bwdq]$")  # operations between mask registers
EVEX_ONLY = re.compile(
    r"^v(\w+(32x[248]|64x[24])|pternlog[dq]|movdq[au](8|16|32|64)|p(and|andn|or|xor)[dq]"
    r"|perm[it]2\w+|p?blendm\w+|ptestn?m\w+|pro[lr]v?[dq]|ps(ra|ll|rl)vw|psrav?q|pabsq|align[dq]"
    r"|p(max|min)[su]q|pmullq|(range|reduce|fpclass|getexp|getmant|fixupimm|rndscale|scalef)\w+"
    r"|r(cp|sqrt)14\w+|dbpsadbw|pmov(us|s)?[wdq][bwd]|pmovm2\w|pmov[bwdq]2m|cvtt?p[sd]2u?qq"
    r"|cvtu?qq2p[sd]|cvtt?p[sd]2udq|cvtudq2p[sd])$")
EVEX = re.compile(r"%zmm|%[xy]mm(1[6-9]|2[0-9]|3[01])\b|%k[0-7]|\{1to\d+\}|\{r[nduz]-sae\}|\{sae\}")

# VEX and EVEX mnemonics begin with v; the rest are SSE3 to SSE4.2, BMI and relatives. (tzcnt is not
# among them: compilers write it for bsf, and old machines run it as that.)
BEYOND_BASELINE = re.compile(
    r"^(v(?!err|erw)[a-z]\w*|[ls][dt]tilecfg|tile\w+|tdp\w+|k(mov|and|or|xor|not|test|add|shift|unpck)\w*"
    r"|andn|bextr|bls(i|r|msk)|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx|lzcnt|popcnt|movbe|crc32\w?"
    r"|addsubp[sd]|haddp[sd]|hsubp[sd]|lddqu|mov(ddup|shdup|sldup)|pabs[bwd]|palignr|ph(add|sub)\w+"
    r"|pmaddubsw|pmulhrsw|pshufb|psign[bwd]|p?blend\w+|dpp[sd]|extractps|insertps|movntdqa|mpsadbw"
    r"|packusdw|pcmpeqq|pcmpgtq|pcmp[ei]str[im]|pextr[bdq]|phminposuw|pinsr[bdq]|pmaxs[bd]|pmaxu[wd]"
    r"|pmins[bd]|pminu[wd]|pmov[sz]x\w+|pmuldq|pmulld|ptest|round[ps][sd])$")
# Whatever has been added to Armv8.0: atomics, half floats, bf16, SVE, cryptography and the rest are
# in no set that the program asks for.
ARM_SETS = (
    ("dotprod", re.compile(r"^[su]dot$")),
    ("i8mm", re.compile(r"^([su]mmla|usmmla|usdot|sudot)$")),
    ("other", re.compile(
        r"^(cas[abhlp]*|swp[abhl]*|(ld|st)(add|clr|eor|set|[su]max|[su]min)[abhl]*|ldapr\w*|ldlar\w*"
        r"|stllr\w*|sqrdml[as]h|bf(cvt\w*|dot|mmla|mlal[bt])|fc(add|mla)|fml[as]l2?|fjcvtzs|aes\w+"
        r"|sha\d\w+|sm[34]\w+|eor3|bcax|rax1|xar|crc32\w*|ptrue|whil\w+|rdvl|cnt[bhwd])$")),
)
ARM_HALF = re.compile(r"^(?!fcvt)f\w+$")

INSTRUCTION = re.compile(
    r"^\s*[0-9a-f]+:\t(?:(?:rep|repz|repnz|lock|notrack|bnd|data16|\{vex\}) *)*(\S+)(.*)")


ARM_PREFIX = "aarch64-linux-gnu-"


def is_arm(path):
    """True for an ELF object of arm64."""
    with open(path, "rb") as file:
        return file.read(20)[18:20] == b"\xb7\x00"


def tool(*command):
    if is_arm(command[-1]) and shutil.which(ARM_PREFIX + command[0]):
        command = (ARM_PREFIX + command[0], *command[1:])
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def set_of(line, mnemonic, operands):
    """The instruction set that a line of the disassembly needs beyond the baseline."""
    if DOT.match(mnemonic):
        return "avxvnni" if "{vex}" in line else "avx512vnni"
    if TILE.match(mnemonic):
        return "amx"
    if mnemonic not in F16C and OTHER.match(mnemonic):
        return "other"
    wide = MASK.match(mnemonic) or EVEX_ONLY.match(mnemonic) or EVEX.search(operands)
    return "avx512" if wide else "avx2"


def arm_set_of(mnemonic, operands):
    """The instruction set that an arm64 instruction needs beyond the baseline, or None."""
    for name, pattern in ARM_SETS:
        if pattern.match(mnemonic):
            return name
    half = ARM_HALF.match(mnemonic) and re.search(r"\bv\d+\.[48]h|\bh\d+\b", operands)
    return "other" if half or re.search(r"\b[zp]\d+[./]", operands) else None


def foreign_instructions(path, allowed=frozenset()):
    """Instructions beyond the baseline and `allowed` in an object, as {function: mnemonic}."""
    found = {}
    function = "?"
    arm = is_arm(path)
    for line in tool("objdump", "-d", "-C", "--no-show-raw-insn", str(path)).splitlines():
        if line.endswith(">:"):
            function = line.split("<", 1)[1][:-2]
            continue
        match = INSTRUCTION.match(line)
        if not match:
            continue
        if arm:
            needed = arm_set_of(*match.groups())
        else:
            beyond = BEYOND_BASELINE.match(match.group(1))
            needed = set_of(line, *match.groups()) if beyond else None
        if needed is not None and needed not in allowed:
            found.setdefault(function, match.group(1))
    return found


def weak_functions(path):
    """Functions that the object offers to share with the rest of the program."""
    rows = (line.split(" ", 2) for line in tool("nm", "-C", "--defined-only", str(path)).splitlines())
    return [row[2] for row in rows if len(row) == 3 and row[1] == "W"]


def check_object(path, name):
    problems = []
    allowed = frozenset()
    if match := ISA_FILE.search(name):
        if match.group(3) not in FILE_SETS:
            return [f"{name}: no such instruction set in FILE_SETS"]
        allowed = FILE_SETS[match.group(3)]
        problems += [f"{name}: weak function {f}: give it internal linkage" for f in weak_functions(path)]
        if ".init_array" in tool("objdump", "-h", str(path)):
            problems.append(f"{name}: runs code before main")
    return problems + [f"{name}: {mnemonic} in {function}"
                       for function, mnemonic in foreign_instructions(path, allowed).items()]


def check(build):
    problems = []
    objects = [p for folder in ("src", "apps") for p in sorted((build / folder).rglob("*.o"))]
    for path in objects:
        problems += check_object(path, path.relative_to(build).as_posix())
    if not objects:
        problems.append(f"{build}: no object files: build first")
    return problems, len(objects)


LOOP = "void f(float* x) { for (int i = 0; i < 64; ++i) x[i] *= 2; }"
HEADER = "#include <immintrin.h>\n"
DOT_512 = HEADER + """__m512i f(__m512i a, __m512i b, __m512i c) {
  return _mm512_dpbusd_epi32(a, b, c);
}"""
DOT_256 = DOT_512.replace("512", "256")
TERNARY = HEADER + """__m128i f(__m128i a, __m128i b, __m128i c) {
  return _mm_ternarylogic_epi32(a, b, c, 42);
}"""
DOT_VEX = DOT_256.replace("dpbusd", "dpbusd_avx")
PERMUTE = HEADER + "__m512i f(__m512i a, __m512i b) { return _mm512_permutexvar_epi8(a, b); }"
TILES = HEADER + "void f() { _tile_zero(0); _tile_dpbssd(0, 1, 2); _tile_release(); }"
TILES_BF16 = HEADER + "void f() { _tile_dpbf16ps(0, 1, 2); }"
CONFIG = HEADER + "void f(const void* c) { _tile_loadconfig(c); }"
HALVES = HEADER + "__m512 f(__m256i a) { return _mm512_cvtph_ps(a); }"
AMX = ["-mamx-tile", "-mamx-int8", "-mamx-bf16"]
AVX512 = ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512"]

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
    ("src/cpu/kernels/k/x86_avx2.cc", AVX512, LOOP, " in f(float*)"),
    ("src/cpu/kernels/k/x86_avxvnni_q8a.cc", AVX512, LOOP, " in f(float*)"),
    ("src/cpu/kernels/k/x86_avx2.cc", AVX512, TERNARY, "vpternlogd in f"),
    ("src/cpu/kernels/k/x86_avx512.cc", AVX512, LOOP, ""),
    ("src/cpu/kernels/k/x86_avx512.cc", AVX512, HALVES, ""),
    ("src/cpu/kernels/k/x86_avx512_float.cc", [*AVX512, "-mavx512vnni"], DOT_512, "vpdpbusd in f"),
    ("src/cpu/kernels/k/x86_avx512vnni_q8a.cc", [*AVX512, "-mavx512vnni"], DOT_512, ""),
    ("src/cpu/kernels/k/x86_avx512vnni.cc", [*AVX512, "-mavx512vbmi"], PERMUTE, "vpermb in f"),
    ("src/cpu/kernels/k/x86_avx512vnni.cc", ["-mavx2", "-mavxvnni"], DOT_VEX, "vpdpbusd in f"),
    ("src/cpu/kernels/k/x86_avxvnni.cc", ["-mavx2", "-mavxvnni"], DOT_VEX, ""),
    ("src/cpu/kernels/k/x86_avxvnni.cc", [*AVX512, "-mavx512vnni"], DOT_256, "vpdpbusd in f"),
    ("src/cpu/kernels/k/x86_avx2.cc", ["-mavx2", "-mavxvnni"], DOT_VEX, "vpdpbusd in f"),
    ("src/cpu/kernels/k/x86_amx_q8a.cc", AMX, TILES, ""),
    ("src/cpu/kernels/k/x86_amx_q8a.cc", AMX, TILES_BF16, "tdpbf16ps in f"),
    ("src/cpu/kernels/k/x86_avx512vnni.cc", AMX, TILES, "tilezero in f"),
    ("src/a.cc", AMX, CONFIG, "ldtilecfg in f"),
    ("src/cpu/kernels/k/x86_avx3.cc", [], "int f() { return 1; }", "no such instruction set"),
]


NEON = "#include <arm_neon.h>\n"
SDOT = NEON + "int32x4_t f(int32x4_t a, int8x16_t b) { return vdotq_s32(a, b, b); }"
SMMLA = NEON + "int32x4_t f(int32x4_t a, int8x16_t b) { return vmmlaq_s32(a, b, b); }"
WIDEN = NEON + "float32x4_t f(float16x4_t a) { return vcvt_f32_f16(a); }"
ATOMIC = "int f(int* x) { return __atomic_fetch_add(x, 1, __ATOMIC_RELAXED); }"
HALF = NEON + "float16x4_t f(float16x4_t a) { return vmul_f16(a, a); }"
DOTPROD = ["-march=armv8.2-a+dotprod"]
I8MM = ["-march=armv8.2-a+dotprod+i8mm"]

ARM_SELF_TEST = [
    ("src/a.cc", [], LOOP, ""),
    ("src/a.cc", [], ATOMIC, ""),
    ("src/a.cc", [], WIDEN, ""),
    ("src/a.cc", DOTPROD, ATOMIC, "ldadd in f"),
    ("src/a.cc", ["-march=armv8.2-a+fp16"], HALF, "fmul in f"),
    ("src/a.cc", ["-O3", "-march=armv8.2-a+sve"], LOOP, " in f"),
    ("src/cpu/kernels/k/arm_neon_q8a.cc", DOTPROD, SDOT, "sdot in f"),
    ("src/cpu/kernels/k/arm_dotprod_q8a.cc", DOTPROD, SDOT, ""),
    ("src/cpu/kernels/k/arm_dotprod_q8a.cc", I8MM, SMMLA, "smmla in f"),
    ("src/cpu/kernels/k/arm_i8mm_q8a.cc", I8MM, SMMLA, ""),
]


def self_test(compiler):
    samples = [(compiler, *row) for row in SELF_TEST]
    if shutil.which(ARM_PREFIX + "g++"):
        samples += [(ARM_PREFIX + "g++", *row) for row in ARM_SELF_TEST]
    failures = []
    for number, (compiler, name, flags, source, expected) in enumerate(samples):
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
    return tree.report("check_isa --self-test", failures, f"ok, {len(samples)} samples")


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

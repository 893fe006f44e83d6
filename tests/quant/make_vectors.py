#!/usr/bin/env python3
"""Writes vectors*.inc: blocks of every type, decoded and encoded by the Python package `gguf`.

Needs `pip install gguf numpy`. The decoders of minfer must give the same bits; the encoders too
where the package has one. Of every block-quantised type, 2000 blocks of pseudo-random bytes are
decoded as well, and the CRC-32 of the result kept: every entry of every codebook is met.
"""
import pathlib
import sys
import zlib

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize, quantize

TYPES = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]
SMALL_TYPES = ["Q2_K", "Q3_K", "IQ4_NL", "IQ4_XS", "MXFP4", "IQ3_S", "IQ3_XXS", "IQ2_S", "IQ2_XS",
               "IQ2_XXS", "IQ1_S", "IQ1_M", "TQ1_0", "TQ2_0"]
ENCODED = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "MXFP4", "TQ1_0", "TQ2_0"]
# Where each type keeps its f16 scales: random bits there are kept finite.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
          "Q2_K": [80, 82], "Q3_K": [108], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": [], "IQ3_S": [0],
          "IQ3_XXS": [0], "IQ2_S": [0], "IQ2_XS": [0], "IQ2_XXS": [0], "IQ1_S": [0],
          "IQ1_M": [54],  # its scale's upper bits
          "TQ1_0": [52], "TQ2_0": [64]}
N_ELEMENTS = 256
N_DIGEST_BLOCKS = 2000


def random_bytes(rng, name, n_elements):
    block, size = GGML_QUANT_SIZES[T[name]]
    if name in ("F32", "F16", "BF16"):
        x = rng.standard_normal(n_elements).astype(np.float32)
        return quantize(x.reshape(1, -1), T[name]).view(np.uint8).reshape(-1)
    data = rng.integers(0, 256, (n_elements // block, size), dtype=np.uint8)
    return bounded(name, data).reshape(-1)


def bounded(name, data):
    for at in SCALES[name]:
        data[:, at + 1] &= 0xBF  # clears the top exponent bit: |scale| < 2, no infinity, no NaN
    return data


def digest(name):
    _, size = GGML_QUANT_SIZES[T[name]]
    i = np.arange(N_DIGEST_BLOCKS * size, dtype=np.uint64)
    data = ((i * 2654435761 & 0xFFFFFFFF) >> 13 & 0xFF).astype(np.uint8)
    data = bounded(name, data.reshape(N_DIGEST_BLOCKS, size))
    return zlib.crc32(decode(name, data.reshape(-1)).tobytes())


def decode(name, data):
    block, size = GGML_QUANT_SIZES[T[name]]
    if name in ("F32", "F16"):
        view = data.view(np.float32 if name == "F32" else np.float16)
        return view.astype(np.float32)
    return dequantize(data.reshape(1, -1), T[name]).reshape(-1)


def hexadecimal(data):
    text = np.ascontiguousarray(data).view(np.uint8).tobytes().hex()
    return "\n".join('"%s"' % text[i:i + 96] for i in range(0, max(len(text), 1), 96))


def rows(rng, inputs, names):
    out = []
    for name in names:
        data = random_bytes(rng, name, N_ELEMENTS)
        decoded = decode(name, data)
        encoded = np.zeros(0, dtype=np.uint8)
        if name in ENCODED:
            encoded = quantize(inputs.reshape(1, -1), T[name]).view(np.uint8).reshape(-1)
        out.append("{DType::k%s,\n%s,\n%s,\n%s}," % (
            name, hexadecimal(data), hexadecimal(decoded), hexadecimal(encoded)))
    return out


def digests():
    out = []
    for name in TYPES[3:] + SMALL_TYPES:
        at = [str(offset + 1) for offset in SCALES[name]] + ["-1", "-1"]
        out.append("{DType::k%s, {%s, %s}, 0x%08xu}," % (name, at[0], at[1], digest(name)))
    return out


def main():
    rng = np.random.default_rng(7)
    inputs = (rng.standard_normal(N_ELEMENTS) * 3).astype(np.float32)
    inputs[32:64] = 0.0
    head = ["// Made by make_vectors.py; do not edit.", "// clang-format off"]
    out = head + ["constexpr std::string_view kInput =\n" + hexadecimal(inputs) + ";"]
    out += ["constexpr Vector kVectors[] = {"] + rows(rng, inputs, TYPES) + ["};"]
    out += ["constexpr Digest kDigests[] = {"] + digests() + ["};"]
    here = pathlib.Path(__file__)
    here.with_name("vectors.inc").write_text("\n".join(out) + "\n")
    out = head + ["constexpr Vector kSmallVectors[] = {"] + rows(rng, inputs, SMALL_TYPES) + ["};"]
    here.with_name("vectors_small.inc").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    sys.exit(main())

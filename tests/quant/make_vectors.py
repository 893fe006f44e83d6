#!/usr/bin/env python3
"""Writes vectors.inc: blocks of every type, decoded and encoded by the Python package `gguf`.

Needs `pip install gguf numpy`. The decoders of minfer must give the same bits; the encoders of the
legacy types too (the package has none for Q4_K, Q5_K and Q6_K).
"""
import pathlib
import sys

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize, quantize

TYPES = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]
# Where each type keeps its f16 scales: random bits there are kept finite.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
N_ELEMENTS = 256


def random_bytes(rng, name, n_elements):
    block, size = GGML_QUANT_SIZES[T[name]]
    if name in ("F32", "F16", "BF16"):
        x = rng.standard_normal(n_elements).astype(np.float32)
        return quantize(x.reshape(1, -1), T[name]).view(np.uint8).reshape(-1)
    data = rng.integers(0, 256, (n_elements // block, size), dtype=np.uint8)
    for at in SCALES[name]:
        data[:, at + 1] &= 0xBF  # clears the top exponent bit: |scale| < 2, no infinity, no NaN
    return data.reshape(-1)


def decode(name, data):
    block, size = GGML_QUANT_SIZES[T[name]]
    if name in ("F32", "F16"):
        view = data.view(np.float32 if name == "F32" else np.float16)
        return view.astype(np.float32)
    return dequantize(data.reshape(1, -1), T[name]).reshape(-1)


def hexadecimal(data):
    text = np.ascontiguousarray(data).view(np.uint8).tobytes().hex()
    return "\n".join('"%s"' % text[i:i + 96] for i in range(0, max(len(text), 1), 96))


def main():
    rng = np.random.default_rng(7)
    inputs = (rng.standard_normal(N_ELEMENTS) * 3).astype(np.float32)
    inputs[32:64] = 0.0
    out = ["// Made by make_vectors.py; do not edit.", "// clang-format off"]
    out.append("constexpr std::string_view kInput =\n" + hexadecimal(inputs) + ";")
    out.append("constexpr Vector kVectors[] = {")
    for name in TYPES:
        data = random_bytes(rng, name, N_ELEMENTS)
        decoded = decode(name, data)
        encoded = np.zeros(0, dtype=np.uint8)
        if not name.endswith("_K"):
            encoded = quantize(inputs.reshape(1, -1), T[name]).view(np.uint8).reshape(-1)
        out.append("{DType::k%s,\n%s,\n%s,\n%s}," % (
            name, hexadecimal(data), hexadecimal(decoded), hexadecimal(encoded)))
    out.append("};")
    pathlib.Path(__file__).with_name("vectors.inc").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    sys.exit(main())

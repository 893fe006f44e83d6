#!/usr/bin/env python3
"""Writes grids.inc: the codebooks of the IQ1, IQ2 and IQ3 types, which are facts of the format.

Needs `pip install gguf numpy`. An entry is one number of 16 bits: the places of its elements in the
type's list of levels (grids.h), the first element in the lowest bits.
"""
import pathlib
import sys

from gguf import quants

GRIDS = [("Iq2Xxs", quants.IQ2_XXS, 2), ("Iq2Xs", quants.IQ2_XS, 2), ("Iq2S", quants.IQ2_S, 2),
         ("Iq3Xxs", quants.IQ3_XXS, 3), ("Iq3S", quants.IQ3_S, 3), ("Iq1S", quants.IQ1_S, 2)]


def main():
    out = ["// Made by make_grids.py; do not edit.", "// clang-format off"]
    for name, quant, bits in GRIDS:
        quant.init_grid()
        levels = {float(level): place for place, level in enumerate(quant.grid_map)}
        rows = quant.grid.reshape(quant.grid_shape)
        codes = [sum(levels[float(x)] << (bits * i) for i, x in enumerate(row)) for row in rows]
        out.append("constexpr std::uint16_t k%sCodes[%d] = {" % (name, len(codes)))
        out += [",".join("%d" % c for c in codes[i:i + 16]) + "," for i in range(0, len(codes), 16)]
        out.append("};")
    pathlib.Path(__file__).with_name("grids.inc").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    sys.exit(main())

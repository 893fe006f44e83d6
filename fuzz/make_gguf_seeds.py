#!/usr/bin/env python3
"""Writes the seeds of the GGUF fuzz target into corpus/gguf: small valid files of each kind."""
import pathlib
import struct

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B",
           U64: "Q", I64: "q", F64: "d"}


def string(text):
    return struct.pack("<Q", len(text)) + text


def payload(kind, value):
    return string(value) if kind == STRING else struct.pack("<" + FORMATS[kind], value)


def scalar(key, kind, value):
    return string(key) + struct.pack("<I", kind) + payload(kind, value)


def array(key, kind, values):
    head = string(key) + struct.pack("<IIQ", ARRAY, kind, len(values))
    return head + b"".join(payload(kind, value) for value in values)


def gguf(keys, tensors=(), version=3, alignment=32):
    """tensors: (name, dimensions innermost first, type id, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys)) + b"".join(keys)
    data = b""
    for name, dims, type_id, n_bytes in tensors:
        data += b"\0" * (-len(data) % alignment)
        head += string(name) + struct.pack("<I%dQIQ" % len(dims), len(dims), *dims, type_id,
                                           len(data))
        data += bytes(i % 251 for i in range(n_bytes))
    return head + b"\0" * (-len(head) % alignment) + data


def seeds():
    kinds = [scalar(b"k%d" % kind, kind, 1) for kind in FORMATS]
    yield "empty", gguf([])
    yield "scalars", gguf(kinds + [scalar(b"text", STRING, b"hello\n\xff")])
    yield "arrays", gguf([array(b"a%d" % kind, kind, [0, 1, 1]) for kind in FORMATS])
    yield "vocabulary", gguf([array(b"tokens", STRING, [b"<s>", b"", b"a", b"bc"]),
                              array(b"scores", F32, [0.0, -1.0, -2.0, 1.0]),
                              array(b"types", I32, [3, 1, 1, 1])], version=2)
    yield "tensors", gguf([], [(b"a", [8, 3], 0, 96), (b"b", [32], 8, 34), (b"c", [4, 1, 2, 1], 1, 16)])
    yield "blocks", gguf([], [(b"k", [256], 12, 144), (b"q", [64, 2], 2, 72)])
    for alignment in (1, 8, 64):
        yield "alignment%d" % alignment, gguf([scalar(b"general.alignment", U32, alignment)],
                                              [(b"a", [3], 0, 12), (b"b", [5], 24, 5)],
                                              alignment=alignment)
    yield "split", gguf([scalar(b"split.no", U16, 0), scalar(b"split.count", U16, 1),
                         scalar(b"split.tensors.count", I32, 0)])


def main():
    folder = pathlib.Path(__file__).resolve().parent / "corpus" / "gguf"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds():
        (folder / (name + ".gguf")).write_bytes(content)


if __name__ == "__main__":
    main()

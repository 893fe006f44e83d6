#!/usr/bin/env python3
"""Writes the seeds of the session fuzz target into corpus/session: lists of records, as
fuzz_session.cc reads them behind a first byte of 1."""
import pathlib
import struct

ROWS, COMMIT = 2, 3
ROW_BYTES = 4


def record(kind, first, count, payload):
    return bytes([kind, first, count, len(payload)]) + payload


def ids(values):
    return struct.pack("<Q", len(values)) + b"".join(struct.pack("<i", v) for v in values)


def text(value):
    return struct.pack("<Q", len(value)) + value


def commit(first, new, pending=(), kept=0, messages=(), extra=b""):
    payload = ids(new) + ids(pending) + struct.pack("<QQ", kept, len(messages))
    payload += b"".join(text(message) for message in messages) + text(extra)
    return record(COMMIT, first, first + len(new), payload)


def rows(first, count):
    return record(ROWS, first, count, b"r" * (ROW_BYTES * count))


def seeds():
    turn = rows(0, 5) + commit(0, [1, 2, 3, 4, 5], [6], 0, [b"user", b"reply"], b"extra")
    yield "empty", b""
    yield "turn", turn
    yield "two_turns", turn + rows(5, 3) + commit(5, [7, 8, 9], [], 2, [b"more"])
    yield "rollback", turn + rows(2, 2) + commit(2, [30, 31], [32], 1, [b"another"])
    yield "unfinished", turn + rows(5, 3)
    yield "gap", turn + rows(6, 3) + commit(5, [7, 8, 9, 10])
    yield "zeros", turn + bytes(100)


def main():
    folder = pathlib.Path(__file__).resolve().parent / "corpus" / "session"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds():
        (folder / name).write_bytes(b"\1" + content)


if __name__ == "__main__":
    main()

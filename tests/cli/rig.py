"""What the end-to-end tests of the program share: running it, tiny and real models, patched files.

Every test file ends in rig.main(), which takes `--minfer PATH --make-tiny-model PATH
[--sanitized]` before unittest's own arguments, or finds the programs in build/. The program runs
with an empty home folder and no MINFER_ variables but those that a test gives.
"""

import argparse
import atexit
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77  # ctest's SKIP_RETURN_CODE of these tests

_parser = argparse.ArgumentParser(add_help=False)
_parser.add_argument("--minfer", default=SOURCE / "build/minfer")
_parser.add_argument("--make-tiny-model", default=SOURCE / "build/make_tiny_model")
_parser.add_argument("--sanitized", action="store_true")
_arguments, _unittest_arguments = _parser.parse_known_args()

MINFER = os.path.abspath(_arguments.minfer)
MAKE_TINY_MODEL = os.path.abspath(_arguments.make_tiny_model)
SANITIZED = _arguments.sanitized  # sanitizers take memory and time of their own

FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="minfer-cli-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
(FOLDER / "home").mkdir()


def main():
    program = unittest.main(argv=[sys.argv[0], *_unittest_arguments], exit=False, verbosity=2)
    result = program.result
    if result.wasSuccessful() and result.testsRun == len(result.skipped):
        sys.exit(SKIPPED)
    sys.exit(not result.wasSuccessful())


class Done:
    """A run that has ended: exit status (negative: a signal), stdout as bytes, stderr as text."""

    def __init__(self, code, out, err, seconds, peak_bytes):
        self.code, self.out, self.err = code, out, err
        self.seconds, self.peak_bytes = seconds, peak_bytes

    @property
    def text(self):
        return self.out.decode()

    @property
    def err_lines(self):
        return self.err.splitlines()

    def json(self):
        return json.loads(self.out)


def environment(extra=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MINFER_", "XDG_"))}
    env["HOME"] = str(FOLDER / "home")
    env.update(extra or {})
    return env


class Running:
    """The program at work. `stdin`: bytes for a pipe, a file descriptor, None for /dev/null, "closed"
    for none at all. `out`: where stdout goes; None keeps it for Done."""

    def __init__(self, *arguments, stdin=None, out=None, env=None, wrap=(), preexec=None, cwd=None):
        self._out = tempfile.TemporaryFile()
        self._err = tempfile.TemporaryFile()
        self._feed = stdin if isinstance(stdin, bytes) else None
        closed = stdin == "closed"
        if self._feed is not None:
            stdin = subprocess.PIPE
        elif stdin is None or closed:
            stdin = subprocess.DEVNULL

        def before_exec():
            if closed:
                os.close(0)
            if preexec:
                preexec()

        self._start = time.monotonic()
        self._process = subprocess.Popen(
            [*wrap, MINFER, *map(str, arguments)], stdin=stdin,
            stdout=self._out if out is None else out, stderr=self._err, env=environment(env),
            preexec_fn=before_exec, cwd=cwd)
        if self._feed is not None:
            self._writer = threading.Thread(target=self._write)
            self._writer.start()

    def _write(self):
        try:
            self._process.stdin.write(self._feed)
            self._process.stdin.close()
        except BrokenPipeError:
            pass

    def send(self, number):
        os.kill(self._process.pid, number)

    def pid(self):
        return self._process.pid

    def threads(self):
        return len(os.listdir(f"/proc/{self._process.pid}/task"))

    def out_so_far(self):
        return _read(self._out)

    def err_so_far(self):
        return _read(self._err)

    def finish(self, timeout=120):
        """Waits. A run that takes longer than `timeout` seconds is killed, and fails the test."""
        timer = threading.Timer(timeout, self._process.kill)
        timer.start()
        _, status, usage = os.wait4(self._process.pid, 0)
        seconds = time.monotonic() - self._start
        timer.cancel()
        self._process.returncode = os.waitstatus_to_exitcode(status)
        if self._feed is not None:
            self._writer.join()
        done = Done(self._process.returncode, _read(self._out), _read(self._err).decode(),
                    seconds, usage.ru_maxrss * 1024)
        self._out.close()
        self._err.close()
        return done


def _read(file):
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), size, 0)


def minfer(*arguments, timeout=120, **options):
    """Runs the program to its end."""
    return Running(*arguments, **options).finish(timeout)


def on_terminal(*arguments, keys=None, after=rb"", env=None):
    """Runs the program on a pseudo-terminal of its own: what that shows, and Done.

    `keys` are typed once what is shown matches `after`.
    """
    master, slave = pty.openpty()

    def own_terminal():
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        os.dup2(slave, 2)

    run = Running(*arguments, stdin=slave, out=slave, preexec=own_terminal, env=env)
    os.close(slave)
    shown = b""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if not select.select([master], [], [], 1)[0]:
            continue
        try:
            piece = os.read(master, 65536)
        except OSError:  # the program has closed its side
            break
        shown += piece
        if keys and re.search(after, shown):
            os.write(master, keys)
            keys = None
    done = run.finish(20)
    os.close(master)
    return shown.decode(errors="replace"), done


def wait_for(condition, seconds=30):
    """Polls until `condition()` is true; False when it never was."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.005)
    return False


def tiny(name="llama", *flags):
    """The path of a tiny model: an architecture, then a type and options of make_tiny_model."""
    path = FOLDER / ("-".join([name, *flags]).replace("--", "") + ".gguf")
    if not path.exists():
        subprocess.run([MAKE_TINY_MODEL, path, name, *flags], check=True)
    return path


REAL = {"S": "SmolLM2*.gguf", "Q": "qwen2.5*.gguf", "G": "gemma-3*.gguf"}


def real(letter):
    """The path of a small real model; skips the test where it is not there."""
    folder = pathlib.Path(os.environ.get("MINFER_MODEL_DIR_TEST") or SOURCE / "models")
    for path in sorted(folder.glob(REAL[letter])):
        return path
    raise unittest.SkipTest(f"no model {letter} ({REAL[letter]}) in {folder}")


def golden(name):
    folder = pathlib.Path(os.environ.get("MINFER_GOLDEN_DIR") or SOURCE / "../shared/golden") / name
    if not folder.is_dir():
        raise unittest.SkipTest(f"no golden data at {folder}")
    return folder


class Test(unittest.TestCase):
    """Assertions on runs."""

    def ok(self, done):
        self.assertEqual(done.code, 0, done.err)
        return done

    def refused(self, done, code, *words):
        """One line on stderr with all `words`, nothing on stdout."""
        self.assertEqual(done.code, code, done.err)
        self.assertEqual(done.out, b"")
        self.assertEqual(len(done.err_lines), 1, done.err)
        self.assertTrue(done.err.startswith("minfer: "), done.err)
        for word in words:
            self.assertIn(word, done.err)
        return done


# --- GGUF files with one thing changed ------------------------------------------------------------

_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_TYPE_F32 = 0


class Gguf:
    """A GGUF file in memory whose values can be overwritten in place."""

    def __init__(self, path):
        self.bytes = bytearray(pathlib.Path(path).read_bytes())
        self._at = 8
        n_tensors, n_keys = self._number("Q"), self._number("Q")
        self.keys = {}  # name: offset of the value
        self.tensors = {}  # name: (offset of the data, type, elements)
        for _ in range(n_keys):
            name = self._string()
            kind = self._number("I")
            self.keys[name] = self._at
            self._skip(kind)
        infos = []
        for _ in range(n_tensors):
            name = self._string()
            elements = 1
            for _ in range(self._number("I")):
                elements *= self._number("Q")
            infos.append((name, self._number("I"), elements, self._number("Q")))
        self._end = self._at  # of the header
        data = (self._at + 31) // 32 * 32
        for name, kind, elements, offset in infos:
            self.tensors[name] = (data + offset, kind, elements)
        self.data = data

    def _number(self, code):
        value = struct.unpack_from("<" + code, self.bytes, self._at)[0]
        self._at += struct.calcsize("<" + code)
        return value

    def _string(self):
        size = self._number("Q")
        self._at += size
        return self.bytes[self._at - size:self._at].decode()

    def _skip(self, kind):
        if kind == 8:
            self._string()
        elif kind == 9:
            element, count = self._number("I"), self._number("Q")
            if element == 8:
                for _ in range(count):
                    self._string()
            else:
                self._at += _SIZES[element] * count
        else:
            self._at += _SIZES[kind]

    def set_key(self, name, code, value):
        struct.pack_into("<" + code, self.bytes, self.keys[name], value)
        return self

    def set_element(self, tensor, index, value):
        offset, kind, elements = self.tensors[tensor]
        assert kind == _TYPE_F32 and index < elements
        struct.pack_into("<f", self.bytes, offset + 4 * index, value)
        return self

    def zero_weights(self):
        self.bytes[self.data:] = bytes(len(self.bytes) - self.data)
        return self

    def add_key(self, name, code, value):
        """A number or text ("s") more: in front of the others, the data moved on by a multiple of its
        alignment."""
        kind = {"I": 4, "f": 6, "s": 8}[code]
        key = name.encode()
        entry = struct.pack("<Q", len(key)) + key + struct.pack("<I", kind)
        if code == "s":
            entry += struct.pack("<Q", len(value.encode())) + value.encode()
        else:
            entry += struct.pack("<" + code, value)
        n_keys = struct.unpack_from("<Q", self.bytes, 16)[0]
        struct.pack_into("<Q", self.bytes, 16, n_keys + 1)
        self.bytes[24:24] = entry
        padding = -(self._end + len(entry)) % 32
        old_data = self.data + len(entry)
        self.bytes[self._end + len(entry):old_data] = bytes(padding)
        return self

    def save(self, name):
        path = FOLDER / name
        path.write_bytes(self.bytes)
        return path


def with_key(path, name, code, value):
    """A copy of the model with one number or text more in its metadata."""
    return Gguf(path).add_key(name, code, value).save("with-key.gguf")


def graph_counts(done):
    """(built, reused) of a run's summary."""
    found = re.search(r"graphs: built (\d+) in [\d.]+ ms, reused (\d+)", done.err)
    return (int(found[1]), int(found[2])) if found else None

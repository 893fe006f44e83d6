"""minfer chat on a terminal: screens as tmux shows them, keys, signals, the terminal's settings.

No test waits for a time: each polls the screen for what must come.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shlex
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import termios
import time
import unittest

import reply_test
import rig
from rig import tiny

ESC = "\x1b"
SECONDS = 120 if rig.SANITIZED else 15


def letter(text):
    """Options that make every reply a run of one letter."""
    return ("--logit-bias", f"{3 + ord(text)}:1e9")


SHORT = ("-n", 3, *letter("a"))
ENDLESS = ("-c", 400000, "--ignore-eos", *letter("a"))


class Screen:
    """minfer chat in a tmux of its own, started from a shell that stays."""

    def __init__(self, home, *arguments, columns=120, rows=24, env=None, program="chat"):
        # A server that goes takes a while to leave its socket.
        self.socket = os.path.join(tempfile.mkdtemp(dir=home), "tmux")
        self.rows = rows
        shell = {"HOME": home, "PS1": "$ ", "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        words = ["env", *(f"{name}={value}" for name, value in (env or {}).items()), rig.MINFER,
                 *([program] if program else []), *map(str, arguments)]
        self.command = shlex.join(words)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  "bash", "--norc", "--noprofile", "--noediting", "-i", env=rig.environment(shell))
        self.expect(r"^\$$")
        self.type(f"{self.command}; echo status=$?", "Enter")

    def tmux(self, *words, env=None, data=None):
        done = subprocess.run(["tmux", "-u", "-S", self.socket, *words], env=env, input=data, check=True,
                              stdout=subprocess.PIPE)
        return done.stdout.decode()

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], check=False, stderr=subprocess.DEVNULL)

    def type(self, text, *keys):
        if text:
            self.tmux("send-keys", "-l", "--", text)
        for key in keys:
            self.tmux("send-keys", key)

    def paste(self, text):
        self.tmux("load-buffer", "-", data=text.encode())
        self.tmux("paste-buffer", "-p", "-d")

    def text(self, styles=False, history=False):
        words = ["capture-pane", "-p"] + (["-e"] if styles else []) + (["-S", "-"] if history else [])
        return "\n".join(line.rstrip() for line in self.tmux(*words).splitlines()).rstrip("\n")

    def cursor(self):
        return tuple(map(int, self.tmux("display-message", "-p", "#{cursor_x},#{cursor_y}").split(",")))

    def resize(self, columns):
        """Until the program's side of the terminal has the new size."""
        self.tmux("resize-window", "-x", str(columns))
        tty = os.open(self.tmux("display-message", "-p", "#{pane_tty}").strip(), os.O_RDONLY | os.O_NOCTTY)
        try:
            assert rig.wait_for(lambda: os.get_terminal_size(tty).columns == columns, SECONDS)
        finally:
            os.close(tty)

    def child(self):
        """The process of minfer."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        children = pathlib.Path(f"/proc/{shell}/task/{shell}/children")
        assert rig.wait_for(lambda: children.read_text().split(), SECONDS)
        return int(children.read_text().split()[0])

    def wait_idle(self):
        wait_idle(self.child())

    def expect(self, pattern, **more):
        """The screen, once it matches; a failure shows what was there."""
        end = time.monotonic() + SECONDS
        while True:
            text = self.text(**more)
            if re.search(pattern, text, re.MULTILINE):
                return text
            if time.monotonic() > end:
                raise AssertionError(f"{pattern!r} never came:\n{text}")
            time.sleep(0.01)


def cpu(pid):
    """A process's state, and the seconds it computed."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_rests(pid):
    """Whether a process sleeps and used no time for a moment."""
    before = cpu(pid)
    time.sleep(0.03)
    return before[0] == "S" and cpu(pid)[1] == before[1]


def wait_idle(pid):
    """Until a process has nothing to do but to wait for a key."""
    assert rig.wait_for(lambda: all(cpu_rests(pid) for _ in range(6)), SECONDS)


class Terminal:
    """minfer chat on a bare pseudo-terminal: the bytes that it gets."""

    def __init__(self, *arguments):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(self.slave)

        def own_terminal():
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            os.dup2(self.slave, 2)

        self.run = rig.Running("chat", *arguments, stdin=self.slave, out=self.slave,
                               preexec=own_terminal, env={"TERM": "xterm"})
        self.shown = b""  # since the last that was waited for
        self.all = b""
        self.found = None

    def read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        piece = os.read(self.master, 65536)
        self.shown += piece
        self.all += piece
        return True

    def see(self, pattern):
        end = time.monotonic() + SECONDS
        while not (found := re.search(pattern, self.shown, re.DOTALL)):
            assert time.monotonic() < end, (pattern, self.shown[-2000:])
            self.read(0.01)
        self.found = found
        self.shown = self.shown[found.end():]

    def type(self, keys):
        while keys:
            keys = keys[os.write(self.master, keys):]

    def settings(self):
        return termios.tcgetattr(self.slave)

    @contextlib.contextmanager
    def work_done(self, seconds):
        """Waits until the program has computed for so long, and rests."""
        start = cpu(self.run.pid())[1]
        yield
        assert rig.wait_for(lambda: cpu(self.run.pid())[1] - start > seconds, SECONDS)
        wait_idle(self.run.pid())

    def finish(self):
        """Done, when the program has ended by itself."""
        while os.path.exists(f"/proc/{self.run.pid()}/fd/1"):
            self.read(0.02)
        done = self.run.finish(SECONDS)
        while self.read(0):
            pass
        self.after = self.settings()
        os.close(self.master)
        os.close(self.slave)
        return done


@unittest.skipUnless(shutil.which("tmux"), "no tmux")
class Screens(rig.Test):
    def setUp(self):
        self.home = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)

    def chat(self, *arguments, **more):
        screen = Screen(self.home, tiny(), *arguments, **more)
        self.addCleanup(screen.close)
        screen.expect(r"^>$")
        return screen

    def leave(self, screen, status=0):
        screen.type("", "C-d")
        screen.expect(rf"^status={status}$")

    def test_a_turn(self):
        screen = self.chat(*SHORT)
        screen.type("Hello wonrd", "BSpace", "BSpace", "BSpace", "C-a", "Right", "Delete")
        screen.expect(r"^> Hllo wo$")
        self.assertEqual(screen.cursor()[0], 3)
        screen.type("e", "C-e")
        screen.type("rld", "Enter")
        text = screen.expect(r"aaa\n\[3 tokens.*\n>\Z")
        screen.expect(r"^> Hello world\naaa\n\[3 tokens, .*\]\n>")
        self.leave(screen)
        self.assertNotIn("minfer:", text)

    def test_model_alone_is_a_chat(self):
        screen = Screen(self.home, tiny(), *SHORT, program=None)
        self.addCleanup(screen.close)
        screen.expect(r"^>$")
        screen.type("Hi", "Enter")
        screen.expect(r"^> Hi\naaa$")
        self.leave(screen)

    def test_colours(self):
        def styles(*arguments, env=None):
            screen = self.chat(*SHORT, *arguments, env=env)
            screen.type("Hi", "Enter")
            screen.expect(r"^aaa\n\[3 tokens, .*\]\n>")
            text = screen.text(styles=True)
            screen.close()
            return text[text.index("/help lists"):]

        coloured = styles()
        self.assertRegex(coloured, r"\x1b\[[0-9;]*32m(\x1b\[49m)?> ")
        self.assertRegex(coloured, r"\x1b\[2m\[3 tokens")
        self.assertRegex(styles("--color", "on", env={"NO_COLOR": "1"}), r"\x1b\[2m\[3 tokens")
        for plain in (styles("--color", "off"), styles(env={"NO_COLOR": "1"})):
            self.assertNotIn(ESC, plain)

    def test_thoughts_are_dim(self):
        options = ("--chat-template", reply_test.THINKS, "--reasoning-budget", 5, *letter("a"),
                   "-n", 40)
        screen = self.chat(*options)
        screen.type("Hi", "Enter")
        screen.expect(r"^a{5}\na+\n\[40 tokens")
        self.assertRegex(screen.text(styles=True), r"\x1b\[2maaaaa\n(\x1b\[[0-9;]*m)+a+\n")
        self.leave(screen)
        screen.close()
        screen = self.chat(*options, "--hide-reasoning")
        screen.type("Hi", "Enter")
        screen.expect(r"^\(thinking\)\na+\n\[40 tokens")

    def test_a_narrow_terminal(self):
        screen = self.chat(*SHORT, columns=20)
        screen.type("one two three four five")
        screen.expect(r"^> one two three four\n ?five$")
        screen.type("", "C-a")
        screen.type("\u6b6a\u6b6a")
        screen.expect("^> \u6b6a\u6b6aone two three \nfour five$|^> \u6b6a\u6b6aone two three\nfour five$")
        self.assertEqual(screen.cursor()[0], 6)
        screen.type("", "Enter")
        screen.expect(r"^aaa$")
        self.leave(screen)

    def test_a_line_that_fills_the_row(self):
        screen = self.chat(*SHORT, columns=20)
        screen.type("x" * 18)
        screen.expect(rf"^> {'x' * 18}$")
        self.assertEqual(screen.cursor()[0], 0)
        screen.type("y")
        screen.expect(rf"^> {'x' * 18}\ny$")
        screen.type("", "BSpace", "BSpace")
        screen.expect(rf"^> {'x' * 17}$")
        self.assertEqual(screen.cursor()[0], 19)

    def test_a_long_paste(self):
        screen = self.chat("-c", 1000, *SHORT)
        start = time.monotonic()
        screen.paste("a line of some words\n" * 5000 + "the end")
        screen.expect(r"^  the end$")
        screen.type("!")
        screen.expect(r"^  the end!$")
        self.assertLess(time.monotonic() - start, 5)
        screen.type("", "Enter")
        screen.expect(r"^minfer: the message does not fit")
        screen.paste("short\n\x01\x1b[31mred")
        screen.expect("^> short\n  \u2401\u241b\\[31mred$")
        screen.type("", "Enter")
        screen.expect(r"^aaa$")
        self.leave(screen)

    def test_ctrl_c_stops_a_reply_and_keeps_what_was_shown(self):
        screen = self.chat(*ENDLESS)
        screen.type("Hello", "Enter")
        screen.expect(r"a{60}")
        start = time.monotonic()
        screen.type("", "C-c")
        screen.expect(r"\| stopped\]\n>")
        self.assertLess(time.monotonic() - start, 30 if rig.SANITIZED else 1.5)
        saved = os.path.join(self.home, "saved")
        screen.type(f"/save {saved}", "Enter")
        screen.expect(r"^\(2 messages\)$")
        shown = re.sub(r"\s", "", screen.text(history=True).split("> Hello\n")[1].split("[")[0])
        with open(saved, encoding="utf-8") as file:
            kept = json.load(file)["messages"][1]["content"]
        self.assertEqual(len(kept), len(shown))
        self.assertEqual(kept, shown)
        self.leave(screen)

    def test_ctrl_c_at_the_prompt(self):
        screen = self.chat(*SHORT)
        screen.type("some text")
        screen.expect(r"^> some text$")
        screen.type("", "C-c")
        screen.expect(r"^>$")
        screen.type("", "C-c")
        screen.expect(r"^\(Ctrl\+C again or Ctrl\+D leaves\)\n>$")
        screen.type("x", "BSpace", "C-c")
        screen.expect(r"leaves\)\n>\Z")
        screen.type("", "C-c")
        screen.expect(r"^status=0$")

    def test_controls_of_the_model_are_symbols(self):
        screen = self.chat("-n", 3, "--logit-bias", f"{3 + 0x1b}:1e9")
        screen.type("Hi", "Enter")
        screen.expect("^> Hi\n\u241b\u241b\u241b$")
        self.leave(screen)

    def test_keys_typed_during_a_reply_wait(self):
        screen = self.chat(*ENDLESS)
        screen.type("Hello", "Enter")
        screen.expect(r"a{60}")
        screen.type("next")
        before = screen.text(history=True)
        self.assertNotIn("next", before)
        os.kill(screen.child(), signal.SIGINT)
        screen.expect(r"\| stopped\]\n> next$")

    def test_an_enter_typed_during_a_reply_sends(self):
        screen = self.chat(*ENDLESS)
        screen.type("Hello", "Enter")
        screen.expect(r"a{60}")
        screen.paste("two\nlines")
        screen.type("!", "Enter")
        os.kill(screen.child(), signal.SIGINT)
        screen.expect(r"\| stopped\]\n> two\n  lines!\na{60}")
        screen.type("", "C-c")
        screen.expect(r"lines!\na[a\n]*\[.*\| stopped\]\n>\Z")

    def test_typeahead_changes_no_reply(self):
        def reply(*arguments):
            screen = self.chat("-n", 20, "--temp", 3, "--top-k", 0, "--top-p", 1, "--no-history", *arguments)
            for word in ("Tell ", "me ", "of ", "the ", "hello world "):
                screen.type(word)
                screen.wait_idle()
            screen.type("", "BSpace", "BSpace", "C-a")
            screen.type("Please, ", "Enter")
            text = screen.expect(r"^\[20 tokens.*\]$")
            screen.close()
            found = re.search(r"> Please, .*\n([^\0]*)\n\[20 tokens, .*prefill (\d+) ", text)
            return found[1], int(found[2])

        (ahead, n_ahead), (plain, n_plain) = reply(), reply("--no-typeahead")
        self.assertEqual(ahead, plain)
        self.assertLess(n_ahead, n_plain)

    def test_another_size(self):
        screen = self.chat(*SHORT, columns=60)
        screen.type("one two three four five six seven eight")
        screen.expect(r"^> one two three four five six seven eight$")
        screen.resize(30)
        screen.expect(r"^> one two three four five six \n ?seven eight$|^> one two three four five six\nseven eight$")
        screen.type("!")
        screen.expect(r"^seven eight!$")
        self.assertEqual(screen.text(history=True).count("one two"), 1)
        screen.resize(60)
        screen.expect(r"^> one two three four five six seven eight!$")
        self.assertEqual(screen.text(history=True).count("one two"), 1)
        screen.type("", "Enter")
        screen.expect(r"^aaa$")

    def test_ctrl_z(self):
        screen = self.chat(*SHORT)
        screen.type("half a")
        screen.expect(r"^> half a$")
        screen.type("", "C-z")
        screen.expect(r"Stopped")
        screen.type("stty -a | grep -o '[ -]echo \\|[ -]icanon'", "Enter")
        screen.expect(r"^ ?icanon\n ?echo ?$|^ ?echo ?\n ?icanon$")
        screen.type("fg", "Enter")
        screen.expect(r"^> half a$\Z|^> half a\Z")
        screen.type(" line", "Enter")
        screen.expect(r"^> half a line\naaa$")
        screen.type("", "C-d")

    def test_ctrl_z_in_a_reply(self):
        screen = self.chat(*ENDLESS)
        screen.type("Hello", "Enter")
        screen.expect(r"a{60}")
        screen.type("", "C-z")
        screen.expect(r"Stopped")
        screen.type("fg", "Enter")
        screen.expect(r"a{100}")
        screen.type("", "C-c")
        screen.expect(r"\| stopped\]\n>")
        screen.type("", "C-d")
        screen.expect(r"^>\n\$$")

    def test_history(self):
        screen = self.chat(*SHORT)
        screen.type("first message", "Enter")
        screen.expect(r"^aaa$")
        screen.type('two\\', "Enter")
        screen.type("lines", "Enter")
        screen.expect(r"^> two\n  lines\naaa$")
        self.leave(screen)
        screen.close()
        path = pathlib.Path(self.home) / ".local/state/minfer/history"
        self.assertEqual(path.read_text(encoding="utf-8"), "first message\ntwo\\nlines\n")
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        screen = self.chat(*SHORT)
        screen.type("", "Up")
        screen.expect(r"^> two\n  lines$")
        screen.type("", "Up", "Up")
        screen.expect(r"^> first message$")
        screen.type("", "C-c", "C-r")
        screen.type("lin")
        screen.expect(r"^\(search\) lin: two\n  lines$")
        screen.close()
        screen = self.chat(*SHORT, "--no-history")
        screen.type("secret", "Enter")
        screen.expect(r"^aaa$")
        screen.type("", "Up")
        screen.expect(r"^> secret$")
        self.assertNotIn("secret", path.read_text(encoding="utf-8"))

    def test_a_near_miss_asks(self):
        screen = self.chat(*SHORT)
        screen.type("Hi", "Enter")
        screen.expect(r"^aaa\n\[3 tokens.*\n>")
        screen.type("/regne", "Enter")
        screen.expect(r"^/regne is no command\. Run /regen \(y\)")
        screen.type("x")
        screen.expect(r"^> /regne\Z")
        screen.type("", "Enter")
        screen.expect(r"\(any other key\)\? ?\Z")
        screen.type("y")
        screen.expect(r"key\)\? ?\naaa$")
        screen.type("/regne", "Enter")
        screen.expect(r"\(any other key\)\? ?\Z")
        screen.type("t")
        screen.expect(r"key\)\? ?\naaa\n(.*\n)*>.*\Z")
        screen.type("/stats", "Enter")
        screen.expect(r"^messages   4 in 2 turns$")

    def test_edit_puts_the_message_into_the_line(self):
        screen = self.chat(*SHORT)
        screen.type("Helo", "Enter")
        screen.expect(r"^aaa\n\[3 tokens.*\n>")
        screen.type("/ed", "Tab", "Enter")
        screen.expect(r"^> Helo$")
        screen.type("", "Left")
        screen.type("l", "Enter")
        screen.expect(r"^> Hello\naaa$")
        screen.type("/stats", "Enter")
        screen.expect(r"^messages   2 in 1 turns$")

    def test_multiline_input(self):
        screen = self.chat(*SHORT, "-mli")
        screen.type("one", "Enter")
        screen.type("two", "Enter", "Enter")
        screen.expect(r"^> one\n  two\n *\naaa$")
        screen.type("/exit", "Enter")
        screen.expect(r"^status=0$")

    def test_a_dumb_terminal_has_plain_lines(self):
        screen = Screen(self.home, tiny(), *SHORT, env={"TERM": "dumb"})
        self.addCleanup(screen.close)
        screen.expect(r"^>$")
        screen.type("Hi", "Enter")
        screen.expect(r"^> Hi\naaa\n\[3 tokens.*\n>$")
        self.assertNotIn(ESC, screen.text(styles=True))
        screen.type("", "C-d")
        screen.expect(r"status=0$")

    def test_single_turn(self):
        screen = self.chat(*SHORT, "-st")
        screen.type("/system Be brief.", "Enter")
        screen.expect(r"^\(the system text is set\)$")
        screen.type("Hi", "Enter")
        screen.expect(r"^aaa\n\[3 tokens.*\nstatus=0$")


class Restored(rig.Test):
    """Whatever ends the program, the terminal is as it was."""

    def end_by(self, number, busy=False):
        terminal = Terminal(tiny(), *ENDLESS, "--no-history")
        terminal.see(rb"\x1b\[\?2004h[^>]*> ")
        self.assertNotEqual(terminal.settings()[3], terminal.before[3])
        if busy:
            terminal.type(b"Hello\r")
            terminal.see(rb"a{50}")
        terminal.run.send(number)
        done = terminal.finish()
        self.assertEqual(terminal.after, terminal.before)
        self.assertEqual(re.findall(rb"\x1b\[\?2004[hl]", terminal.all)[-1], b"\x1b[?2004l")
        return done.code

    def test_signals(self):
        for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            self.assertEqual(self.end_by(number), code)
        self.assertEqual(self.end_by(signal.SIGTERM, busy=True), 143)
        self.assertEqual(self.end_by(signal.SIGHUP, busy=True), 129)

    def test_an_interrupt_at_the_prompt_is_a_key(self):
        terminal = Terminal(tiny(), *SHORT, "--no-history")
        terminal.see(rb"> ")
        terminal.type(b"text")
        terminal.see(rb"text")
        terminal.run.send(signal.SIGINT)
        terminal.see(rb"\x1b\[K")
        terminal.type(b"Hi\r")
        terminal.see(rb"aaa\r\n.*> ")
        terminal.run.send(signal.SIGINT)
        terminal.see(rb"again or Ctrl\+D leaves.*> ")
        terminal.run.send(signal.SIGINT)
        self.assertEqual(terminal.finish().code, 0)
        self.assertEqual(terminal.after, terminal.before)

    def test_an_interrupt_ends_the_wait_for_a_file(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        fifo = os.path.join(folder, "fifo")
        os.mkfifo(fifo)
        writer = os.open(fifo, os.O_RDWR)  # who never writes
        self.addCleanup(os.close, writer)
        terminal = Terminal(tiny(), *SHORT, "--no-history")
        terminal.see(rb"> ")
        terminal.type(f"/read {fifo}\r".encode())
        terminal.see(rb"/fifo.*\n")
        wait_idle(terminal.run.pid())
        terminal.run.send(signal.SIGINT)
        terminal.see(rb"cannot read .*fifo: Interrupted")
        terminal.see(rb"> ")
        terminal.type(b"Hi\r")
        terminal.see(rb"aaa\r\n.*> ")
        terminal.type(b"\x04")
        self.assertEqual(terminal.finish().code, 0)

    def test_many_interrupts_in_a_reply_end_nothing(self):
        terminal = Terminal(tiny(), *ENDLESS, "--no-history")
        terminal.see(rb"> ")
        for _ in range(20):
            terminal.type(b"Hello\r")
            terminal.see(rb"a{20}|taken back")  # by the signal before it
            terminal.run.send(signal.SIGINT)
            terminal.see(rb"stopped\]|> ")
            terminal.run.send(signal.SIGINT)  # finds a reply's end, or a prompt
            terminal.see(rb"> ")
        terminal.run.send(signal.SIGTERM)
        self.assertEqual(terminal.finish().code, 143)

    def test_crashes(self):
        if rig.SANITIZED:
            self.skipTest("the sanitizer has handlers of its own")
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGQUIT):
            self.assertEqual(self.end_by(number), -number)


if __name__ == "__main__":
    rig.main()

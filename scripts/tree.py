"""What the checks share: the list of the tree's files, and how a check reports and tests itself."""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED_FOLDERS = {".git", "build", "models", ".cache", "__pycache__"}


def files(root=ROOT):
    """Paths, relative to `root`, of the files that belong to the tree (not the ignored ones)."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        paths = [pathlib.PurePosixPath(p) for p in listed.stdout.split("\0") if p]
    else:  # no git, or an unpacked archive
        paths = [pathlib.PurePosixPath(p.relative_to(root).as_posix())
                 for p in sorted(root.rglob("*")) if p.is_file()]
    return [p for p in paths
            if not SKIPPED_FOLDERS.intersection(p.parts) and (root / p).is_file()]


def read(root, path):
    return (root / path).read_text(encoding="utf-8", errors="replace")


def report(name, problems, summary):
    """Prints the outcome of a check and returns its exit status."""
    for problem in problems:
        print(problem)
    if problems:
        print(f"{name}: {len(problems)} problem(s)")
        return 1
    print(f"{name}: {summary}")
    return 0


def self_test(name, check, good, bad):
    """Proves that `check` can fail.

    `check(root)` returns the problems of the tree at `root`. `good` maps paths to texts and must
    give none; each row of `bad` (a path, its text, a word that a problem must hold) is laid over it
    in turn and must be reported.
    """
    def lay(root, path, text):
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    failures = []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in good.items():
            lay(root, path, text)
        failures += [f"reported in a good tree: {p}" for p in check(root)]
        for path, text, word in bad:
            lay(root, path, text)
            if not any(word in problem for problem in check(root)):
                failures.append(f"not reported: {word!r} in {path}")
            if path in good:
                lay(root, path, good[path])
            else:
                (root / path).unlink()
    return report(f"{name} --self-test", failures, f"ok, {len(bad)} faults seen")


def main(name, check, summary, good, bad):
    """The command line of a check: nothing, or --self-test."""
    if sys.argv[1:] == ["--self-test"]:
        return self_test(name, check, good, bad)
    if sys.argv[1:]:
        print(f"usage: {name} [--self-test]", file=sys.stderr)
        return 2
    return report(name, check(ROOT), summary())

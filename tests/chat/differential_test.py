#!/usr/bin/env python3
"""Generated templates through minfer and through the Python package jinja2: equal text, or an error
from both. Skipped (status 77) where the package is absent. Bounded to some seconds."""

import argparse
import copy
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

try:
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError:
    print("skipped: the Python package jinja2 is not installed (scripts/setup --dev)")
    sys.exit(77)

CONTEXT = {"s": " Ab c\n", "t": "x,y,,z", "n": 7, "f": 2.5, "l": [3, 1, 2], "w": ["b", "A", "c"],
           "d": {"k": "v", "b": 1, "a": None}, "m": [{"r": "u", "c": "hi"}, {"r": "a", "c": "yo"}],
           "e": [], "z": None, "y": True}
# No constants: jinja2 folds them while compiling, and then refuses what is never reached.
CONTEXT |= {"c0": 0, "c1": 1, "c2": -2, "c3": 1.5, "ca": "a", "cs": ", ", "cl": [1, "x"], "cd": {"k": 7}}
ATOMS = [*CONTEXT, "q"]
FILTERS = ["length", "upper", "lower", "trim", "first", "last", "list", "join(',')", "string", "int",
           "float", "sort", "reverse | list", "unique | list", "tojson", "default('D')", "title",
           "capitalize", "abs", "sum", "min", "max", "items | list", "dictsort", "replace('a', 'b')",
           "map('upper') | list", "map(attribute='r') | list", "selectattr('r', 'eq', 'u') | list",
           "reject('none') | list", "default('D', true)", "round", "tojson(indent=2)", "tojson(indent=c2)", "tojson(indent=cs)",
           "batch(2) | list", "batch(c1, ca) | list", "batch(n, 0) | list", "slice(2) | list",
           "slice(c1 + c1, ca) | list", "slice(n) | list", "slice(c2) | list", "groupby('r')",
           "groupby('c', case_sensitive=y)", "groupby('q', default=ca)", "groupby('r') | map(attribute='list') | list",
           "wordcount", "center(9)", "center(c3)", "forceescape", "truncate(n, true)", "truncate(c1 + c1, false, '')",
           "truncate(4, leeway=0)", "format(n, ca)", "format(k=n)", "indent(2)", "indent(c1, true)", "indent(n, false, true)"]
FORMATS = ["%s", "%r", "%d", "%5.1f|", "%-6s|", "%06d", "%+d", "% d", "%x", "%#o", "%c", "%%", "%s %s", "%(k)s",
           "%(b)05d", "%.2s", "%e", "%g", "%i%%", "%*d", "%q", "%", "%(k", "x"]
METHODS = ["strip()", "split(',')", "split()", "upper()", "startswith('x')", "endswith('\\n')", "items() | list",
           "get('k')", "get('q', 3)", "keys() | list", "values() | list", "replace('x', 'yy')", "rstrip()",
           "find('c')", "find('b', 1)", "rfind('x', 0, c1)", "rindex('b')", "count('b', c2)",
           "startswith('b', c1)", "endswith('c', 1, -1)", "find('', 9)", "count('', 1, 2)", "center(7)", "ljust(9)", "rjust(8, '*')", "center(6, ca)", "title()", "splitlines()", "rsplit(',', 1)", "isupper()", "count('x')", "k", "a"]
TESTS = ["defined", "none", "string", "mapping", "number", "iterable", "true", "boolean", "sequence",
         "integer", "filter", "test", "escaped", "not defined", "eq 1", "in [1, 'a']"]
BINARY = ["+", "-", "*", "//", "~", "==", "!=", "<", ">=", "in", "not in", "and", "or"]


def expression(r, depth):
    if depth == 0 or r.random() < 0.2:
        return r.choice(ATOMS)
    sub = lambda: expression(r, depth - 1)
    kind = r.randrange(10)
    if kind == 8:
        return f"({r.choice(FORMATS)!r} ~ ca[1:]) % ({r.choice([sub(), f'({sub()}, {sub()})', f'({sub()},)', 'd'])})"
    if kind == 9:
        return f"(({sub()}) ~ {r.choice(FORMATS)!r}) | format({sub()})"
    if kind == 0:
        return f"({sub()}) {r.choice(BINARY)} ({sub()})"
    if kind == 1:
        return f"({sub()}) | {r.choice(FILTERS)}"
    if kind == 2:
        return f"({sub()}).{r.choice(METHODS)}"
    if kind == 3:
        return f"({sub()}) is {r.choice(TESTS)}"
    if kind == 4:
        return f"({sub()})[{r.choice(['0', '-1', '1:', ':-1', '::-1', repr('k'), '::2'])}]"
    if kind == 5:
        return f"({sub()}) if ({sub()}) else ({sub()})"
    if kind == 6:
        return f"not ({sub()})"
    return f"[{sub()}, {sub()}]"


def statement(r, depth):
    e = lambda: expression(r, 2)
    blank = r.choice(["", " ", "\n", "\n  ", "a"])
    dash, end = r.choice(["", "-", ""]), r.choice(["", "-", ""])
    if depth == 0 or r.random() < 0.4:
        return f"{blank}{{{{{dash} {e()} {end}}}}}"
    body = "".join(statement(r, depth - 1) for _ in range(r.randrange(1, 3)))
    kind = r.randrange(9)
    name = r.choice(["v", "s", "n", "l"])
    if kind == 5:
        return f"{{% set {name} %}}{{{{ {name} }}}}{body}{{% endset %}}{{{{ {name} }}}}"
    if kind == 6:
        return (f"{{% set c = cycler({e()}, 'b') %}}{{{{ c.next() }}}}{body}{{{{ c.next() }}}}{{{{ c.current }}}}"
                f"{{% set j = joiner({e()}) %}}{{{{ j() }}}}{{{{ j() }}}}")
    if kind == 7:
        return f"{{% with {name} = {e()} %}}{body}{{% set {name} = {name} %}}{{{{ {name} }}}}{{% endwith %}}"
    if kind == 8:
        return f"{{% for {name} in l %}}{body}{{% set {name} = {e()} %}}{{{{ {name} }}}}{{% endfor %}}{{{{ {name} }}}}"
    if kind == 0:
        return f"{blank}{{%{dash} if {e()} {end}%}}\n{body}{{% else %}}B{blank}{{%{dash} endif {end}%}}\n"
    if kind == 1:
        return f"{blank}{{%{dash} for i in {e()} %}}{{{{ loop.index }}}}{body}{blank}{{% endfor {end}%}}"
    if kind == 2:
        return f"{{% set v = {e()} {end}%}}{blank}{body}"
    if kind == 3:
        return f"{{% macro g(p, o=1) {end}%}}{body}{{% endmacro %}}{blank}{{{{ g({e()}) }}}}"
    return f"{{% set v {end}%}}{body}{{%{dash} endset %}}{blank}{{{{ v }}}}"


def expected(environment, source):
    try:
        return environment.from_string(source).render(**copy.deepcopy(CONTEXT))
    except Exception:  # whatever Python raises counts as a refusal
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minfer", required=True)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                                extensions=["jinja2.ext.loopcontrols"])
    environment.filters["tojson"] = lambda x, indent=None: json.dumps(x, ensure_ascii=False, indent=indent)
    r = random.Random(options.seed)
    end = time.monotonic() + options.seconds
    compared = different = 0
    with tempfile.TemporaryDirectory() as folder:
        context = pathlib.Path(folder) / "context.json"
        context.write_text(json.dumps(CONTEXT))
        while time.monotonic() < end and compared < 800:
            source = "{# #}{{ '' }}" + "".join(statement(r, 2) for _ in range(2))
            want = expected(environment, source)
            if want is not None and (" at 0x" in want or "<" in want):
                continue  # the addresses of Python's objects
            done = subprocess.run([options.minfer, "render", "--chat-template", source, "--context",
                                   str(context)], capture_output=True, check=False)
            got = done.stdout.decode() if done.returncode == 0 else None
            compared += 1
            if got != want:
                different += 1
                print(f"template {source!r}\n  jinja2 {want!r}\n  minfer {got!r} {done.stderr.decode()}")
    print(f"{compared} templates compared, {different} differ")
    return 1 if different or compared < 50 else 0


if __name__ == "__main__":
    sys.exit(main())

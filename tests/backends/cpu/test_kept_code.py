"""A second process compiles nothing: it runs the code that the first one has kept on disk."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import phlox
import pytest
from phlox import jit
from phlox.backends import kept_programs
from phlox.backends.cpu import kept_code
from phlox.backends.kept_programs import program_key
from phlox.backends.registry import get_backend
from phlox.hlo import SourceLocation, parse_module
from phlox.runtime.disk_cache import DiskCache

PROGRAM = """
import sys
import numpy as np
from phlox import jit, register_custom_call
from phlox.backends.cpu import machine_code

compiled = []
compile_with_llvm = machine_code._compiled
def counting(llvm_ir, target, level):
    compiled.append(llvm_ir)
    return compile_with_llvm(llvm_ir, target, level)
machine_code._compiled = counting

@jit
def chain(x, y):
    return np.exp(-x * x) * np.sin(y) + np.tanh(x * y) + np.array([1.0, np.nan, FACTOR])

@jit
def selected(x):
    return np.unique(x[x > 0]), np.linalg.solve(np.eye(3) * 2, x[:3])

@jit
def count(n):
    total = 0
    for i in range(n):
        if i % 3 == 0:
            total += i
    return total

@jit
def told(x):
    print("told", x.sum())
    return x + 1

@jit
def drawn(seed):
    return np.random.default_rng(seed).normal(size=3)

@jit
def wrong(x):
    if x.sum() > 0:
        raise ValueError("above 0")
    return x

x = np.arange(3.0)
print(chain(x, x + 1), selected(x), count(100), told(x), drawn(3))
try:
    wrong(x)
except ValueError as error:
    print(error)
lowered = chain.lower(x, x)
executable = lowered.compile()
print(executable.as_text(), executable.memory_analysis(), "define" in executable.executable.llvm_ir())
print(chain.explain())
print("compiled", len(compiled), file=sys.stderr)
"""


def run(folder, factor="2.0", **variables):
    """What the program prints, and how often LLVM has compiled."""
    environment = {**os.environ, "PHLOX_CACHE": "1", "PHLOX_CACHE_DIR": str(folder), "PYTHONHASHSEED": "random", **variables}
    environment["PYTHONPATH"] = str(Path(phlox.__file__).parent.parent)
    program = folder.parent / "program.py"
    program.write_text(PROGRAM.replace("FACTOR", factor))
    ended = subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    lines = [line for line in ended.stdout.splitlines() if "ms" not in line]  # but those that say how long something took
    return lines, int(ended.stderr.split()[-1])


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A cache that a process has filled, and what it printed."""
    folder = tmp_path_factory.mktemp("cache") / "kept"
    printed, count = run(folder)
    assert count >= 7 and "told 3.0" in printed and "above 0" in printed
    return folder, printed


def test_a_second_process_compiles_nothing(first):
    folder, printed = first
    assert run(folder) == (printed, 0)


def test_other_constants_are_another_program(first):
    folder, printed = first
    changed, count = run(folder, "3.0")
    assert count == 1 and changed != printed
    assert run(folder) == (printed, 0)


def test_damaged_entries_are_made_again(first, tmp_path):
    folder, printed = first
    (tmp_path / "kept").mkdir(mode=0o700)
    for path in folder.iterdir():
        data = path.read_bytes()
        (tmp_path / "kept" / path.name).write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    found, count = run(tmp_path / "kept")
    assert found == printed and count >= 7
    assert run(tmp_path / "kept") == (printed, 0)


def test_nothing_is_kept_where_the_user_says_so(tmp_path):
    run(tmp_path / "kept", PHLOX_CACHE="0")
    assert not (tmp_path / "kept").exists()


def test_who_looks_at_the_passes_sees_them_run(first, tmp_path):
    folder, _ = first
    _, count = run(folder, PHLOX_DUMP=str(tmp_path / "dump"))
    assert count >= 6 and any((tmp_path / "dump").iterdir())


def test_what_a_program_is_kept_under(monkeypatch, tmp_path):
    monkeypatch.setattr("phlox.backends.kept_programs.disk_cache", lambda: True)

    def key(function, *arguments):
        return program_key(jit(function).lower(*arguments).module, ["target"])

    x = np.ones(3)
    assert key(lambda x: x + 1, x) == key(lambda x: x + 1, x)
    keys = [
        key(lambda x: x + 1, x), key(lambda y: y + 1, x), key(lambda x: x + 2, x), key(lambda x: x + 1, x.astype(np.float32)),
        key(lambda x: x - 1, x), key(lambda x: x + 1, np.ones(4)), key(lambda x: x + np.array([1.0, 2.0, np.nan]), x),
        key(lambda x: x + np.array([1.0, 2.0, -np.nan]), x), key(lambda x: x + np.array([-0.0, 2.0, 3.0]), x),
        key(lambda x: x + np.array([0.0, 2.0, 3.0]), x),
    ]  # fmt: skip
    assert len(set(keys)) == len(keys) and None not in keys


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A cache that is used in this process, which has what all programs need."""
    jit(lambda x: x + 1)(np.ones(3))
    cache = DiskCache(tmp_path, 1 << 24)
    for module in (kept_code, kept_programs):
        monkeypatch.setattr(module, "disk_cache", lambda: cache)
    return cache


def test_lines_are_those_of_the_program_that_is_run(kept):
    """Not of the one that was kept, which does the same elsewhere; no line of the user is in the cache."""

    def told(x):
        print(x.sum())
        print(x)
        return x

    lowered = jit(told).lower(np.ones(3))

    def lines(file, first_line):
        module = parse_module(lowered.as_text())
        for number, instruction in enumerate(module.entry.instructions):
            instruction.source = SourceLocation(file, first_line + number, "f")
        program = get_backend("cpu").compile(module).program
        return [(line.file, line.line) for line in program.host_lines]

    made = lines("secret.py", 10)
    (entry,) = kept.entries()
    assert b"secret" not in entry.path.read_bytes()
    assert len(made) == 2 and lines("other.py", 50) == [("other.py", line + 40) for _, line in made]
    assert len(kept.entries()) == 1


@pytest.mark.filterwarnings("ignore::phlox.BudgetExceededWarning")
def test_what_a_budget_made_worse_is_kept_for_that_budget(kept):
    x = np.arange(50.0)

    def given_up(**options):
        return jit(lambda x: np.cumsum(x * x) + 1, **options).compile(x).executable.given_up

    assert given_up(budget="1us") and len(kept.entries()) == 1
    assert given_up(budget="1us") and len(kept.entries()) == 1
    assert given_up() == () and len(kept.entries()) == 2
    assert given_up(budget="1us") == () and len(kept.entries()) == 2  # there is better code already

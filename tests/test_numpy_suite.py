"""NumPy's own tests with jitted functions: parts of them, and what replaces what."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy_suite import replacing, rewriting

ROOT = Path(__file__).parent.parent
# Files of which no test fails without a reason.
PARTS = (
    "lib/tests/test_twodim_base.py", "lib/tests/test_polynomial.py", "lib/tests/test_ufunclike.py",
    "_core/tests/test_item_selection.py", "_core/tests/test_scalar_methods.py", "fft/tests/test_helper.py::TestFFTFreq",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.parametrize("part", PARTS)
def test_numpys_own_tests(part):
    command = [sys.executable, "-m", "tests.numpy_suite", "--at-most", "2", part]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr
    assert "NO REASON IS KNOWN" not in ended.stdout, ended.stdout
    passed, counted = (int(number) for number in ended.stdout.splitlines()[-1].split()[:3:2])
    assert passed >= 0.9 * counted > 0


def rewritten(source, **names):
    tree = ast.fix_missing_locations(rewriting.Rewriter().visit(ast.parse(source)))
    namespace = {**rewriting.HELPERS, **names}
    replacing.calls.__init__()
    replacing.calls.is_on = True
    try:
        exec(compile(tree, "<test>", "exec"), namespace)
    finally:
        replacing.calls.is_on = False
    return namespace, replacing.calls.count


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("found = np.sin(x)", 1), ("found = x.sum()", 1), ("found = x + 1", 1), ("found = -x", 1), ("x += 1; found = x", 1),
        ("x[1:] = 5; found = x", 1), ("found = x[[0, 1]]", 1), ("found = x[1:]", 0), ("found = np.add.reduce(x)", 1),
        ("from numpy import cumsum; found = cumsum(x)", 1), ("found = np.random.default_rng(3).random(2)", 1),
        ("found = np.array(['a', 'b'])", 0), ("found = np.zeros(2, dtype=object)", 0), ("found = np.array([None, 1])", 0),
        ("found = 1 + 2", 0), ("found = x.astype('M8[s]')", 0),
    ],
)  # fmt: skip
def test_calls_are_those_of_jitted_functions(source, count):
    x = np.arange(3.0)
    namespace, calls = rewritten(source, np=np, x=x.copy())
    expected = {"np": np, "x": x.copy()}
    exec(source, expected)
    assert calls == count
    assert type(namespace["found"]) is type(expected["found"]) and np.array_equal(namespace["found"], expected["found"])


def test_what_is_compared_with_itself():
    namespace, _ = rewritten("same = np.add is np.add, np.sum is np.sum, isinstance(np.add, np.ufunc), np.add.nin", np=np)
    assert namespace["same"] == (True, True, True, 2)

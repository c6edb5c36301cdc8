"""What a loop writes and soon reads again is carried in registers."""

import numpy as np
import pytest
from phlox import jit
from phlox.compile.passes import run_named_passes

N = 400
X = np.random.default_rng(0).normal(size=N)
LETTERS = np.random.default_rng(1).integers(0, 4, (2, 90))


def filtered(x):
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = x[i] - 0.9 * y[i - 1]
    return y


def of_two(x):
    y = np.zeros_like(x)
    for i in range(2, len(x)):
        y[i] = x[i] + y[i - 1] / 2 - y[i - 2] / 4
    return y


def of_two_and_four(x):
    y = x.copy()
    for i in range(4, len(x)):
        y[i] += y[i - 4] / 2 - y[i - 2] / 4
    return y


def backwards(x):
    y = x.copy()
    for i in range(len(x) - 2, -1, -1):
        y[i] += y[i + 1] / 2
    return y


def every_other(x):
    y = x.copy()
    for i in range(2, len(x), 2):
        y[i] += y[i - 2] / 2
    return y


def in_place(x):
    for i in range(len(x) - 1):
        x[i + 1] += x[i] / 3
    return x[-1]


def behind_its_own_write(x):
    y = x.copy()
    for i in range(1, len(x)):
        y[i] = x[i] * 3
        y[i] = y[i - 1] / 2 + y[i]
    return y


def two_arrays(x):
    y, z = x.copy(), -x
    for i in range(1, len(x)):
        y[i] = y[i - 1] / 2 + z[i - 1] / 3
        z[i] = y[i] - z[i - 1] / 4
    return y, z


def table(x):
    a, b = LETTERS
    found = np.zeros((len(a) + 1, len(b) + 1), int)
    found[0] = np.arange(len(b) + 1)
    for i in range(len(a)):
        found[i + 1, 0] = i + 1
        for j in range(len(b)):
            found[i + 1, j + 1] = min(found[i, j] + (a[i] != b[j]), found[i, j + 1] + 1, found[i + 1, j] + 1)
    return found * x[0]


def down_columns(x):
    y = x.reshape(-1, 2).copy()
    for j in range(2):
        for i in range(1, len(y)):
            y[i, j] -= y[i - 1, j] / 2
    return y


def other_types(x):
    y, z = x.astype(np.float16), x * 1j
    found = np.zeros(len(x), bool)
    for i in range(1, len(x)):
        y[i] += y[i - 1]
        z[i] -= z[i - 1] * 0.5j
        found[i] = found[i - 1] ^ (x[i] > 0)
    return y, z, found


def ahead(x):
    y = x.copy()
    for i in range(len(x) - 1):
        y[i] = y[i + 1] / 2 + y[i]
    return y


def long_ago(x):
    y = x.copy()
    for i in range(7, len(x)):
        y[i] += y[i - 7]
    return y


def not_written(x):
    y = x.copy()
    for i in range(2, len(x), 2):
        y[i] += y[i - 1]
    return y


def another_row(x):
    y = x.reshape(2, -1).copy()
    for i in range(1, y.shape[1]):
        y[0, i] += y[1, i - 1]
    return y


def wraps(x):
    y = x.copy()
    for i in range(len(x)):
        y[i] += y[i - 1] / 2
    return y


def written_twice(x):
    y = x.copy()
    for i in range(1, len(x) - 1):
        y[i] += y[i - 1]
        y[i + 1] = 0
    return y


def somewhere(x):
    y = x.copy()
    for i in range(1, len(x)):
        y[(i * 7) % len(x)] += y[i - 1] / 2
    return y


def outside(x):
    y = x.copy()
    for i in range(1, len(x) + 1):
        y[i] += y[i - 1]
    return y


CARRIED = (
    filtered, of_two, of_two_and_four, backwards, every_other, in_place, behind_its_own_write, two_arrays, table, down_columns,
    other_types,
)  # fmt: skip
LEFT = (ahead, long_ago, not_written, another_row, wraps, written_twice, somewhere)


@pytest.mark.parametrize("function", [*CARRIED, *LEFT], ids=lambda function: function.__name__)
def test_elements(function):
    jitted, mine, its = jit(function), X.copy(), X.copy()
    for expected, found in zip(parts(function(its)), parts(jitted(mine)), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
    np.testing.assert_array_equal(mine, its)
    assert is_carried(jitted.lower(X.copy()).module) == (function in CARRIED)


def parts(value):
    return value if isinstance(value, tuple) else (value,)


def is_carried(module):
    names = ("inline-calls", "canonicalize", *("simplify", "fold-constants", "cse", "simplify-loops", "dce") * 3)
    simple = run_named_passes(module, names)
    return run_named_passes(simple, ["carry-written-elements"]) is not simple


def test_an_error_is_the_users():
    with pytest.raises(IndexError, match="index 400 is out of bounds"):
        jit(outside)(X)

"""Products of a loop's rows with a matrix leave the loop."""

import numpy as np
import pytest
from phlox import jit
from phlox.hlo import parse_module

RANDOM = np.random.default_rng(0)
X, W, V = RANDOM.normal(size=(300, 40)), RANDOM.normal(size=(40, 64)), RANDOM.normal(size=(64, 40))
H = np.zeros(64)


def forwards(x, w, h):
    for row in x:
        h = np.tanh(row @ w + h)
    return h


def backwards(x, w, h):
    for t in reversed(range(len(x))):
        h = np.tanh(x[t] @ w + h)
    return h


def from_the_end(x, w, h):
    for t in range(1, len(x) - 5):
        h = np.tanh(x[-t] @ w + h)
    return h


def some(x, w, h):
    for t in range(7, 200):
        h = np.tanh(x[t - 3] @ w + h)
    return h


def right(x, v, h):
    for t in range(len(x)):
        h = np.tanh(v @ x[t] + h)
    return h


def until(x, w, h):
    for row in x:
        h = np.tanh(row @ w + h)
        if h.sum() > 20:
            break
    return h


def changed(x, w, h):
    x = x.copy()
    for t in range(len(x) - 1):
        h = np.tanh(x[t] @ w + h)
        x[t + 1] = h[:40]
    return h


def other_matrix(x, w, h):
    for row in x:
        w = w * 1.01
        h = np.tanh(row @ w + h)
    return h


def sometimes(x, w, h):
    for row in x:
        if h[0] > 0:
            h = np.tanh(row @ w - h)
        else:
            h = h + 1
    return h


def products_outside(jitted, *arguments):
    entry = parse_module(jitted.compile(*arguments).as_text()).entry
    return [instruction.opcode for instruction in entry.instructions].count("dot")


@pytest.mark.parametrize(
    "function, x, w, h, leaves",
    [
        (forwards, X, W, H, True),
        (forwards, X + 1j * X[::-1], W, H, True),
        (forwards, X.astype("f4"), W.astype("f4"), H.astype("f4"), True),
        (forwards, X.reshape(150, 2, 40), W, np.zeros((2, 64)), True),
        (forwards, np.tile(X, (6, 1)).reshape(150, 12, 40), W, np.zeros((12, 64)), False),  # as many rows in a round
        (forwards, X[:, :20], W[:20, :40], H[:40], False),  # a small matrix
        (backwards, X, W, H, True),
        (from_the_end, X, W, H, True),
        (some, X, W, H, True),
        (right, X, V, H, True),
        (until, X, W, H, False),
        (changed, X, W / 20, H, False),
        (other_matrix, X, W, H, False),
        (sometimes, X, W, H, False),
    ],
)
def test_products_of_rows(function, x, w, h, leaves):
    jitted = jit(function)
    tolerance = 1e-4 if x.dtype == np.float32 else 1e-9
    np.testing.assert_allclose(jitted(x, w, h), function(x, w, h), tolerance, tolerance)
    assert products_outside(jitted, x, w, h) == int(leaves)


def test_all_products_take_no_more_than_some_memory():
    x, w, h = np.ones((100_000, 40), np.float32), np.ones((40, 256), np.float32), np.ones(256, np.float32)
    assert products_outside(jit(forwards), x, w, h) == 0

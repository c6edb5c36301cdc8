"""Large arrays of which a mask selects the elements that are set: those alone are written."""

import numpy as np
import pytest
from phlox import jit
from phlox.backends.cpu.target import host_target

SIZE = (1 << 20) + 5  # no multiple of a vector's elements, and as many bytes as it takes


def set_where(o, m, s):
    o[m] = s


def set_elsewhere(o, m, s):
    o[~m] = s


def clip_negative(o):
    o[o < 0] = 0


def from_values(o, x):
    o[:] = np.where(x > 0, np.sqrt(x), o)


def same(function, *arguments):
    expected = [np.copy(one) if isinstance(one, np.ndarray) else one for one in arguments]
    actual = [np.copy(one) if isinstance(one, np.ndarray) else one for one in arguments]
    with np.errstate(invalid="ignore"):
        function(*expected)
    compiled = jit(function)
    compiled(*actual)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    return compiled.compile(*arguments)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "?", "f2", "c8"])
def test_elements_of_any_type(dtype):
    rng = np.random.default_rng(0)
    o, chances = (rng.standard_normal(SIZE) * 9).astype(dtype), rng.random(SIZE)
    for function in (set_where, set_elsewhere):
        compiled = jit(function)
        for share in (0, 0.01, 0.6, 1):
            expected, actual = o.copy(), o.copy()
            function(expected, chances < share, o.dtype.type(1))
            compiled(actual, chances < share, o.dtype.type(1))
            np.testing.assert_array_equal(actual, expected)


def test_what_is_not_selected_is_left_alone():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(SIZE)
    x[::5] = np.nan
    llvm_ir = same(clip_negative, x).executable.llvm_ir()
    assert "masked.store" in llvm_ir or host_target().vector_bytes < 32
    same(from_values, x, x[::-1].copy())


def test_every_other_element():
    def strided(o, p, q):
        o[::2] = 1
        p[1::4] = q
        p[::3] += 1

    rng = np.random.default_rng(0)
    same(strided, rng.random(SIZE), rng.random(4 * 9 + 1), rng.random(9))
    same(strided, rng.random(SIZE - 1), rng.random(SIZE), rng.random(len(range(1, SIZE, 4))))


def test_a_table_of_which_rows_are_selected():
    rng = np.random.default_rng(0)
    same(set_where, rng.random((700, 333)), rng.random(700) < 0.1, 2.0)
    same(set_where, rng.random((700, 333)), rng.random((700, 333)) < 0.1, 2.0)


def test_steps_of_a_loop():
    def steps(o, x):
        for t in range(4):
            o[x < t / 4] += 1
            o[o > 3] = t

    rng = np.random.default_rng(0)
    same(steps, rng.random(SIZE), rng.random(SIZE))

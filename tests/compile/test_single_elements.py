"""Elements that are copied within an array, or between arrays, are scalars on the way."""

import numpy as np
import pytest
from phlox import jit


def swapped(x, i, j):
    x[i], x[j] = x[j], x[i]
    return x


def rows_swapped(x, i, j):
    for k in range(x.shape[1]):
        x[i, k], x[j, k] = x[j, k], x[i, k]
    return x


def moved(x, i, j):
    for k in range(len(x) - 1, j, -1):
        x[k] = x[k - 1]
    x[j] = x[i]
    return x


def between_arrays(x, i, j):
    found = np.zeros_like(x)
    for k in range(j):
        found[k] = x[(i * k) % len(x)]
    found[i] = -x[j]
    return found


def read_again(x, i, j):
    i %= len(x)
    one = x[i : i + 1]
    x[j : j + 1] = one * 2
    return x, one + 1


CASES = [(function, (9,)) for function in (swapped, moved, between_arrays, read_again)]
CASES += [(rows_swapped, (9, 5)), (swapped, (9, 1))]


@pytest.mark.parametrize("function, shape", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.complex64])
def test_as_numpy_has_it(function, shape, dtype):
    compiled = jit(function)
    for i, j in ((2, 7), (7, 2), (3, 3), (-1, 4)):
        x, again = (np.arange(np.prod(shape)).reshape(shape).astype(dtype) for _ in range(2))
        assert repr(compiled(x, i, j)) == repr(function(again, i, j))
        assert repr(x) == repr(again)


@pytest.mark.parametrize("function", [swapped, moved])
def test_no_array_of_one_element_is_stored(function):
    text = jit(function).compile(np.ones(9), 2, 7).as_text()
    emitted = [part for part in text.split("\n\n") if not part.startswith("%fused")]
    assert "f64[9]{0} fusion(" in "".join(emitted)
    assert "f64[1]{0} fusion(" not in "".join(emitted)

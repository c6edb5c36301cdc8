"""Single things that NumPy does and that are easily done otherwise: types of results, identity, casts, comparison with None."""

import numpy as np
import pytest
from jitted_calls import check, compiled
from phlox import jit

ARRAY, ZERO_D, SCALAR = np.array([1.0, 2.0]), np.array(3.25), np.float64(3.25)
SPECIAL = [np.nan, np.inf, -np.inf, 1e20, -1e20, 3e9, -3e9, 300.0, -1.0, 255.5, -0.0, 2.0**31, 2.0**63, -(2.0**63), 1.8e19]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x, lambda x: x[()], lambda x: x[..., None], lambda x: x + 1, lambda x: -x, lambda x: x.copy(), lambda x: x.T,
        lambda x: x.reshape(()), lambda x: x.astype(np.int32), lambda x: np.where(x > 0, x, 0), np.squeeze, np.real,
        lambda x: x.real, lambda x: x.imag, np.conj, np.round, lambda x: np.clip(x, 0, 1), np.max, np.mean, np.median,
        lambda x: np.percentile(x, 50), lambda x: np.interp(x, ARRAY, ARRAY), lambda x: np.digitize(x, ARRAY),
        lambda x: np.tensordot(x, x, 0), lambda x: np.maximum(x, 1), lambda x: np.isclose(x, x), lambda x: np.allclose(x, x),
        lambda x: np.array_equal(x, x), lambda x: np.array_equiv(x, x), lambda x: np.searchsorted(ARRAY, x),
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", [ZERO_D, SCALAR, np.array([3.25])], ids=["0-d", "scalar", "1-d"])
def test_types_of_results(function, value):
    check(function, value)


def test_reductions_give_scalars():
    for function in (np.sum, np.median, np.argmax, lambda x: np.einsum("i->", x), lambda x: x @ x, lambda x: x[0]):
        check(function, ARRAY)
    check(lambda x: np.tensordot(x, x, 1), ARRAY)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_arguments_that_are_returned_are_the_same_objects(backend):
    x, n = np.arange(3.0), np.array(2.0)
    single, several = jit(lambda x: x, backend=backend), jit(lambda n, x: (x, x + n, {"x": x, "n": n}), backend=backend)
    for _ in range(3):
        assert single(x) is x and single(n) is n
        first, total, rest = several(n, x)
        assert first is x and rest["x"] is x and rest["n"] is n
        np.testing.assert_array_equal(total, [2, 3, 4])


@pytest.mark.parametrize("source", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_casts_out_of_range(source, backend):
    targets = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.uint64]
    jitted = jit(lambda x: [x.astype(target) for target in targets], backend=backend)
    with np.errstate(all="ignore"):
        x = np.array(SPECIAL, source)
        for values in (x, np.resize(x, 67)):
            for target, actual in zip(targets, jitted(values)):
                np.testing.assert_array_equal(actual, values.astype(target))


def test_assignments_out_of_range():
    def assign(x, y):
        y[...] = x
        return y

    x = np.array(SPECIAL)
    with np.errstate(all="ignore"):
        check(assign, x, np.zeros(len(x), np.int32))


def test_python_floats_as_integers():
    def assign(x, value):
        x[0] = value
        return x

    f = compiled(assign)
    np.testing.assert_array_equal(f(np.zeros(2, np.uint8), 255.9), [255, 0])
    for value, error in ((float("nan"), ValueError), (float("inf"), OverflowError), (256.0, OverflowError)):
        with pytest.raises(error):
            f(np.zeros(2, np.uint8), value)


@pytest.mark.parametrize("other", [None, "a", b"a"])
def test_comparison_with_what_is_no_number(other):
    check(lambda x: (x == other, x != other, other == x), ARRAY)
    check(lambda x: x == other, 3.0)


def test_assigning_to_shape():
    def f(x):
        y = x + 1
        tail = y[1:]
        y.shape = (2, 3)
        tail[0] = 9
        y[1, 1] = 7
        row = y[0]
        row[2] = 5
        return y, tail, row, y * 2

    check(f, np.arange(6.0))

    def infer(x):
        y = x.reshape(2, 3) + 1
        y.shape = (-1, 2)
        return y

    check(infer, np.arange(6.0))


def test_assigning_to_shape_where_it_cannot_be():
    def of_transpose(x):
        y = (x + 1).T
        y.shape = (6,)

    with pytest.raises(AttributeError, match="Incompatible shape for in-place modification"):
        compiled(of_transpose)(np.ones((2, 3)))

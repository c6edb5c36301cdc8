"""Single things that NumPy does and that are easily done otherwise: types of results, identity, casts, comparison with None."""

import re

import numpy as np
import pytest
from jitted_calls import assert_same, check, compiled
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


@pytest.mark.parametrize("dtype", ["e", "f", "d", "D"])
def test_signs_of_zeros_in_sums(dtype):
    zero = np.dtype(dtype).type(complex(-0.0, -0.0) if dtype == "D" else -0.0)
    x = np.array([zero] * 40)
    for function in (np.cumsum, np.sum, lambda x: np.sum(x, initial=zero), lambda x: np.sum(x[:0], initial=zero)):
        found, expected = compiled(function)(x), function(x)
        np.testing.assert_array_equal(np.signbit(np.real(found)), np.signbit(np.real(expected)))
        np.testing.assert_array_equal(np.signbit(np.imag(found)), np.signbit(np.imag(expected)))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_neighbours_of_zeros(dtype):
    x = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan], dtype)
    function = lambda x: (np.nextafter(x[:, None], x), np.signbit(np.nextafter(x[:, None], x)))  # noqa: E731
    with np.errstate(all="ignore"):
        check(function, x)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint64])
def test_common_multiples_that_overflow(dtype):
    """The sizes are multiplied as unsigned numbers, and what is left of the product may be negative."""
    info = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(info.min, info.max, 9, dtype)
    x[:4] = info.min, info.max, 0, 3
    function = lambda x: (np.lcm(x[:, None], x), np.gcd(x[:, None], x), np.lcm.accumulate(x), np.lcm.reduce(x))  # noqa: E731
    check(function, x)


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


def column_major(x):
    return x.T + 1


X, LONG = np.arange(12.0).reshape(3, 4), np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize(
    "function",
    [
        column_major, lambda x: (x.T * 2, x * 2), lambda x: x.copy(order="f"), lambda x: np.zeros(x.shape, order="F") + 1,
        lambda x: {"a": [x.T.astype(np.float32), 3], "b": x.sum(0)}, lambda x: np.sort(x.T, axis=0),
        lambda x: np.asfortranarray(x), lambda x: np.partition(x.T, 1),
        lambda x: np.cumsum(x.T, axis=0), lambda x: np.concatenate([x.T, x.T]),
        lambda x: np.vstack([x.T, x.T]), lambda x: np.pad(x.T, 1), lambda x: np.roll(x.T, 1, 0), lambda x: np.delete(x.T, 0, 0),
        lambda x: np.insert(x.T, 0, 1, 0), lambda x: np.gradient(x.T), lambda x: np.maximum.accumulate(x.T),
        lambda x: x.reshape(4, 3, order="f"), lambda x: [x.T + k for k in range(3)], lambda x: np.empty_like(x.T) * 0,
    ],
)  # fmt: skip
def test_results_lie_in_memory_as_numpys_do(function, backend):
    def flags(value):
        if isinstance(value, np.ndarray):
            return value.flags.c_contiguous, value.flags.f_contiguous
        return (
            [flags(one) for one in (value.values() if isinstance(value, dict) else value)]
            if hasattr(value, "__len__")
            else None
        )

    for x in (X, np.asfortranarray(X)):
        jitted = jit(function, backend=backend)
        for _ in range(2):
            assert flags(jitted(x)) == flags(function(x))
        check(function, x)


@pytest.mark.parametrize("value", [np.nan, np.float64(np.nan), np.float32(np.nan), np.array(np.nan), 1e30, np.float64(1e30), 1j,
                                   np.complex128(1j), np.array(1j), 2.7, np.float32(2.7), np.int64(300), np.array(300),
                                   np.int64(-(2**40)), np.uint32(2**32 - 1), np.uint64(2**64 - 1), np.True_],
                         ids=repr)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.float64, np.complex128])
@pytest.mark.parametrize("index", [0, slice(None), [0, 1]], ids=repr)
def test_scalars_that_become_elements(value, dtype, index):
    """Python converts a scalar, by ``int()`` or ``float()``, which may raise; NumPy converts the elements of arrays."""

    def put(x, value):
        x[index] = value
        return x

    try:
        with np.errstate(all="ignore"):
            put(np.zeros(2, dtype), value)
    except (ValueError, OverflowError, TypeError) as error:
        message = re.escape(str(error)) if isinstance(value, np.integer) else ""
        with pytest.raises(type(error), match=message):
            jit(put)(np.zeros(2, dtype), value)
    else:
        with np.errstate(all="ignore"):
            assert_same(jit(put)(np.zeros(2, dtype), value), put(np.zeros(2, dtype), value))


@pytest.mark.parametrize("sizes, index", [((), ()), ((3,), 1)])
@pytest.mark.parametrize("value", [np.array([2.0]), np.array([[0]]), np.array([True, False])], ids=repr)
@pytest.mark.parametrize("dtype", [bool, float])
def test_arrays_that_become_elements(value, dtype, sizes, index):
    """NumPy takes the truth value of an array of one; other elements are numbers."""

    def put(x, value):
        x[index] = value
        return x

    try:
        expected = put(np.zeros(sizes, dtype), value)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            jit(put)(np.zeros(sizes, dtype), value)
    else:
        assert_same(jit(put)(np.zeros(sizes, dtype), value), expected)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.argwhere(x[0, 0]), lambda x: np.argwhere(x[0, 1]), lambda x: np.correlate(x[0], x[1], 1),
        lambda x: np.convolve(x[0], x[1], 2), lambda x: np.arange(0, 10, np.inf) + x[0, 0],
        lambda x: np.arange(0, -10, np.inf) + x[0, 0], lambda x: np.arange(x[0, 0] * 0, 1e-16, np.inf),
        lambda x: np.arange(x[0, 0] * 0, 1e-16, -1e308), lambda x: np.arange(x[0, 0] * 0, 1e-16, 1e308),
        lambda x: np.moveaxis(x, range(2), [1, 0]),
        lambda x: np.roll(x, 2**70, 0),
        lambda x: np.linspace(0, 5e-324, 5) + x[0, 0], lambda x: np.logspace(0, 1, 4, base=x[1, :2]),
        lambda x: np.logspace(0, 1, 4, base=x[1, :2], axis=-1), lambda x: (x > 3).view(np.uint8),
        lambda x: (x > 3).view("i1").sum(),
        lambda x: (x > 3).astype(np.uint8).view(bool), lambda x: x.copy("f"), lambda x: np.ravel(x, "f"),
    ],
)  # fmt: skip
def test_forms_that_few_use(function):
    check(function, X)


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda x: np.cross(x, 3), ValueError), (lambda x: np.convolve(x[0], x[0], None), TypeError),
        (lambda x: x.copy("Z"), ValueError),
        (lambda x: np.moveaxis(x, 3, 0), np.exceptions.AxisError), (lambda x: np.concatenate([x, x[0]]), ValueError),
        (lambda x: np.correlate(x[0], x[0], 3), ValueError),
        (lambda x: np.add(3.0, 4.0 * x[0, 0], dtype=int, casting="safe"), TypeError),
    ],
)  # fmt: skip
def test_errors_of_forms_that_few_use(function, kind):
    with pytest.raises(kind) as theirs:
        function(X)
    with pytest.raises(kind, match=None if kind is TypeError else re.escape(str(theirs.value)[:16])):
        jit(function)(X)


def test_a_view_of_truths_as_bytes_can_be_written_to():
    def f(x):
        above = x > 3
        bytes_ = above.view(np.uint8)
        bytes_[0] = 1
        bytes_ ^= 1
        return above, bytes_

    check(f, X)


@pytest.mark.parametrize("casting", ["safe", "equiv", "no"])
@pytest.mark.parametrize("dtype", [int, "float32", "dd->d", complex])
def test_numbers_that_cannot_be_cast(casting, dtype):
    """NumPy's own ``resolve_dtypes`` crashes where it would say so of Python's numbers."""
    arguments = {"signature" if dtype == "dd->d" else "dtype": dtype, "casting": casting}
    for operands in ((3.0, 4.0), (3, 4), (np.array([3.0]), 4.0)):
        try:
            expected = np.add(*operands, **arguments)
        except TypeError:
            with pytest.raises(TypeError):
                jit(lambda x, y: np.add(x, y, **arguments))(*operands)
        else:
            found = jit(lambda x, y: np.add(x, y, **arguments))(*operands)
            assert found == expected and found.dtype == expected.dtype


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32, np.float64])
@pytest.mark.parametrize(
    "q", [25, [25], (25, 50), np.array([25, 50]), np.array(25), np.int64(25), [25.0, 62.5], np.float32([25, 62.5])], ids=repr
)
@pytest.mark.parametrize("method", ["linear", "lower", "inverted_cdf"])
def test_percentiles_of_integers_and_by_integers(dtype, q, method):
    x = np.arange(12).astype(dtype).reshape(3, 4)
    for function in (lambda x: np.percentile(x, q, axis=1, method=method), lambda x: np.percentile(x[x > 3], q, method=method)):
        check(function, x)
    check(lambda x, q: np.percentile(x, q, method=method), x, np.asarray(q))

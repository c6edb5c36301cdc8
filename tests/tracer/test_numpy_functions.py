"""NumPy's functions on traced arrays: the same values, dtypes, shapes and exceptions as NumPy's own.

Each case is a function that runs twice, once on ndarrays by NumPy and once traced, evaluated by the reference backend.
"""

from __future__ import annotations

import re
import warnings

import ml_dtypes
import numpy as np
import pytest
from phlox import jit
from phlox.tracer.recording import function_tables
from phlox.tracer.recording.array_methods import ArrayMethods

TOLERANCE = {"e": 2e-3, "f": 3e-6, "d": 1e-13, "F": 3e-6, "D": 1e-13, "E": 2e-2}


def run_both(function, *arguments):
    """What NumPy returns, and what the traced function returns: values or exceptions."""
    outcomes = []
    for call in (function, jit(function, backend="reference")):
        copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                outcomes.append(call(*copies))
        except Exception as error:
            outcomes.append(error)
    return outcomes


def same(expected, actual, tolerance=None):
    if isinstance(expected, (tuple, list)):
        assert isinstance(actual, (tuple, list)) and len(actual) == len(expected)
        for one, other in zip(expected, actual):
            same(one, other, tolerance)
        return
    assert np.shape(actual) == np.shape(expected)
    assert np.asarray(actual).dtype == np.asarray(expected).dtype
    expected, actual = np.asarray(expected), np.asarray(actual)
    if expected.dtype == ml_dtypes.bfloat16:
        expected, actual, tolerance = expected.astype(np.float32), actual.astype(np.float32), tolerance or 2e-2
    if expected.dtype.kind in "fc":
        rtol = tolerance or TOLERANCE[expected.dtype.char]
        np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol * (4 if expected.dtype.char == "e" else 1))
    else:
        np.testing.assert_array_equal(actual, expected)


def check(function, *arguments, tolerance=None):
    expected, actual = run_both(function, *arguments)
    if isinstance(expected, Exception):
        assert isinstance(actual, Exception), f"NumPy raises {expected!r}, the traced function returns {actual!r}"
        kinds = (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError, NotImplementedError)
        kind = next(kind for kind in kinds if isinstance(expected, kind))
        assert isinstance(actual, kind), f"NumPy raises {expected!r}, the traced function {actual!r}"
        return
    if isinstance(actual, Exception):
        raise actual
    same(expected, actual, tolerance)


def sample(dtype, shape=(3, 4), seed=0, low=-3.0, high=3.0):
    """Values with zeros, both signs and ties."""
    random = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return random.random(shape) < 0.5
    if dtype.kind in "iu":
        return random.integers(0 if dtype.kind == "u" else -9, 10, shape).astype(dtype)
    values = np.round(random.uniform(low, high, shape), 2)
    if dtype.kind == "c":
        values = values + 1j * np.round(random.uniform(low, high, shape), 2)
    return values.astype(dtype)


DTYPES = [
    np.bool_,
    np.int8,
    np.int32,
    np.int64,
    np.uint8,
    np.uint64,
    np.float16,
    np.float32,
    np.float64,
    np.complex64,
    np.complex128,
]
SHAPES = [(3, 4), (0, 4), (1,), ()]

UFUNCS = sorted(
    {getattr(np, name) for name in dir(np) if isinstance(getattr(np, name), np.ufunc)} - {np.matmul, np.vecdot, np.isnat}
    - {getattr(np, name, None) for name in ("matvec", "vecmat")},
    key=lambda ufunc: ufunc.__name__,
)  # fmt: skip
POSITIVE = {np.log, np.log2, np.log10, np.sqrt, np.arccosh}
UNIT = {np.arcsin, np.arccos, np.arctanh, np.log1p}


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_ufunc_over_dtypes(ufunc):
    for dtype in DTYPES:
        low, high = (0.1, 5.0) if ufunc in POSITIVE else (-0.9, 0.9) if ufunc in UNIT else (-3.0, 3.0)
        arrays = [sample(dtype, seed=seed, low=low, high=high) for seed in range(ufunc.nin)]
        if ufunc is np.power:
            arrays[1] = abs(arrays[1])
        if ufunc is np.reciprocal and np.dtype(dtype).kind in "iu":
            arrays[0][arrays[0] == 0] = 1
        if ufunc is np.ldexp:
            arrays[1] = sample(np.int32, seed=1)
        check(lambda *operands: ufunc(*operands), *arrays)


@pytest.mark.parametrize("shape", SHAPES[1:], ids=str)
def test_ufunc_over_shapes(shape):
    for ufunc in (np.sin, np.add, np.maximum, np.floor_divide, np.divmod, np.less, np.frexp, np.gcd):
        dtype = np.int64 if ufunc is np.gcd else np.float64
        check(lambda *operands, f=ufunc: f(*operands), *(sample(dtype, shape, seed) for seed in range(ufunc.nin)))


SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-310, -1e-310, 1e300, -1e300, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize(
    "ufunc", [u for u in UFUNCS if "d->" in str(u.types) and u.nin == 1 and u.nout == 1], ids=lambda ufunc: ufunc.__name__
)
def test_unary_special_values(ufunc):
    if ufunc in (np.spacing, np.reciprocal):
        check(ufunc, SPECIAL[np.abs(SPECIAL) < 1e301])
        return
    expected, actual = run_both(ufunc, SPECIAL)
    same(expected, actual, 1e-12)
    if np.asarray(expected).dtype.kind == "f":
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(actual)[known], np.signbit(expected)[known])


@pytest.mark.parametrize(
    "ufunc",
    [np.floor_divide, np.remainder, np.fmod, np.copysign, np.nextafter, np.fmax, np.fmin, np.heaviside, np.hypot, np.logaddexp,
     np.logaddexp2, np.arctan2, np.power, np.less, np.equal],
    ids=lambda ufunc: ufunc.__name__,
)  # fmt: skip
def test_binary_special_values(ufunc):
    x, y = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    expected, actual = run_both(lambda x, y: ufunc(x, y), x, y)
    same(expected, actual, 1e-12)
    if ufunc in (np.floor_divide, np.remainder, np.copysign, np.nextafter):
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(actual)[known], np.signbit(expected)[known])


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint64])
def test_integer_division_and_shifts_at_the_limits(dtype):
    limits = np.iinfo(dtype)
    values = np.array([limits.min, limits.min + 1, 0, 1, 2, 3, 7, limits.max], dtype)
    if limits.min < 0:
        values = np.append(values, np.array([-1, -2, -3, -7], dtype))
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    for ufunc in (np.floor_divide, np.remainder, np.fmod, np.divmod, np.gcd, np.add, np.multiply, np.subtract):
        check(lambda x, y, f=ufunc: f(x, y), x, y)
    amounts = np.array([0, 1, 3, limits.bits - 1, limits.bits, limits.bits + 5, 100], dtype)
    x, y = (a.ravel() for a in np.meshgrid(values, amounts))
    check(lambda x, y: (x << y, x >> y), x, y)
    for divisor in (1, 3, 7):
        check(lambda x, d=divisor: (x // d, x % d, divmod(x, d)), values)
    if limits.min < 0:
        check(lambda x: (x // -3, x % -3, x // -1, x % -1), values)


def test_powers():
    x, k = np.array([-3, -1, 0, 1, 2]), np.array([0, 1, 2, 3, 5])
    check(lambda x, k: x**k, x, k)
    check(lambda x: (x**2, x**3, x**0, 2 ** x[2:], True ** x[2:]), x)
    check(lambda x: x**-1, x)
    check(lambda x, k: x**k, x, -k)  # when the program runs
    for dtype in (np.float32, np.float64, np.complex128):
        y = np.array([0.5, 1.5, 4.0], dtype)
        check(lambda y: (y**2, y**0.5, y**-1, y**1, y**0, y**3, y**2.0, 2**y, y**1.7), y)


def test_comparison_of_signed_with_unsigned_is_exact():
    signed = np.array([-1, 0, 5, np.iinfo(np.int64).max, np.iinfo(np.int64).min])
    unsigned = np.array([0, 2**64 - 1, 5, 2**63, 2**63 - 1], np.uint64)
    x, y = (a.ravel() for a in np.meshgrid(signed, unsigned))
    for compare in (np.less, np.less_equal, np.equal, np.not_equal, np.greater, np.greater_equal):
        check(lambda x, y, f=compare: (f(x, y), f(y, x)), x, y)


def test_ufunc_arguments():
    x, y, mask = sample(np.float64), sample(np.float64, seed=1), sample(np.bool_)

    def with_out(x, y, mask):
        z = np.zeros_like(x)
        returned = np.add(x, y, out=z)
        assert returned is z
        np.multiply(z, 2, z)
        np.sqrt(np.abs(x), out=z, where=mask)
        return z

    check(with_out, x, y, mask)
    check(lambda x: np.add(x, 1, dtype=np.float32), x)
    check(lambda x: np.add(x, 1, dtype=np.int32), x)
    check(lambda x: np.add(x, 1, dtype=np.int32, casting="unsafe"), x)
    check(lambda x: np.true_divide(x, 3, dtype="f4"), x.astype(np.float32))
    check(lambda x: np.add(x, x, out=np.zeros_like(x, dtype=np.int32)), x)
    check(lambda x: np.add(x, x, out=np.zeros_like(x)[0]), x)
    check(lambda x, y: np.add(x, y[:, :3]), x, y)
    check(lambda x: np.modf(x, out=(np.empty_like(x), np.empty_like(x))), x)
    check(lambda x: np.add(x), x)


def test_ufunc_methods():
    x = sample(np.int32)
    check(lambda x: (np.add.reduce(x), np.add.reduce(x, axis=None), np.multiply.reduce(x, axis=1, keepdims=True)), x)
    check(lambda x: (np.maximum.reduce(x, axis=(0, 1)), np.bitwise_xor.reduce(x), np.logical_or.reduce(x, axis=-1)), x)
    check(lambda x: (np.add.accumulate(x), np.maximum.accumulate(x, axis=1), np.multiply.accumulate(x, axis=-1)), x)
    check(lambda x: (np.add.outer(x, x[0]), np.multiply.outer(x[0], 3), np.subtract.outer(2, x)), x)
    check(lambda x: (np.fmax.reduce(x), np.hypot.reduce(x * 1.0), np.logaddexp.reduce(x * 0.1), np.gcd.reduce(x)), x)
    check(lambda x: np.add.reduce(x, initial=5, where=x > 0), x)
    check(lambda x: np.bitwise_and.reduce(x.astype(np.uint8)), x)

    def at(x):
        np.add.at(x, (slice(None), 1), 10)
        np.multiply.at(x, 0, 2)
        return x

    check(at, x)
    check(lambda x: (np.subtract.reduce(x), np.floor_divide.accumulate(x + 7, axis=1)), x)


REDUCTIONS = [np.sum, np.prod, np.mean, np.var, np.std, np.min, np.max, np.ptp, np.all, np.any, np.argmax, np.argmin, np.nansum,
              np.nanprod, np.nanmean, np.nanvar, np.nanstd, np.nanmax, np.nanmin, np.count_nonzero, np.average]  # fmt: skip


@pytest.mark.parametrize("function", REDUCTIONS, ids=lambda function: function.__name__)
def test_reductions(function):
    for dtype in DTYPES:
        x = sample(dtype)
        for axis in (None, 0, -1, (0, 1)):
            if isinstance(axis, tuple) and function in (np.argmax, np.argmin):
                continue
            check(lambda x, axis=axis: function(x, axis=axis), x)
        check(lambda x: function(x, axis=1, keepdims=True), x)
    x = sample(np.float64)
    check(lambda x: function(x, axis=2), x)
    check(lambda x: function(x, axis=(0, 0)), x)
    check(lambda x: function(x), np.zeros((0, 3)))
    check(lambda x: function(x, axis=1), np.zeros((0, 3)))
    check(lambda x: function(x, axis=0), np.zeros((0, 3)))
    check(lambda x: function(x), np.array([1.5]))
    check(lambda x: function(x), np.float64(2.5))
    x[1, 2] = x[2, 2] = np.nan
    check(lambda x: function(x, axis=0), x)
    check(lambda x: function(x, axis=1), x)


@pytest.mark.parametrize("function", [np.nanmax, np.nanmin, np.fmax.reduce, np.fmin.reduce], ids=lambda one: one.__name__)
def test_extrema_without_nan(function):
    nan, inf = np.nan, np.inf
    for dtype in (np.float64, np.float32, np.float16, np.complex128):
        lines = [[nan, nan, nan], [nan, -inf, nan], [inf, nan, -inf], [-2.5, nan, -3], [nan, nan, inf], [1, 2, 3]]
        x = np.array(lines, dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for axis in (None, 0, 1, (0, 1)):
                check(lambda x, axis=axis: function(x, axis=axis), x)
            check(lambda x: function(x, axis=1, initial=2, where=x != 3), x)
            check(lambda x, dtype=dtype: function(np.abs(x).astype(dtype), axis=1), x.T)
        long = np.where(np.arange(1003) % 7, nan, np.cos(np.arange(1003.0))).astype(dtype)
        check(lambda x: (function(x), function(x[:0:-1]), function(x[1:7])), long)


def test_logarithms_of_powers_of_their_bases_are_integers():
    for dtype, low in ((np.float64, -1074), (np.float32, -149)):
        exponents = np.arange(low, 128)
        np.testing.assert_array_equal(jit(lambda x: np.log2(x))(np.ldexp(dtype(1), exponents)), exponents.astype(dtype))
        exponents = np.arange(23 if dtype is np.float64 else 11)
        np.testing.assert_array_equal(jit(lambda x: np.log10(x))(dtype(10) ** exponents.astype(dtype)), exponents.astype(dtype))
        tiny = np.finfo(dtype).smallest_subnormal * np.arange(1, 9, dtype=dtype)
        border = np.array([0.5, 2.0]) ** 0.5
        for x in (tiny, np.nextafter(border, [0, 9]).astype(dtype), -tiny, np.array([0, -0.0, np.inf, -np.inf, np.nan], dtype)):
            check(lambda x: (np.log2(x), np.log10(x)), x)


def test_reduction_arguments():
    x, mask = sample(np.float64), sample(np.bool_)
    check(
        lambda x, m: (np.sum(x, where=m), np.mean(x, where=m), np.var(x, axis=0, where=m), np.max(x, where=m, initial=-9)),
        x,
        mask,
    )
    check(lambda x, m: np.max(x, where=m), x, mask)
    check(lambda x: (np.sum(x, initial=3), np.prod(x, initial=2), np.min(x, initial=-100, axis=0)), x)
    check(lambda x: (np.std(x, ddof=1), np.var(x, axis=1, ddof=2), np.var(x, correction=1), np.std(x, mean=x.mean())), x)
    check(lambda x: (np.var(x, ddof=12), np.sum(x, dtype=np.float32), np.mean(x, dtype=np.float32)), x)
    check(lambda x: x.sum(axis=0, out=np.zeros_like(x[0])), x)
    check(lambda x: x.max(0, np.zeros_like(x[1])), x)
    check(lambda x: np.sum(x, axis=1.0), x)
    check(lambda x: (np.argmax(x, axis=None, keepdims=True), np.argmin(x, 0, keepdims=True)), x)
    check(lambda x: np.average(x, axis=1, weights=np.array([1, 2, 3, 4])), x)
    check(lambda x: np.average(x, weights=x * x, returned=True), x)
    check(lambda x: (np.nanargmax(x, axis=1), np.nanargmin(x)), np.array([[1, np.nan, 3], [np.nan, 0, 0]]))
    check(lambda x: np.nanargmax(x, axis=1), np.array([[np.nan, np.nan], [1, 2]]))
    check(lambda x: (np.argmax(x), np.argmin(x), np.max(x), np.min(x)), np.array([3, np.nan, 7, np.nan]))
    check(lambda x: (np.argmax(x), np.argmin(x)), np.full(4, -np.inf))
    check(lambda x: (np.sum(x), np.cumsum(x)), np.full(300, 200, np.uint8))
    check(lambda x: np.sum(x), np.full(3000, 0.1, np.float16))
    check(lambda x: (np.cov(x), np.corrcoef(x), np.cov(x[0]), np.cov(x, rowvar=False, bias=True)), x)


def test_running_reductions():
    for dtype in DTYPES:
        x = sample(dtype)
        check(lambda x: (np.cumsum(x), np.cumsum(x, axis=0), np.cumprod(x, axis=1)), x)
    x = sample(np.float64, (2, 7))
    check(lambda x: (x.cumsum(1), np.cumulative_sum(x, axis=1, include_initial=True), np.nancumsum(x), np.cumprod(x[0])), x)
    check(lambda x: np.cumsum(x, axis=2), x)
    check(lambda x: np.cumsum(x, dtype=np.float32), np.zeros((0,)))


def test_sixteen_bit_brain_floats():
    x = sample(np.float32).astype(ml_dtypes.bfloat16)
    y = sample(np.float32, seed=3).astype(ml_dtypes.bfloat16)
    check(lambda x, y: (x + y, x * y, x - y, x / y, -x, abs(x), x < y, np.maximum(x, y), np.exp(x), np.sqrt(abs(y))), x, y)
    check(lambda x: (x + 1, x * 2, x.astype(np.float32), x.reshape(-1), x[1:, ::2], x.T), x)


@pytest.mark.parametrize("name", ["isnat", "datetime_as_string"])
def test_missing_functions_are_named(name):
    function = getattr(np, name)
    x = np.arange(4)
    with pytest.raises(NotImplementedError, match=name):
        jit(function, backend="reference")(x)
    assert f"np.{name}" in function_tables.gaps()


def test_gaps_are_the_functions_without_implementation():
    gaps = function_tables.gaps()
    assert "np.sum" not in gaps and "np.matmul" not in gaps and "np.sin" not in gaps
    for name in gaps:
        module, _, function = name.removeprefix("np.").rpartition(".")
        target = getattr(getattr(np, module) if module else np, function)
        assert target not in function_tables.FUNCTIONS and target not in function_tables.UFUNCS


METHODS = [name for name, one in vars(ArrayMethods).items() if not name.startswith("_") and not isinstance(one, property)]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_in_a_table_or_a_gap(name):
    method, function = getattr(np.ndarray, name), getattr(np, name, None)
    known = method in function_tables.METHODS or function in function_tables.FUNCTIONS
    assert known or f"np.{name}" in function_tables.gaps()


def test_methods_without_function_say_so():
    with pytest.raises(NotImplementedError, match="byteswap of an array whose size is known at run time only"):
        jit(lambda x: x[x > 0].byteswap(), backend="reference")(np.arange(3))


def test_special_functions_of_scipy():
    special = pytest.importorskip("scipy.special")
    x = sample(np.float64)
    check(lambda x: (special.erf(x), special.expit(x), special.logit(special.expit(x)), special.xlogy(x * x, abs(x) + 1)), x)
    check(lambda x: (special.entr(x), special.xlog1py(x, x * x), special.exp10(x)), x)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int16, np.bool_], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("name", sorted(function_tables.SPECIAL_KERNELS))
def test_each_special_function_of_scipy(name, dtype):
    """Inside and outside of the domain, and in the dtypes that SciPy gives."""
    ufunc = getattr(pytest.importorskip("scipy.special"), name)
    operands = [sample(dtype, seed=seed) for seed in range(ufunc.nin)]
    check(lambda *operands: ufunc(*operands), *operands)


def test_what_is_said_of_arrays_of_other_ranks_that_are_joined():
    def program(x):
        return np.concatenate([x, x[None]])

    with pytest.raises(ValueError) as expected:
        program(np.ones(3))
    with pytest.raises(ValueError, match=re.escape(str(expected.value))):
        jit(program)(np.ones(3))

"""NumPy's functions of complex numbers, on all pairs of special values, against NumPy itself."""

import numpy as np
import pytest
from phlox import jit

DTYPES = pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
BACKENDS = pytest.mark.parametrize("backend", ["cpu", "reference"])

UNARY = (
    "negative positive absolute conjugate square sign sqrt exp expm1 log log1p log2 log10 exp2 sin cos tan sinh cosh tanh "
    "arcsin arccos arctan arcsinh arccosh arctanh reciprocal isnan isinf isfinite rint logical_not angle real imag nan_to_num"
).split()
OPERATORS = {
    "1 / z": lambda z: 1 / z,
    "z / -1j": lambda z: z / -1j,
    "z / 3": lambda z: z / 3,
    "z / z": lambda z: z / z,
    "z ** 2": lambda z: z**2,
    "z ** 3": lambda z: z**3,
    "z ** -1": lambda z: z**-1,
    "z ** 0.5": lambda z: z**0.5,
    "z ** 7": lambda z: np.power(z, 7),
    "z ** -3": lambda z: np.power(z, -3),
    "mean": lambda z: np.mean(z.reshape(-1, 2), axis=1),
    "sort": np.sort,
    "argmax": np.argmax,
    "max": np.max,
    "min": np.min,
}
BINARY = (
    "add subtract multiply divide power float_power maximum minimum fmax fmin equal not_equal less less_equal greater "
    "greater_equal logical_and logical_or logical_xor"
).split()
# C99 leaves the sign of an infinity or zero open where the other part is NaN.
OPEN_SIGNS = {"sin", "cos", "sinh", "cosh"}
POWERS = {"power", "float_power"}
ACCURACY = {np.complex64: 1e-6, np.complex128: 1e-14}


def special_values(dtype):
    limits = np.finfo(dtype)
    parts = np.array([0.0, -0.0, 1, -1, 0.5, limits.tiny, limits.max, np.inf, -np.inf, np.nan], limits.dtype)
    return on_grid(dtype, parts, parts).ravel()


def on_grid(dtype, real, imag):
    z = np.empty((len(real), len(imag)), dtype)
    z.real, z.imag = real[:, None], imag
    return z


def parts_of(values):
    values = np.atleast_1d(values)
    return [values.real, values.imag] if values.dtype.kind == "c" else [values]


def agree(found, wanted, tolerance, with_signs=True):
    """Where two arrays of parts are the same: NaN, infinities and zeros with their signs, others within the tolerance."""
    with np.errstate(all="ignore"):
        near = (found == wanted) | (np.abs(found - wanted) <= tolerance)
    if with_signs:
        near &= np.signbit(found) == np.signbit(wanted)
    return np.where(np.isnan(wanted), np.isnan(found), near)


def check(name, dtype, found, wanted, operands, excused=False):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    if wanted.dtype.kind not in "fc":
        same = np.atleast_1d(found == wanted)
    else:
        pairs = list(zip(parts_of(found), parts_of(wanted)))
        modulus = np.maximum.reduce([np.where(np.isfinite(theirs), np.abs(theirs), 0) for _, theirs in pairs])
        tolerance = modulus * (ACCURACY[dtype] * (1000 if name in POWERS else 1))
        same = np.logical_and.reduce([agree(mine, theirs, tolerance) for mine, theirs in pairs])
        if name in OPEN_SIGNS:
            unsigned = [agree(np.abs(mine), np.abs(theirs), tolerance) for mine, theirs in pairs]
            same |= np.isnan(np.atleast_1d(wanted)) & np.logical_and.reduce(unsigned)
        if name in POWERS:  # what a part loses against the other may have had a sign
            unsigned = [agree(mine, theirs, tolerance, with_signs=False) for mine, theirs in pairs]
            small = [np.abs(theirs) <= tolerance for _, theirs in pairs]
            same |= (modulus > 0) & np.logical_or.reduce(small) & np.logical_and.reduce(unsigned)
    wrong = np.flatnonzero(~(same | excused))
    if len(wrong):
        k = wrong[0]
        given = [np.ravel(operand)[k] for operand in operands if np.size(operand) == np.size(wanted)]
        message = f"{len(wrong)} of {np.size(wanted)}: {name} of {given}: {np.ravel(found)[k]}, not {np.ravel(wanted)[k]}"
        pytest.fail(message)


def excused_where(name, dtype, *operands):
    """Where NumPy's own result is not one to be held to: it has lost all digits, or its steps overflow or underflow."""
    z, limits = operands[0], np.finfo(dtype)
    largest = np.maximum(np.abs(z.real), np.abs(z.imag))
    if name == "sign":  # the modulus overflows
        return np.isinf(np.abs(z)) & np.isfinite(z)
    if name == "log1p":
        return (largest == limits.tiny) | (largest == limits.max)
    if name == "expm1":
        return largest == limits.tiny
    if name in ("square", "z ** 2", "multiply"):
        # A difference of two products that overflow, or one of them is infinite, if NumPy rounds only one of them.
        w = operands[-1]
        return (np.abs(z.real * w.real) == np.inf) & (np.abs(z.imag * w.imag) == np.inf) | (
            (np.abs(z.real * w.imag) == np.inf) & (np.abs(z.imag * w.real) == np.inf)
        )
    if name in POWERS:
        w = operands[1]
        lost = (np.abs(w) * np.abs(np.log(z)) > 1e4) & (z != 0)
        near_limit = (largest == limits.max) & (np.abs(w.real) == 1) & (np.abs(w.imag) == limits.tiny)
        return (lost | near_limit) & np.isfinite(z) & np.isfinite(w)
    return False


@BACKENDS
@DTYPES
def test_functions_of_one_number(dtype, backend):
    z = special_values(dtype)
    functions = {name: getattr(np, name) for name in UNARY} | OPERATORS
    with np.errstate(all="ignore"):
        results = jit(lambda z: [function(z) for function in functions.values()], backend=backend)(z)
        for (name, function), found in zip(functions.items(), results, strict=True):
            wanted = function(z)
            if name == "sort":  # equal numbers in any order
                found, wanted = found + 0, wanted + 0
            if name in ("max", "min"):  # any NaN
                assert np.isnan(found) and np.isnan(wanted)
                continue
            check(name, dtype, found, wanted, [z], excused_where(name, dtype, z))


@BACKENDS
@DTYPES
def test_functions_of_two_numbers(dtype, backend):
    z = special_values(dtype)
    x, y = np.repeat(z, len(z)), np.tile(z, len(z))
    functions = [getattr(np, name) for name in BINARY]
    with np.errstate(all="ignore"):
        results = jit(lambda x, y: [function(x, y) for function in functions], backend=backend)(x, y)
        for name, function, found in zip(BINARY, functions, results, strict=True):
            check(name, dtype, found, function(x, y), [x, y], excused_where(name, dtype, x, y))


@DTYPES
def test_whole_exponents(dtype):
    """Those that NumPy multiplies out, and the first that it does not."""
    limits = np.finfo(dtype)
    whole = np.array([2, 3, -1, -2, 4, 5, -7, 31, 99, -99, 100, -100, 1, 0, -0.0], limits.dtype)
    z, w = special_values(dtype), on_grid(dtype, whole, np.array([0.0, -0.0], limits.dtype)).ravel()
    x, y = np.repeat(z, len(w)), np.tile(w, len(z))
    with np.errstate(all="ignore"):
        wanted = np.power(x, y)
        of_logarithm = (np.abs(y.real) == 100) & np.isfinite(x) & (~np.isfinite(wanted) | (wanted == 0))  # signs are lost
        check("power", dtype, jit(np.power)(x, y), wanted, [x, y], of_logarithm)


LENGTHS = [None, 1, 2, 3, 5, 8, 11, 16, 17, 31, 33, 40]
SEVERAL = ("divide", "power", "reciprocal", "log2", "expm1", "sign")


def check_length(dtype, length):
    """The functions on numbers that lie in vectors, in what is left of them, and alone."""
    z, shape = special_values(dtype), () if length is None else (length,)
    functions = [getattr(np, name) for name in SEVERAL]
    compiled = jit(lambda x, y: [f(x, y) if f.nin == 2 else f(x) for f in functions])
    random = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        for _ in range(4 if length is not None else 40):
            x, y = (np.array(random.choice(z, shape), dtype) for _ in range(2))
            for function, found in zip(functions, compiled(x, y), strict=True):
                operands = [x, y] if function.nin == 2 else [x]
                excused = excused_where(function.__name__, dtype, *map(np.atleast_1d, operands))
                check(function.__name__, dtype, found, function(*operands), operands, excused)


@DTYPES
@pytest.mark.parametrize("length", LENGTHS)
def test_lengths(dtype, length):
    check_length(dtype, length)


@pytest.mark.slow
@DTYPES
@pytest.mark.parametrize("length", [length for length in range(1, 41) if length not in LENGTHS])
def test_all_lengths(dtype, length):
    check_length(dtype, length)


@DTYPES
def test_small_cases(dtype):
    one = dtype(1)
    with np.errstate(all="ignore"):
        assert np.isnan(jit(np.reciprocal)(dtype(0)).real)
        result = jit(lambda z: z / dtype(-1j))(one)
        assert result == 1j and np.signbit(result.real)
        assert jit(np.log2)(dtype(0)) == complex(-np.inf, 0)
        assert jit(np.log10)(dtype(complex(1000, -0.0))) == pytest.approx(3)
        assert np.signbit(jit(np.log10)(dtype(complex(1000, -0.0))).imag)
        assert jit(np.power)(dtype(1j), dtype(complex(0, np.finfo(dtype).max))) == 0


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("size", [63, 64, 300])
def test_many_complex_numbers_whose_real_parts_do_or_do_not_decide(dtype, size):
    random = np.random.default_rng(size)
    positions, ordered = jit(lambda x: np.argsort(x, kind="stable")), jit(lambda x: np.sort(x))

    def check(x):
        np.testing.assert_array_equal(positions(x), np.argsort(x, kind="stable"))
        np.testing.assert_array_equal(ordered(x), np.sort(x))

    x = (random.permutation(size) + 1j * random.normal(size=size)).astype(dtype)
    for one in (x, x.conj(), np.floor(x.real / 3) + 1j * x.imag, x.real % 2 + 1j * np.floor(x.imag), np.sort(x), x * 0):
        check(one.astype(dtype))
    for special in (complex(np.nan, 1), complex(1, np.nan), complex(np.nan, np.nan), complex(x.real[5], -np.inf), -0.0 + 0j):
        for places in ([3], [3, size - 1]):
            y = x.copy()
            y[places] = special
            check(y)
            y[places[-1]] = complex(0, np.nan)
            check(y)

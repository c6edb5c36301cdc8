"""Inverse circular and hyperbolic functions, sinh and cosh: from NumPy's names and HLO's to native code, against mpmath."""

import mpmath
import numpy as np
import phlox
import pytest
from phlox import jit
from phlox.backends.registry import get_backend
from phlox.hlo import BF16, F16, F32, F64, Shape, ShapeError, evaluate_operation
from phlox.xla_builder import XlaBuilder

UFUNCS = {
    np.arccos: ("acos", mpmath.acos),
    np.arccosh: ("acosh", mpmath.acosh),
    np.arcsin: ("asin", mpmath.asin),
    np.arcsinh: ("asinh", mpmath.asinh),
    np.arctan: ("atan", mpmath.atan),
    np.arctanh: ("atanh", mpmath.atanh),
    np.cosh: ("cosh", mpmath.cosh),
    np.sinh: ("sinh", mpmath.sinh),
}
of_ufunc = pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)


def arguments(ufunc, dtype, count=60):
    """Numbers of several sizes in the domain."""
    random = np.random.default_rng(9)
    x = random.normal(size=count) * 10 ** random.uniform(-6, 0.5, count)
    if ufunc in (np.arccos, np.arcsin, np.arctanh):
        x = np.tanh(x)
    elif ufunc is np.arccosh:
        x = 1 + np.abs(x)
    if np.dtype(dtype).kind == "c":
        x = random.normal(size=count) * 10 ** random.uniform(-6, 0.5, count)
        x = x + 1j * random.normal(size=count) * 10 ** random.uniform(-6, 0.5, count)
    return x.astype(dtype)


@of_ufunc
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_ufuncs(ufunc, dtype):
    """The traced program has the one operation, whose result is within 2 ULP of the modulus, 4 for complex128."""
    opcode, exact = UFUNCS[ufunc]
    x = arguments(ufunc, dtype)
    traced = jit(lambda x: ufunc(x))
    instructions = traced.trace(x).module.entry.instructions if hasattr(traced.trace(x), "module") else ()
    assert not instructions or [i.opcode for i in instructions if i.opcode != "parameter"] == [opcode]
    result = traced(x)
    assert result.dtype == x.dtype
    limit = 4 if dtype == "complex128" else 2
    with mpmath.workprec(120):
        for argument, value in zip(x, result):
            z = mpmath.mpc(float(argument.real), float(argument.imag)) if x.dtype.kind == "c" else mpmath.mpf(float(argument))
            wanted = exact(z)
            unit = float(np.spacing(np.abs(value).astype(np.zeros(0, dtype).real.dtype)))
            mine = mpmath.mpc(float(value.real), float(value.imag))
            assert abs(mine - wanted) <= limit * 1.5 * unit, f"{opcode}({argument}) = {value}, exactly {wanted}"


# Arguments and results, from C99 F.10.1 to F.10.2 and their limits.
SPECIAL = {
    "acos": [(1, 0.0), (-1, np.pi), (0, np.pi / 2), (1.5, np.nan), (-2, np.nan), (np.nan, np.nan)],
    "asin": [(0.0, 0.0), (-0.0, -0.0), (1, np.pi / 2), (-1, -np.pi / 2), (1.5, np.nan), (np.nan, np.nan)],
    "atan": [(0.0, 0.0), (-0.0, -0.0), (np.inf, np.pi / 2), (-np.inf, -np.pi / 2), (1, np.pi / 4), (np.nan, np.nan)],
    "acosh": [(1, 0.0), (np.inf, np.inf), (0.5, np.nan), (-np.inf, np.nan), (np.nan, np.nan)],
    "asinh": [(0.0, 0.0), (-0.0, -0.0), (np.inf, np.inf), (-np.inf, -np.inf), (np.nan, np.nan)],
    "atanh": [(0.0, 0.0), (-0.0, -0.0), (1, np.inf), (-1, -np.inf), (1.5, np.nan), (np.nan, np.nan)],
    "cosh": [(0.0, 1), (-0.0, 1), (np.inf, np.inf), (-np.inf, np.inf), (np.nan, np.nan), (1e5, np.inf)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (np.inf, np.inf), (-np.inf, -np.inf), (np.nan, np.nan), (-1e5, -np.inf)],
}


@pytest.mark.parametrize("element_type", [BF16, F16, F32, F64], ids=str)
@pytest.mark.parametrize("opcode", SPECIAL)
def test_special_values(opcode, element_type):
    with np.errstate(over="ignore"):
        x, wanted = (np.array(column).astype(element_type.dtype) for column in zip(*SPECIAL[opcode]))
    b = XlaBuilder(opcode)
    module = b.build_module(b.emit(opcode, b.parameter(Shape(element_type, x.shape))))
    for result in (get_backend("cpu").compile(module)(x)[0], evaluate_operation(opcode, x)):
        assert result.dtype == element_type.dtype
        mine, expected = result.astype(np.float64), wanted.astype(np.float64)
        np.testing.assert_allclose(mine, expected, rtol=1e-7 if element_type is F32 else 1e-15, atol=0)
        number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(mine[number]), np.signbit(expected[number]))


@of_ufunc
def test_other_dtypes(ufunc):
    """Integers and booleans are computed in the float type that NumPy chooses."""
    for dtype in (np.bool_, np.int8, np.int16, np.int64, np.uint16):
        x = np.ones(3, dtype)
        with np.errstate(all="ignore"):
            expected = ufunc(x)
        result = jit(lambda x: ufunc(x))(x)
        assert result.dtype == expected.dtype
        tolerance = 2e-3 if x.itemsize == 1 else 2e-7
        np.testing.assert_allclose(result.astype(np.float64), expected.astype(np.float64), rtol=tolerance)


def test_names_of_the_array_api():
    x = arguments(np.arcsin, np.float64)
    for name, ufunc in (("asin", np.arcsin), ("acos", np.arccos), ("atanh", np.arctanh), ("asinh", np.arcsinh)):
        np.testing.assert_allclose(jit(lambda x, f=getattr(np, name): f(x))(x), ufunc(x), rtol=1e-15)
    assert not [name for name in phlox.numpy.gaps() if name.split(".")[-1] in ("arcsin", "arccos", "arctan", "sinh", "cosh")]


def test_methods_of_the_builder():
    b = XlaBuilder("f")
    x = b.parameter(Shape(F32, (4,)))
    for name in ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh"):
        assert getattr(b, name)(x).opcode == name.lower()


def test_aliases_of_the_preview():
    """SqrtF32, SquareF32 and ReciprocalF32, which take f32 only."""
    x = np.float32([4, 0.25, 2])
    b = XlaBuilder("f")
    p, scalar = b.parameter(Shape(F32, (3,))), b.parameter(Shape(F32))
    results = [b.SqrtF32(p), b.SquareF32(p), b.ReciprocalF32(p), b.ReciprocalF32(scalar)]
    module = b.build_module(b.Tuple(results))
    expected = (np.sqrt(x), x * x, 1 / x, np.float32(0.125))
    for wanted, result in zip(expected, get_backend("cpu").compile(module)(x, np.float32(8))):
        np.testing.assert_array_equal(result, wanted)
    for name in ("SqrtF32", "SquareF32", "ReciprocalF32"):
        with pytest.raises(ShapeError, match=f"{name}: an operand of element type f32 is required, got f64"):
            getattr(b, name)(b.parameter(Shape(F64, (3,))))

"""The largest errors that native code may have: for each operation and element type, in ULP of the exact result.

One ULP is the distance between the floats around the exact result, so that correct rounding errs by at most 0.5. Operations
without an entry have to give the reference's result, down to the sign of zeros. Errors of functions are taken from results in
a type with more digits (``precise``); sums, whose rounding depends on their order, are compared on numbers that add exactly,
or with the largest number of the result.
"""

import ml_dtypes
import numpy as np
from elementary_accuracy import LEAST_MAGNITUDES
from phlox.backends.llvm.elementary import ELEMENTARY_FUNCTIONS
from phlox.hlo import F64, component_type, evaluate_operation

# Where a type has no entry, the result must be the correctly rounded one. "narrow" are the floats of up to 16 bits, computed in
# f32 and rounded: the result is the nearest float but where the exact one is within 2**-10 of the middle of two.
_REAL = {"narrow": 0.501, "f32": 1.0, "f64": 2.0}
ULP = {name: dict(_REAL) for name in ELEMENTARY_FUNCTIONS if name not in ("remainder", "sqrt")}
ULP["cbrt"] |= {"f64": 0.501}
ULP["rsqrt"] |= {"f32": 0.501, "f64": 0.501}
# Of complex functions, in ULP of the modulus: the parts may lose all digits to cancellation. c64 is computed in parts of f64,
# where that is cheap. The error of power grows with |w log z|; the bound is for numbers of moderate size.
_COMPLEX = {"c64": 2.0, "c128": 4.0}
for _name in (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cosh", "cosine", "divide", "exponential",
    "exponential-minus-one", "log", "log-plus-one", "multiply", "rsqrt", "sign", "sine", "sinh", "sqrt",
):  # fmt: skip
    ULP.setdefault(_name, {}).update(_COMPLEX)
for _name, _largest in (("logistic", 6.0), ("tan", 6.0), ("tanh", 6.0), ("power", 60.0)):
    ULP[_name] |= {"c64": 2.0, "c128": _largest}
# Sums in another order than the reference's: exact on small integers and powers of two, on which they are compared.
EXACT_ON_TAME_VALUES = {"reduce", "dot", "ragged-dot", "convolution", "call", "while", "map", "fusion"}
# Every result depends on many elements: in ULP of the largest number in the result.
NORMWISE_ULP = {
    **dict.fromkeys(("batch-norm-training", "batch-norm-inference", "batch-norm-grad"), 16),
    **{"cholesky": 8, "triangular-solve": 8, "fft": 8},
}


def ulp_bound(opcode, element_type):
    """The largest error in ULP for operands of this type; 0 where the result has to be the correctly rounded one."""
    narrow = element_type.is_float and element_type.bits <= 16
    return ULP.get(opcode, {}).get("narrow" if narrow else element_type.name, 0)


def _with_wide_constant(function):
    return lambda x: function(x, x.dtype.type(1))


def _unit(z):
    return np.where(z == 0, z, z / np.where(z == 0, 1, np.abs(z)))


def _angle(y, x):
    if x.dtype.kind != "c":
        return np.arctan2(y, x)
    return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))


# On float64, complex128 and the long double types.
PRECISE = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan, "atan2": _angle,
    "atanh": np.arctanh, "cbrt": np.cbrt, "cosh": np.cosh, "cosine": np.cos, "exponential": np.exp,
    "exponential-minus-one": np.expm1, "log": np.log, "log-plus-one": np.log1p,
    "logistic": _with_wide_constant(lambda x, one: one / (one + np.exp(-x))), "power": np.power,
    "rsqrt": _with_wide_constant(lambda x, one: one / np.sqrt(x)), "sine": np.sin, "sinh": np.sinh, "tan": np.tan,
    "tanh": np.tanh, "sqrt": np.sqrt, "multiply": np.multiply, "divide": np.divide, "abs": np.abs, "sign": _unit,
}  # fmt: skip


def precise(opcode, operands):
    """The function with more digits than the operands' type; None where there is no type with more digits for it.

    Functions that NumPy has not are those of the reference in float64, which is compared with mpmath elsewhere.
    """
    dtype = operands[0].dtype
    if opcode not in PRECISE:
        if dtype == np.float64 or opcode not in ELEMENTARY_FUNCTIONS:
            return None
        return np.asarray(evaluate_operation(opcode, *(operand.astype(np.float64) for operand in operands)))
    if dtype in (np.float64, np.complex128):
        if np.finfo(np.longdouble).nmant < 63:
            return None
        wide = np.longdouble if dtype == np.float64 else np.clongdouble
    else:
        wide = np.complex128 if dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        return np.asarray(PRECISE[opcode](*(operand.astype(wide) for operand in operands)))


def errors_in_ulp(actual, exact, element_type, opcode):
    """How far finite results are from exact ones that are finite in the type, element by element; 0 elsewhere."""
    least = LEAST_MAGNITUDES.get(opcode, 0.0) if element_type is F64 else 0.0
    info = ml_dtypes.finfo(component_type(element_type).dtype)
    wide = exact.dtype
    with np.errstate(all="ignore"):
        modulus = np.abs(exact)
        inside = np.isfinite(exact) & (modulus <= float(info.max))
        exponent = np.frexp(np.where(inside & (modulus > 0), np.maximum(modulus, least), 1))[1]
        exponent = np.maximum(exponent, np.frexp(float(info.smallest_normal))[1])
        unit = np.ldexp(np.ones_like(modulus), exponent - int(info.nmant) - 1)
        return np.where(inside, np.abs(actual.astype(wide) - exact) / unit, 0)

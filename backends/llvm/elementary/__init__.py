"""Elementary functions as vector LLVM code: range reduction and polynomials, no calls into a math library.

Each function takes an `llvmlite.ir.IRBuilder` and operands that are float, double or a vector of them, and returns a value
of the same type: at most 1 ULP from the exact result in f32 and 2 ULP in f64, special values as IEEE 754 and C99 Annex F
say. Those that need a branch leave the builder in a new block.

>>> from llvmlite import ir
>>> vector = ir.VectorType(ir.FloatType(), 16)
>>> function = ir.Function(ir.Module(), ir.FunctionType(vector, [vector]), "f")
>>> builder = ir.IRBuilder(function.append_basic_block())
>>> str(ELEMENTARY_FUNCTIONS["tanh"](builder, function.args[0]).type)
'<16 x float>'
"""

from .error_function import erf
from .exponential import exponential, exponential_minus_one, logistic
from .hyperbolic import cosh, sinh, tanh
from .inverse_hyperbolic import acosh, asinh, atanh
from .inverse_trigonometric import acos, asin, atan, atan2
from .logarithm import log, log_plus_one
from .power import power
from .remainder import remainder
from .root import cbrt, rsqrt, sqrt
from .trigonometric import cosine, sine, tan

# Keyed by HLO opcode.
ELEMENTARY_FUNCTIONS = {
    "acos": acos,
    "acosh": acosh,
    "asin": asin,
    "asinh": asinh,
    "atan": atan,
    "atan2": atan2,
    "atanh": atanh,
    "cbrt": cbrt,
    "cosh": cosh,
    "cosine": cosine,
    "erf": erf,
    "exponential": exponential,
    "exponential-minus-one": exponential_minus_one,
    "log": log,
    "log-plus-one": log_plus_one,
    "logistic": logistic,
    "power": power,
    "remainder": remainder,
    "rsqrt": rsqrt,
    "sine": sine,
    "sinh": sinh,
    "sqrt": sqrt,
    "tan": tan,
    "tanh": tanh,
}

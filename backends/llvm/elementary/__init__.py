"""Elementary functions as vector LLVM code: range reduction and polynomials, no calls into a math library.

Each function takes an `llvmlite.ir.IRBuilder` and operands that are float, double or a vector of them, and returns a value
of the same type: at most 1 ULP from the exact result in f32 and 2 ULP in f64, special values as IEEE 754 and C99 Annex F
say. Those that need a branch leave the builder in a new block. `ELEMENTARY_FUNCTIONS` holds them by HLO opcode, which is their
name.

>>> from llvmlite import ir
>>> vector = ir.VectorType(ir.FloatType(), 16)
>>> function = ir.Function(ir.Module(), ir.FunctionType(vector, [vector]), "f")
>>> builder = ir.IRBuilder(function.append_basic_block())
>>> str(ELEMENTARY_FUNCTIONS["tanh"](builder, function.args[0]).type)
'<16 x float>'
"""

from . import (
    error_function,
    exponential,
    gamma,
    hyperbolic,
    inverse_error_function,
    inverse_hyperbolic,
    inverse_trigonometric,
    logarithm,
    power,
    remainder,
    root,
    trigonometric,
)
from .table import ELEMENTARY_FUNCTIONS, SHORT_FUNCTIONS

__all__ = [
    "ELEMENTARY_FUNCTIONS", "SHORT_FUNCTIONS", "error_function", "exponential", "gamma", "hyperbolic", "inverse_error_function",
    "inverse_hyperbolic", "inverse_trigonometric", "logarithm", "power", "remainder", "root", "trigonometric",
]  # fmt: skip

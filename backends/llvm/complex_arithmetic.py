"""Elementwise operations on complex numbers, one emitter an opcode.

``COMPLEX_EMITTERS[opcode](context, *operands)`` takes the operands as ComplexValue and returns a ComplexValue, or one register
where the operation's result is real. Special values are those of C99 Annex G where it has the function, else NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable

from . import elementary_calls
from .complex_algebra import divide, modulus, rsqrt, sign, sqrt
from .complex_angle import atan2
from .complex_exponential import exponential, exponential_minus_one, log, log_plus_one, logistic
from .complex_inverse import acos, acosh, asin, asinh, atan, atanh, cosh, sinh
from .complex_power import power
from .complex_trigonometric import cosine, sine, tan, tanh
from .types import ComplexValue

COMPLEX_EMITTERS: dict[str, Callable] = {}


def emitter(opcode: str) -> Callable:
    def register(function: Callable) -> Callable:
        COMPLEX_EMITTERS[opcode] = function
        return function

    return register


def _function(opcode: str, function: Callable) -> Callable:
    def emit(context, *operands):
        like = operands[0] if context.result_type.is_complex else operands[0].real
        return elementary_calls.apply(context.builder, f"complex.{opcode}", function, operands, like)

    return emit


for _opcode, _emit in {
    "abs": modulus,
    "sign": sign,
    "atan2": atan2,
    "divide": divide,
    "sqrt": sqrt,
    "rsqrt": rsqrt,
    "exponential": exponential,
    "exponential-minus-one": exponential_minus_one,
    "log": log,
    "log-plus-one": log_plus_one,
    "logistic": logistic,
    "power": power,
    "sine": sine,
    "cosine": cosine,
    "tan": tan,
    "tanh": tanh,
    "acos": acos,
    "acosh": acosh,
    "asin": asin,
    "asinh": asinh,
    "atan": atan,
    "atanh": atanh,
    "cosh": cosh,
    "sinh": sinh,
}.items():
    COMPLEX_EMITTERS[_opcode] = _function(_opcode, _emit)


@emitter("add")
def add(context, x, y):
    return ComplexValue(*(context.builder.fadd(a, b) for a, b in zip(x, y)))


@emitter("subtract")
def subtract(context, x, y):
    return ComplexValue(*(context.builder.fsub(a, b) for a, b in zip(x, y)))


@emitter("multiply")
def multiply(context, x, y):
    b = context.builder
    real = b.fsub(b.fmul(x.real, y.real), b.fmul(x.imag, y.imag))
    imag = b.fadd(b.fmul(x.real, y.imag), b.fmul(x.imag, y.real))
    return ComplexValue(real, imag)


@emitter("negate")
def negate(context, x):
    return ComplexValue(context.builder.fneg(x.real), context.builder.fneg(x.imag))


@emitter("real")
def real(context, x):
    return x.real


@emitter("imag")
def imag(context, x):
    return x.imag


@emitter("compare")
def compare(context, x, y):
    b = context.builder
    if context.attributes["direction"] == "EQ":
        return b.and_(b.fcmp_ordered("==", x.real, y.real), b.fcmp_ordered("==", x.imag, y.imag))
    return b.or_(b.fcmp_unordered("!=", x.real, y.real), b.fcmp_unordered("!=", x.imag, y.imag))

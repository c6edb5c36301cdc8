"""Elementwise operations on complex numbers, in terms of their parts."""

from __future__ import annotations

from collections.abc import Callable

from .types import ComplexValue

COMPLEX_EMITTERS: dict[str, Callable] = {}


def emitter(opcode: str) -> Callable:
    def register(function: Callable) -> Callable:
        COMPLEX_EMITTERS[opcode] = function
        return function

    return register


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



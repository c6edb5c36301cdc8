"""Numbers of distributions as NumPy's ``RandomState`` draws them, of uniform, normal and exponential numbers.

Source: ``numpy/random/src/legacy/legacy-distributions.c``, whose functions NumPy does not export. Every operation, and its
order, is as there; powers, logarithms and exponentials are those of the C library, which NumPy calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from llvmlite import ir

from ..llvm.types import DOUBLE, POINTER


class Numbers(Protocol):
    """What a distribution is made of; ``handle`` is that of the generator, in the function that is written."""

    b: ir.IRBuilder

    def uniform(self, handle: ir.Value) -> ir.Value: ...
    def normal(self, handle: ir.Value) -> ir.Value: ...
    def exponential(self, handle: ir.Value) -> ir.Value: ...
    def math(self, name: str, *values: ir.Value) -> ir.Value: ...
    def own_function(
        self, name: str, result: ir.Type, arguments: list[ir.Type], write: Callable[..., ir.Value]
    ) -> ir.Function: ...


def legacy_number(numbers: Numbers, name: str, handle: ir.Value, parameters: list[ir.Value]) -> ir.Value:
    """One number of the distribution ``legacy_<name>`` of `phlox.hlo.ops.random_calls`."""
    arguments = [POINTER, *[DOUBLE] * len(parameters)]
    function = numbers.own_function(f"random_legacy_{name}", DOUBLE, arguments, partial(_WRITERS[name], numbers))
    return numbers.b.call(function, [handle, *parameters])


@contextmanager
def _again(b: ir.IRBuilder) -> Iterator[None]:
    """A loop that the body of the with statement leaves by returning from the function."""
    head = b.append_basic_block("again")
    b.branch(head)
    b.position_at_end(head)
    yield
    b.branch(head)
    b.position_at_end(b.append_basic_block("never"))


def _return_if(b: ir.IRBuilder, condition: ir.Value, value: Callable[[], ir.Value]) -> None:
    with b.if_then(condition):
        b.ret(value())


def _standard_gamma(numbers: Numbers, handle: ir.Value, shape: ir.Value) -> ir.Value:
    b, one = numbers.b, DOUBLE(1)
    _return_if(b, b.fcmp_ordered("==", shape, one), lambda: numbers.exponential(handle))
    _return_if(b, b.fcmp_ordered("==", shape, DOUBLE(0)), lambda: DOUBLE(0))
    with b.if_then(b.fcmp_ordered("<", shape, one)):
        rest, power = b.fsub(one, shape), b.fdiv(one, shape)
        with _again(b):
            u = numbers.uniform(handle)
            v = numbers.exponential(handle)
            with b.if_else(b.fcmp_ordered("<=", u, rest)) as (small, large):
                with small:
                    x = numbers.math("pow", u, power)
                    _return_if(b, b.fcmp_ordered("<=", x, v), lambda: x)
                with large:
                    y = b.fneg(numbers.math("log", b.fdiv(b.fsub(one, u), shape)))
                    z = numbers.math("pow", b.fadd(rest, b.fmul(shape, y)), power)
                    _return_if(b, b.fcmp_ordered("<=", z, b.fadd(v, y)), lambda: z)
    scale = b.fsub(shape, DOUBLE(1.0 / 3.0))
    factor = b.fdiv(one, numbers.math("sqrt", b.fmul(DOUBLE(9), scale)))
    with _again(b):
        first, behind = b.append_basic_block("positive"), b.append_basic_block("found")
        b.branch(first)
        b.position_at_end(first)
        x = numbers.normal(handle)
        v = b.fadd(one, b.fmul(factor, x))
        b.cbranch(b.fcmp_ordered("<=", v, DOUBLE(0)), first, behind)
        b.position_at_end(behind)
        v = b.fmul(b.fmul(v, v), v)
        u, square = numbers.uniform(handle), b.fmul(x, x)
        limit = b.fsub(one, b.fmul(b.fmul(DOUBLE(0.0331), square), square))
        _return_if(b, b.fcmp_ordered("<", u, limit), lambda: b.fmul(scale, v))
        limit = b.fmul(scale, b.fadd(b.fsub(one, v), numbers.math("log", v)))
        limit = b.fadd(b.fmul(b.fmul(DOUBLE(0.5), x), x), limit)
        _return_if(b, b.fcmp_ordered("<", numbers.math("log", u), limit), lambda: b.fmul(scale, v))
    return DOUBLE(0)


def _gamma(numbers: Numbers, handle: ir.Value, shape: ir.Value, scale: ir.Value) -> ir.Value:
    return numbers.b.fmul(scale, legacy_number(numbers, "standard_gamma", handle, [shape]))


def _chisquare(numbers: Numbers, handle: ir.Value, df: ir.Value) -> ir.Value:
    half = numbers.b.fdiv(df, DOUBLE(2))
    return numbers.b.fmul(DOUBLE(2), legacy_number(numbers, "standard_gamma", handle, [half]))


def _standard_t(numbers: Numbers, handle: ir.Value, df: ir.Value) -> ir.Value:
    b, half = numbers.b, numbers.b.fdiv(df, DOUBLE(2))
    numerator = numbers.normal(handle)
    denominator = legacy_number(numbers, "standard_gamma", handle, [half])
    return b.fdiv(b.fmul(numbers.math("sqrt", half), numerator), numbers.math("sqrt", denominator))


def _pareto(numbers: Numbers, handle: ir.Value, a: ir.Value) -> ir.Value:
    b = numbers.b
    return b.fsub(numbers.math("exp", b.fdiv(numbers.exponential(handle), a)), DOUBLE(1))


def _weibull(numbers: Numbers, handle: ir.Value, a: ir.Value) -> ir.Value:
    b = numbers.b
    _return_if(b, b.fcmp_ordered("==", a, DOUBLE(0)), lambda: DOUBLE(0))
    return numbers.math("pow", numbers.exponential(handle), b.fdiv(DOUBLE(1), a))


def _power(numbers: Numbers, handle: ir.Value, a: ir.Value) -> ir.Value:
    b = numbers.b
    base = b.fsub(DOUBLE(1), numbers.math("exp", b.fneg(numbers.exponential(handle))))
    return numbers.math("pow", base, b.fdiv(DOUBLE(1), a))


def _lognormal(numbers: Numbers, handle: ir.Value, mean: ir.Value, sigma: ir.Value) -> ir.Value:
    b = numbers.b
    return numbers.math("exp", b.fadd(mean, b.fmul(sigma, numbers.normal(handle))))


def _beta(numbers: Numbers, handle: ir.Value, first: ir.Value, second: ir.Value) -> ir.Value:
    """By Johnk's method where both parameters are at most 1."""
    b, one = numbers.b, DOUBLE(1)
    with b.if_then(b.and_(b.fcmp_ordered("<=", first, one), b.fcmp_ordered("<=", second, one))), _again(b):
        u = numbers.uniform(handle)
        v = numbers.uniform(handle)
        x, y = numbers.math("pow", u, b.fdiv(one, first)), numbers.math("pow", v, b.fdiv(one, second))
        total = b.fadd(x, y)
        with b.if_then(b.fcmp_ordered("<=", total, one)):
            _return_if(b, b.fcmp_ordered(">", total, DOUBLE(0)), lambda: b.fdiv(x, total))
            x, y = b.fdiv(numbers.math("log", u), first), b.fdiv(numbers.math("log", v), second)
            larger = b.select(b.fcmp_ordered(">", x, y), x, y)
            x, y = b.fsub(x, larger), b.fsub(y, larger)
            total = b.fadd(numbers.math("exp", x), numbers.math("exp", y))
            b.ret(numbers.math("exp", b.fsub(x, numbers.math("log", total))))
            b.position_at_end(b.append_basic_block("never"))
    x, y = (legacy_number(numbers, "standard_gamma", handle, [one]) for one in (first, second))
    return b.fdiv(x, b.fadd(x, y))


_WRITERS: dict[str, Callable[..., ir.Value]] = {
    "standard_gamma": _standard_gamma, "gamma": _gamma, "chisquare": _chisquare, "standard_t": _standard_t, "pareto": _pareto,
    "weibull": _weibull, "power": _power, "lognormal": _lognormal, "beta": _beta,
}  # fmt: skip

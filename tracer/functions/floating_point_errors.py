"""``with np.errstate(divide="raise")`` in a traced function: the compiled call raises FloatingPointError, as NumPy does.

That holds for ufuncs and casts (`recording.cast_errors`) of real numbers, and sums and products, and for what is in force where
a function is called, which is guarded. "warn", "print", "log" and "call" are as "ignore".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

import numpy as np

from ... import hlo
from ..recording.trace import Trace
from .integer_overflow import (
    absolute_overflows,
    difference_overflows,
    is_least,
    negative_overflows,
    product_overflows,
    sum_overflows,
)
from .kernel_parts import is_nan, is_zero

Instruction = hlo.Instruction

# Where ufuncs have poles: the operand, and its absolute value there.
_POLES = {
    np.true_divide: (1, 0), np.floor_divide: (1, 0), np.remainder: (1, 0), np.fmod: (1, 0), np.divmod: (1, 0),
    np.reciprocal: (0, 0), np.log: (0, 0), np.log2: (0, 0), np.log10: (0, 0), np.power: (0, 0), np.float_power: (0, 0),
    np.log1p: (0, 1), np.arctanh: (0, 1),
}  # fmt: skip
# Those whose results are not exact where they are as small as can be. NumPy does not tell of others.
_UNDERFLOW = {
    np.multiply, np.true_divide, np.square, np.reciprocal, np.exp, np.exp2, np.power, np.float_power, np.ldexp, np.sinh, np.tan,
}  # fmt: skip
_OF_SCALARS = {
    np.add, np.subtract, np.multiply, np.true_divide, np.floor_divide, np.remainder, np.divmod, np.power,
}  # fmt: skip
_OF_INTEGERS = {np.floor_divide, np.remainder, np.divmod, np.fmod, np.reciprocal}
OVERFLOWS = {
    np.add: sum_overflows, np.subtract: difference_overflows, np.multiply: product_overflows,
    np.negative: negative_overflows, np.absolute: absolute_overflows,
}  # fmt: skip
_WORDS = {"divide": "divide by zero", "over": "overflow", "under": "underflow", "invalid": "invalid value"}


def flag_errors(
    trace: Trace,
    ufunc: np.ufunc,
    operands: Sequence[Instruction],
    results: Sequence[Instruction],
    where: Instruction | None,
    of_scalars: bool,
) -> None:
    """Flag what NumPy would raise of these operands and results, where the mask holds."""
    name = f"scalar {ufunc.__name__}" if of_scalars and ufunc in _OF_SCALARS else ufunc.__name__
    for kind, found in _found(ufunc, operands, results):
        if np.geterr()[kind] == "raise":
            found = found if where is None else hlo.and_(found, where)
            trace.add_error_flag(_any(found), FloatingPointError, f"{_WORDS[kind]} encountered in {name}")


def _found(
    ufunc: np.ufunc, operands: Sequence[Instruction], results: Sequence[Instruction]
) -> Iterator[tuple[str, Instruction]]:
    """Where each kind of error is, in the order in which NumPy looks."""
    number, value = _POLES.get(ufunc, (None, 0))
    at_pole = None if number is None else hlo.eq(hlo.abs(operands[number]), value) if value else is_zero(operands[number])
    if ufunc in _OF_INTEGERS and operands[0].shape.element_type.is_integer:
        yield "divide", at_pole
        if ufunc in (np.floor_divide, np.divmod) and operands[0].shape.element_type.kind == "signed":
            yield "over", hlo.and_(is_least(operands[0]), hlo.eq(operands[1], -1))
    floats = [operand for operand in operands if operand.shape.element_type.is_float]
    results = [result for result in results if result.shape.element_type.is_float]
    if not floats or not results:
        return
    infinite = _either(hlo.eq(hlo.abs(result), np.inf) for result in results)
    infinite = hlo.and_(_all(hlo.is_finite(operand) for operand in floats), infinite)
    if at_pole is not None:
        yield "divide", hlo.and_(infinite, at_pole)
        infinite = hlo.and_(infinite, hlo.not_(at_pole))
    yield "over", infinite
    if ufunc in _UNDERFLOW:
        least = float(np.finfo(results[0].shape.dtype).smallest_normal)
        small = hlo.lt(hlo.abs(results[0]), least)
        # None of the operands is 0, which gives a 0 that is exact, and none infinite.
        exact = _either(hlo.or_(is_zero(operand), hlo.not_(hlo.is_finite(operand))) for operand in floats)
        yield "under", hlo.and_(small, hlo.not_(exact))
    no_nan = hlo.not_(_either(is_nan(operand) for operand in floats))
    yield "invalid", hlo.and_(no_nan, _either(map(is_nan, results)))


def flag_overflow_of_scalars(trace: Trace, ufunc: np.ufunc, operands: Sequence[Instruction]) -> None:
    """NumPy's operators raise where an integer is no scalar of its type, but not for elements of arrays."""
    if np.geterr()["over"] == "raise":
        found = OVERFLOWS[ufunc](*operands)
        trace.add_error_flag(found, FloatingPointError, f"overflow encountered in scalar {ufunc.__name__}")


def flag_errors_of_reduction(
    trace: Trace, ufunc: np.ufunc, operand: Instruction, reduced: Instruction, axes: tuple[int, ...]
) -> None:
    """The same for a sum or a product along axes."""
    if ufunc not in (np.add, np.multiply) or not operand.shape.element_type.is_float:
        return
    finite, no_nan = (
        _reduced("and", test, axes, True) for test in (hlo.is_finite(operand), hlo.not_(is_nan(operand)))
    )  # fmt: skip
    for kind, all_are, found in (("over", finite, hlo.eq(hlo.abs(reduced), np.inf)), ("invalid", no_nan, is_nan(reduced))):
        if np.geterr()[kind] == "raise":
            found = _any(hlo.and_(all_are, found))
            trace.add_error_flag(found, FloatingPointError, f"{_WORDS[kind]} encountered in reduce")


def _any(found: Instruction) -> Instruction:
    return _reduced("or", found, tuple(range(found.shape.rank)), False)


def _reduced(operation: str, tests: Instruction, axes: tuple[int, ...], identity: bool) -> Instruction:
    if not axes:
        return tests
    computation = hlo.scalar_computation(operation, hlo.PRED)
    return hlo.reduce(tests, hlo.constant(identity, hlo.PRED), dimensions=axes, to_apply=computation)


def _all(tests: Iterable[Instruction]) -> Instruction:
    return reduce(hlo.and_, tests)


def _either(tests: Iterable[Instruction]) -> Instruction:
    return reduce(hlo.or_, tests)

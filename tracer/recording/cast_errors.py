"""What ``np.errstate`` says of casts: "invalid" of floats that are no integers of a type, overflow of narrower floats."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ... import hlo
from .trace import Trace

Instruction = hlo.Instruction

_WORDS = {"over": "overflow", "under": "underflow", "invalid": "invalid value"}


def handling(trace: Trace) -> tuple[str, ...]:
    """How errors are handled; empty where none is raised."""
    trace.program.may_err = True
    wanted = np.geterr()
    return tuple(wanted.values()) if "raise" in wanted.values() else ()


def flag_errors_of_cast(trace: Trace, operand: Instruction, converted: Instruction) -> Instruction:
    """What was converted; where NumPy would raise FloatingPointError for it, that is flagged.

    NumPy raises where the processor's conversion does: integers are invalid beyond the type by way of which it converts.
    """
    if _may_err(operand.shape.element_type, converted.shape.element_type) and handling(trace):
        for kind, found in _found(operand, converted):
            if np.geterr()[kind] == "raise":
                trace.add_error_flag(_any(found), FloatingPointError, f"{_WORDS[kind]} encountered in cast")
    return converted


def _may_err(source: hlo.ElementType, target: hlo.ElementType) -> bool:
    if target is hlo.PRED or source is hlo.PRED or source is target:
        return False
    if target.is_integer:
        return not source.is_integer
    return target is hlo.F16 if source.is_integer else _precision(target) < _precision(source)


def _precision(element_type: hlo.ElementType) -> int:
    return element_type.bits // 2 if element_type.is_complex else element_type.bits


def _found(operand: Instruction, converted: Instruction) -> Iterator[tuple[str, Instruction]]:
    """Where each kind of error is, in the order in which NumPy looks."""
    if converted.shape.element_type.is_complex:
        real = hlo.real(operand) if operand.shape.element_type.is_complex else operand
        yield from _found(real, hlo.real(converted))
        if operand.shape.element_type.is_complex:
            yield from _found(hlo.imag(operand), hlo.imag(converted))
        return
    if operand.shape.element_type.is_complex:
        operand = hlo.real(operand)
    target = converted.shape.element_type
    if target.is_integer:
        wide = 64 if target.bits == 64 or target is hlo.U32 else 32
        beyond = 2.0**64 if target is hlo.U64 else 2.0 ** (wide - 1)
        inside = hlo.and_(hlo.lt(operand, beyond), hlo.ge(operand, -(2.0 ** (wide - 1))))
        yield "invalid", hlo.not_(inside)
        return
    overflows = hlo.eq(hlo.abs(converted), np.inf)
    if operand.shape.element_type.is_float:
        overflows = hlo.and_(overflows, hlo.is_finite(operand))
    yield "over", overflows
    if operand.shape.element_type.is_float:
        small = hlo.lt(hlo.abs(converted), float(np.finfo(target.dtype).smallest_normal))
        inexact = hlo.ne(hlo.convert(converted, operand.shape.element_type), operand)
        yield "under", hlo.and_(small, inexact)


def _any(found: Instruction) -> Instruction:
    if not found.shape.rank:
        return found
    computation = hlo.scalar_computation("or", hlo.PRED)
    return hlo.reduce(found, hlo.constant(False, hlo.PRED), dimensions=tuple(range(found.shape.rank)), to_apply=computation)

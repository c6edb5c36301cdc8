"""Kernels of the ufuncs on bits and integers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ... import hlo
from ..recording.function_tables import kernel

Instruction = hlo.Instruction

kernel(np.bitwise_and)(lambda x, y: hlo.and_(x, y))
kernel(np.bitwise_or)(lambda x, y: hlo.or_(x, y))
kernel(np.bitwise_xor)(lambda x, y: hlo.xor(x, y))
kernel(np.invert)(lambda x: hlo.not_(x))
kernel(np.left_shift)(lambda x, y: hlo.shift_left(x, y))


@kernel(np.right_shift)
def _(x: Instruction, y: Instruction) -> Instruction:
    shift = hlo.shift_right_arithmetic if x.shape.element_type.kind == "signed" else hlo.shift_right_logical
    return shift(x, y)


@kernel(np.bitwise_count)
def _(x):
    magnitude = hlo.abs(x) if x.shape.element_type.kind == "signed" else x
    return hlo.convert(hlo.popcnt(magnitude), hlo.U8)


def _of_magnitudes(function: Callable[[Instruction, Instruction], Instruction]) -> Callable[..., Instruction]:
    """The function of the sizes of numbers: that of the most negative integer fits into the unsigned type alone."""

    def applied(x: Instruction, y: Instruction) -> Instruction:
        element_type = x.shape.element_type
        if element_type.kind != "signed":
            return function(x, y)
        unsigned = hlo.ELEMENT_TYPES[f"u{element_type.bits}"]
        return hlo.convert(function(*(hlo.convert(hlo.abs(one), unsigned) for one in (x, y))), element_type)

    return applied


@_of_magnitudes
def gcd(x: Instruction, y: Instruction) -> Instruction:
    """Euclid's algorithm on each pair of elements by itself."""
    if not x.shape.rank:
        return _gcd(x, y)
    return hlo.map(x, y, dimensions=tuple(range(x.shape.rank)), to_apply=_gcd_of_numbers(x.shape.element_type))


@cache
def _gcd_of_numbers(element_type: hlo.ElementType) -> hlo.Computation:
    return hlo.computation(f"gcd_{element_type.name}", [hlo.Shape(element_type)] * 2, _gcd)


def _gcd(x: Instruction, y: Instruction) -> Instruction:
    """The first remainder is that of the larger one: the other way round it would only exchange them."""
    state = hlo.TupleShape((y.shape, x.shape))

    def step(state: Instruction) -> Instruction:
        large, small = (hlo.get_tuple_element(state, index) for index in range(2))
        return hlo.tuple(small, hlo.remainder(large, small))

    where = hlo.current_builder().where
    condition = hlo.computation("gcd_unfinished", [state], lambda state: hlo.ne(hlo.get_tuple_element(state, 1), 0), where)
    loop = hlo.while_(
        hlo.tuple(hlo.maximum(x, y), hlo.minimum(x, y)),
        condition=condition,
        body=hlo.computation("gcd_step", [state], step, where),
    )
    return hlo.get_tuple_element(loop, 0)


kernel(np.gcd)(gcd)


@kernel(np.lcm)
@_of_magnitudes
def _(x, y):
    divisor = gcd(x, y)
    return hlo.multiply(hlo.divide(x, hlo.select(hlo.ne(divisor, 0), divisor, 1)), y)

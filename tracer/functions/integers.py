"""Kernels of the ufuncs on bits and integers."""

from __future__ import annotations

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


def gcd(x: Instruction, y: Instruction) -> Instruction:
    """Euclid's algorithm on each pair of elements by itself."""
    element_type = x.shape.element_type
    if element_type.kind == "signed":  # the size of the most negative integer fits into the unsigned type alone
        unsigned = hlo.ELEMENT_TYPES[f"u{element_type.bits}"]
        return hlo.convert(gcd(*(hlo.convert(hlo.abs(one), unsigned) for one in (x, y))), element_type)
    if not x.shape.rank:
        return _gcd(x, y)
    return hlo.map(x, y, dimensions=tuple(range(x.shape.rank)), to_apply=_gcd_of_numbers(element_type))


@cache
def _gcd_of_numbers(element_type: hlo.ElementType) -> hlo.Computation:
    return hlo.computation(f"gcd_{element_type.name}", [hlo.Shape(element_type)] * 2, _gcd)


def _gcd(x: Instruction, y: Instruction) -> Instruction:
    """The first remainder is that of y: in a reduction x is the divisor so far, which soon is the smaller one."""
    state = hlo.TupleShape((y.shape, x.shape))

    def step(state: Instruction) -> Instruction:
        large, small = (hlo.get_tuple_element(state, index) for index in range(2))
        return hlo.tuple(small, hlo.remainder(large, small))

    where = hlo.current_builder().where
    condition = hlo.computation("gcd_unfinished", [state], lambda state: hlo.ne(hlo.get_tuple_element(state, 1), 0), where)
    loop = hlo.while_(hlo.tuple(y, x), condition=condition, body=hlo.computation("gcd_step", [state], step, where))
    return hlo.get_tuple_element(loop, 0)


kernel(np.gcd)(gcd)


@kernel(np.lcm)
def _(x, y):
    divisor = gcd(x, y)
    product = hlo.multiply(hlo.divide(x, hlo.select(hlo.ne(divisor, 0), divisor, 1)), y)
    return hlo.abs(product) if x.shape.element_type.kind == "signed" else product

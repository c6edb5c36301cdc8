"""Kernels of the ufuncs on bits and integers."""

from __future__ import annotations

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
    """Euclid's algorithm on all elements at once: a While that runs until every remainder is zero."""
    element_type = x.shape.element_type
    if element_type.kind == "signed":  # the size of the most negative integer fits into the unsigned type alone
        unsigned = hlo.ELEMENT_TYPES[f"u{element_type.bits}"]
        return hlo.convert(gcd(*(hlo.convert(hlo.abs(one), unsigned) for one in (x, y))), element_type)
    large, small = hlo.maximum(x, y), hlo.minimum(x, y)
    state = hlo.TupleShape((large.shape.without_layout(), small.shape.without_layout()))

    def unfinished(state: Instruction) -> Instruction:
        rest = hlo.ne(hlo.get_tuple_element(state, 1), 0)
        if not rest.shape.rank:
            return rest
        every, any_of = tuple(range(rest.shape.rank)), hlo.scalar_computation("or", hlo.PRED)
        return hlo.reduce(rest, hlo.constant(False), dimensions=every, to_apply=any_of)

    def step(state: Instruction) -> Instruction:
        large, small = (hlo.get_tuple_element(state, index) for index in range(2))
        done = hlo.eq(small, 0)
        return hlo.tuple(hlo.select(done, large, small), hlo.select(done, small, hlo.remainder(large, small)))

    where = hlo.current_builder().where
    condition = hlo.computation("gcd_unfinished", [state], unfinished, where)
    loop = hlo.while_(hlo.tuple(large, small), condition=condition, body=hlo.computation("gcd_step", [state], step, where))
    return hlo.get_tuple_element(loop, 0)


kernel(np.gcd)(gcd)


@kernel(np.lcm)
def _(x, y):
    divisor = gcd(x, y)
    product = hlo.multiply(hlo.divide(x, hlo.select(hlo.ne(divisor, 0), divisor, 1)), y)
    return hlo.abs(product) if x.shape.element_type.kind == "signed" else product

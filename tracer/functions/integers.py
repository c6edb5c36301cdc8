"""Kernels of the ufuncs on bits and integers."""

from __future__ import annotations

import numpy as np

from ... import hlo
from ..recording.function_tables import kernel
from .emission import (
    absolute,
    and_,
    convert,
    divide,
    maximum,
    minimum,
    multiply,
    ne,
    not_,
    or_,
    popcnt,
    remainder,
    select,
    shift_left,
    shift_right_arithmetic,
    shift_right_logical,
    xor,
)  # fmt: skip

Instruction = hlo.Instruction
Builder = hlo.Builder

kernel(np.bitwise_and)(lambda b, x, y: and_(b, x, y))
kernel(np.bitwise_or)(lambda b, x, y: or_(b, x, y))
kernel(np.bitwise_xor)(lambda b, x, y: xor(b, x, y))
kernel(np.invert)(lambda b, x: not_(b, x))
kernel(np.left_shift)(lambda b, x, y: shift_left(b, x, y))


@kernel(np.right_shift)
def _(b: Builder, x: Instruction, y: Instruction) -> Instruction:
    shift = shift_right_arithmetic if x.shape.element_type.kind == "signed" else shift_right_logical
    return shift(b, x, y)


@kernel(np.bitwise_count)
def _(b, x):
    magnitude = absolute(b, x) if x.shape.element_type.kind == "signed" else x
    return convert(b, popcnt(b, magnitude), hlo.U8)


def gcd(b: Builder, x: Instruction, y: Instruction) -> Instruction:
    """Euclid's algorithm on all elements at once: a While that runs until every remainder is zero."""
    element_type = x.shape.element_type
    if element_type.kind == "signed":  # the size of the most negative integer fits into the unsigned type alone
        unsigned = hlo.ELEMENT_TYPES[f"u{element_type.bits}"]
        return convert(b, gcd(b, *(convert(b, absolute(b, one), unsigned) for one in (x, y))), element_type)
    large, small = maximum(b, x, y), minimum(b, x, y)
    state = hlo.TupleShape((large.shape.without_layout(), small.shape.without_layout()))

    condition = hlo.Builder("gcd_unfinished", b.where)
    rest = condition.get_tuple_element(condition.parameter(state), 1)
    unfinished = ne(condition, rest, 0)
    if rest.shape.rank:
        unfinished = condition.emit(
            "reduce", unfinished, condition.constant(False), dimensions=tuple(range(rest.shape.rank)),
            to_apply=hlo.scalar_computation("or", hlo.PRED),
        )  # fmt: skip

    body = hlo.Builder("gcd_step", b.where)
    parameter = body.parameter(state)
    a, c = body.get_tuple_element(parameter, 0), body.get_tuple_element(parameter, 1)
    done = body.emit(
        "compare", c, body.broadcast(body.constant(0, c.shape.element_type), c.shape.dimensions, ()), direction="EQ"
    )
    following = select(body, done, a, c), select(body, done, c, remainder(body, a, c))
    step = body.build(body.emit("tuple", *following))

    loop = b.emit("while", b.emit("tuple", large, small), condition=condition.build(unfinished), body=step)
    return b.get_tuple_element(loop, 0)


kernel(np.gcd)(gcd)


@kernel(np.lcm)
def _(b, x, y):
    divisor = gcd(b, x, y)
    product = multiply(b, divide(b, x, select(b, ne(b, divisor, 0), divisor, 1)), y)
    return absolute(b, product) if x.shape.element_type.kind == "signed" else product

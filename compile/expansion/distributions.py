"""Random numbers of a distribution, as arithmetic on random bits; the state is all that is asked of the environment.

Source of the semantics, and of the methods: see `phlox.hlo.ops.distributions`.
"""

from __future__ import annotations

import math

import numpy as np

from ... import hlo
from ...hlo import F32, F64, PRED, S64, U32, U64, ElementType, Instruction, Shape, TupleShape
from ...hlo.ops.distributions import Draw, draw_of, precision_of
from .table import expansion


@expansion("rng")
def expand_rng(rng: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """rng(a, b) -> a + (b - a) * fractions of the bits of rng-bit-generator(rng-get-and-update-state())"""
    shape, distribution = rng.shape, rng.attributes["distribution"]
    draw = draw_of(distribution, shape)
    words = _words(draw)
    if shape.element_type is PRED:
        return hlo.broadcast(operands[0], shape.dimensions, ())
    if distribution == "rng_normal":
        values = _normal(words, shape, *operands)
    else:
        uniform = _uniform_floats if shape.element_type.is_float else _uniform_integers
        values = uniform(words, shape.element_type, *operands)
    return hlo.reshape(values, shape.dimensions)


def _words(draw: Draw) -> Instruction:
    counter = hlo.rng_get_and_update_state(delta=draw.blocks)
    state = hlo.reverse(counter, dimensions=(0,))  # the high half is the key, the low half the counter
    shape = TupleShape((state.shape, Shape(draw.element_type, (draw.words,))))
    pair = hlo.rng_bit_generator(state, shape=shape, algorithm="rng_philox")
    return hlo.get_tuple_element(pair, 1)


def _part(words: Instruction, half: int) -> Instruction:
    count = words.shape.dimensions[0] // 2
    return hlo.slice(words, [half * count], [(half + 1) * count])


def _splat(value: float | Instruction, like: Instruction) -> Instruction:
    if not isinstance(value, Instruction):
        value = hlo.constant(like.shape.dtype.type(value))
    return hlo.broadcast(value, like.shape.dimensions, ())


def _fractions(words: Instruction, bits: int, element_type: ElementType) -> Instruction:
    """The highest bits of the words, as multiples of 2**-bits below 1."""
    high = hlo.shift_right_logical(words, _splat(words.shape.element_type.bits - bits, words))
    numbers = hlo.convert(high, element_type)
    return hlo.multiply(numbers, _splat(2.0**-bits, numbers))


def _normal(words: Instruction, shape: Shape, mean: Instruction, deviation: Instruction) -> Instruction:
    wide = F64 if shape.element_type is F64 else F32
    first, width = hlo.convert(_part(words, 0), wide), words.shape.element_type.bits
    first = hlo.add(hlo.multiply(first, _splat(2.0**-width, first)), _splat(0.5**width / 2, first))
    radius = hlo.sqrt(hlo.multiply(_splat(-2, first), hlo.log(first)))
    angle = _fractions(_part(words, 1), 53 if wide is F64 else 24, wide)
    angle = hlo.multiply(angle, _splat(2 * math.pi, angle))
    values = hlo.concatenate(hlo.multiply(radius, hlo.cosine(angle)), hlo.multiply(radius, hlo.sine(angle)), dimensions=(0,))
    values = hlo.slice(values, [0], [shape.size])
    scaled = hlo.multiply(_splat(hlo.convert(deviation, wide), values), values)
    return hlo.convert(hlo.add(_splat(hlo.convert(mean, wide), values), scaled), shape.element_type)


def _uniform_floats(words: Instruction, element_type: ElementType, low: Instruction, high: Instruction) -> Instruction:
    wide = F64 if element_type is F64 else F32
    start, end = hlo.convert(low, wide), hlo.convert(high, wide)
    fractions = _fractions(words, precision_of(element_type), wide)
    scaled = hlo.multiply(_splat(hlo.subtract(end, start), fractions), fractions)
    rounded = hlo.convert(hlo.add(_splat(start, fractions), scaled), element_type)
    below = hlo.lt(hlo.convert(rounded, wide), _splat(end, fractions))
    return hlo.select(below, rounded, _splat(low, rounded))


def _high_half(words: Instruction, size: Instruction) -> Instruction:
    """The high 64 bits of the product of words of 64 bits and a size of 32, by products that vector units have."""
    size = _splat(hlo.convert(hlo.convert(size, U32), U64), words)
    half = _splat(32, words)
    high, low = hlo.shift_right_logical(words, half), hlo.and_(words, _splat(2**32 - 1, words))
    carry = hlo.shift_right_logical(hlo.multiply(low, size), half)
    return hlo.shift_right_logical(hlo.add(hlo.multiply(high, size), carry), half)


def _uniform_integers(words: Instruction, element_type: ElementType, low: Instruction, high: Instruction) -> Instruction:
    start, end = hlo.convert(low, U64), hlo.convert(high, U64)
    is_empty = hlo.le(hlo.convert(high, S64), hlo.convert(low, S64)) if element_type.kind == "signed" else hlo.le(end, start)
    size = hlo.select(is_empty, hlo.constant(np.uint64(0)), hlo.subtract(end, start))
    if element_type.bits < 64:
        offset = _high_half(words, size)
        return hlo.convert(hlo.add(_splat(start, offset), offset), element_type)
    first, second = _part(words, 0), _part(words, 1)
    sizes = _splat(size, first)
    rest = hlo.multiply(first, sizes)
    carry = hlo.convert(hlo.lt(hlo.add(rest, hlo.mulhi(second, sizes)), rest), U64)
    offset = hlo.add(hlo.mulhi(first, sizes), carry)
    return hlo.convert(hlo.add(_splat(start, offset), offset), element_type)

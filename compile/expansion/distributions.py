"""Random numbers of a distribution, as arithmetic on random bits; the state is all that is asked of the environment.

Source of the semantics, and of the methods: see `phlox.hlo.ops.distributions`.
"""

from __future__ import annotations

import math

import numpy as np

from ...hlo import F32, F64, PRED, S64, U32, U64, Builder, ElementType, Instruction, Shape
from ...hlo.ops.distributions import Draw, draw_of, precision_of
from .table import expansion


@expansion("rng")
def expand_rng(b: Builder, rng: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """rng(a, b) -> a + (b - a) * fractions of the bits of rng-bit-generator(rng-get-and-update-state())"""
    shape, distribution = rng.shape, rng.attributes["distribution"]
    draw = draw_of(distribution, shape)
    words = _words(b, draw)
    if shape.element_type is PRED:
        return b.broadcast(operands[0], shape.dimensions, ())
    if distribution == "rng_normal":
        values = _normal(b, words, shape, *operands)
    else:
        uniform = _uniform_floats if shape.element_type.is_float else _uniform_integers
        values = uniform(b, words, shape.element_type, *operands)
    return b.reshape(values, shape.dimensions)


def _words(b: Builder, draw: Draw) -> Instruction:
    counter = b.RngGetAndUpdateState(delta=draw.blocks)
    state = b.Rev(counter, dimensions=(0,))  # the high half is the key, the low half the counter
    pair = b.RngBitGenerator("RNG_PHILOX", state, Shape(draw.element_type, (draw.words,)))
    return b.get_tuple_element(pair, 1)


def _part(b: Builder, words: Instruction, half: int) -> Instruction:
    count = words.shape.dimensions[0] // 2
    return b.Slice(words, [half * count], [(half + 1) * count])


def _splat(b: Builder, value: float | Instruction, like: Instruction) -> Instruction:
    if not isinstance(value, Instruction):
        value = b.constant(like.shape.dtype.type(value))
    return b.broadcast(value, like.shape.dimensions, ())


def _fractions(b: Builder, words: Instruction, bits: int, element_type: ElementType) -> Instruction:
    """The highest bits of the words, as multiples of 2**-bits below 1."""
    high = b.ShiftRightLogical(words, _splat(b, words.shape.element_type.bits - bits, words))
    numbers = b.convert(high, element_type)
    return b.Mul(numbers, _splat(b, 2.0**-bits, numbers))


def _normal(b: Builder, words: Instruction, shape: Shape, mean: Instruction, deviation: Instruction) -> Instruction:
    wide = F64 if shape.element_type is F64 else F32
    first, width = b.convert(_part(b, words, 0), wide), words.shape.element_type.bits
    first = b.Add(b.Mul(first, _splat(b, 2.0**-width, first)), _splat(b, 0.5**width / 2, first))
    radius = b.Sqrt(b.Mul(_splat(b, -2, first), b.Log(first)))
    angle = _fractions(b, _part(b, words, 1), 53 if wide is F64 else 24, wide)
    angle = b.Mul(angle, _splat(b, 2 * math.pi, angle))
    values = b.ConcatInDim([b.Mul(radius, b.Cos(angle)), b.Mul(radius, b.Sin(angle))], 0)
    values = b.Slice(values, [0], [shape.size])
    scaled = b.Mul(_splat(b, b.convert(deviation, wide), values), values)
    return b.convert(b.Add(_splat(b, b.convert(mean, wide), values), scaled), shape.element_type)


def _uniform_floats(
    b: Builder, words: Instruction, element_type: ElementType, low: Instruction, high: Instruction
) -> Instruction:
    wide = F64 if element_type is F64 else F32
    start, end = b.convert(low, wide), b.convert(high, wide)
    fractions = _fractions(b, words, precision_of(element_type), wide)
    scaled = b.Mul(_splat(b, b.Sub(end, start), fractions), fractions)
    rounded = b.convert(b.Add(_splat(b, start, fractions), scaled), element_type)
    below = b.Lt(b.convert(rounded, wide), _splat(b, end, fractions))
    return b.emit("select", below, rounded, _splat(b, low, rounded))


def _high_half(b: Builder, words: Instruction, size: Instruction) -> Instruction:
    """The high 64 bits of the product of words of 64 bits and a size of 32, by products that vector units have."""
    size = _splat(b, b.convert(b.convert(size, U32), U64), words)
    half = _splat(b, 32, words)
    high, low = b.ShiftRightLogical(words, half), b.And(words, _splat(b, 2**32 - 1, words))
    carry = b.ShiftRightLogical(b.Mul(low, size), half)
    return b.ShiftRightLogical(b.Add(b.Mul(high, size), carry), half)


def _uniform_integers(
    b: Builder, words: Instruction, element_type: ElementType, low: Instruction, high: Instruction
) -> Instruction:
    start, end = b.convert(low, U64), b.convert(high, U64)
    is_empty = b.Le(b.convert(high, S64), b.convert(low, S64)) if element_type.kind == "signed" else b.Le(end, start)
    size = b.emit("select", is_empty, b.constant(np.uint64(0)), b.Sub(end, start))
    if element_type.bits < 64:
        offset = _high_half(b, words, size)
        return b.convert(b.Add(_splat(b, start, offset), offset), element_type)
    first, second = _part(b, words, 0), _part(b, words, 1)
    sizes = _splat(b, size, first)
    rest = b.Mul(first, sizes)
    carry = b.convert(b.Lt(b.Add(rest, b.MulHi(second, sizes)), rest), U64)
    offset = b.Add(b.MulHi(first, sizes), carry)
    return b.convert(b.Add(_splat(b, start, offset), offset), element_type)

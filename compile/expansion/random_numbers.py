"""Random bits by ThreeFry2x32 and Philox4x32, as elementwise arithmetic on counters.

Source of the algorithms and constants: see `phlox.hlo.ops.random_numbers`.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ...hlo import U32, U64, Builder, ElementType, Instruction, Shape
from ...hlo.element_type import ELEMENT_TYPES
from ...hlo.ops.random_numbers import (
    PHILOX_MULTIPLIERS,
    PHILOX_WEYL,
    THREEFRY_PARITY,
    THREEFRY_ROTATIONS,
    halves_of,
    require_known_state,
    split_dimension,
)
from .table import expansion


@expansion("rng-bit-generator")
def expand_random_bits(b: Builder, generator: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """rng-bit-generator(state) -> (state with the counter moved on, bits made of iota + counter and the key)"""
    (state,) = operands
    require_known_state(generator.attributes["algorithm"], state.shape)
    bits = generator.shape.elements[1]
    elements = [b.reshape(b.Slice(state, [i], [i + 1]), ()) for i in range(state.shape.dimensions[0])]
    expand = _threefry if generator.attributes["algorithm"] == "rng_three_fry" else _philox
    after, words = expand(b, elements, bits)
    after = b.ConcatInDim([b.reshape(element, (1,)) for element in after], 0)
    return b.emit("tuple", after, _as_type(b, words, bits.element_type))


def _as_type(b: Builder, words: Instruction, element_type: ElementType) -> Instruction:
    """The low bits of the words in this type."""
    unsigned = b.convert(words, ELEMENT_TYPES[f"u{element_type.bits}"])
    if element_type.kind == "unsigned":
        return unsigned
    return b.emit("bitcast-convert", unsigned, shape=unsigned.shape.with_element_type(element_type))


def _splat(b: Builder, value: int | Instruction, like: Instruction) -> Instruction:
    if not isinstance(value, Instruction):
        value = b.constant(like.shape.dtype.type(value))
    return b.Broadcast(value, like.shape.dimensions) if like.shape.rank else value


def _numbers(b: Builder, dimensions: tuple[int, ...]) -> Instruction:
    """0, 1, ... in row-major order."""
    count = b.emit("iota", shape=Shape(U64, (prod(dimensions),)), iota_dimension=0)
    return b.reshape(count, dimensions)


def _halves(b: Builder, x: Instruction) -> tuple[Instruction, Instruction]:
    """The low and the high 32 bits."""
    return b.convert(x, U32), b.convert(b.emit("shift-right-logical", x, _splat(b, 32, x)), U32)


def _joined(b: Builder, low: Instruction, high: Instruction) -> Instruction:
    high = b.convert(high, U64)
    return b.Or(b.convert(low, U64), b.ShiftLeft(high, _splat(b, 32, high)))


def _threefry(b: Builder, state: list[Instruction], bits: Shape) -> tuple[list[Instruction], Instruction]:
    key, start = state
    wide = bits.element_type.bits == 64
    dimensions = bits.dimensions if wide else halves_of(bits.dimensions) if bits.rank else ()
    numbers = _numbers(b, dimensions)
    words = _threefry_words(b, _halves(b, key), _halves(b, b.Add(numbers, _splat(b, start, numbers))))
    after = [key, b.Add(start, b.constant(np.uint64(prod(dimensions))))]
    if wide:
        return after, _joined(b, *words)
    if not bits.rank:
        return after, words[0]
    along = split_dimension(bits.dimensions)
    single = (*dimensions[: along + 1], 1, *dimensions[along + 1 :])
    pairs = b.ConcatInDim([b.reshape(word, single) for word in words], along + 1)
    whole = b.reshape(pairs, (*dimensions[:along], 2 * dimensions[along], *dimensions[along + 1 :]))
    return after, b.Slice(whole, [0] * bits.rank, bits.dimensions)


def _threefry_words(
    b: Builder, key: tuple[Instruction, Instruction], counter: tuple[Instruction, Instruction]
) -> tuple[Instruction, Instruction]:
    keys = (*key, b.Xor(b.Xor(*key), b.constant(np.uint32(THREEFRY_PARITY))))
    x, y = (b.Add(word, _splat(b, part, word)) for word, part in zip(counter, keys))
    for group in range(5):
        for rotation in THREEFRY_ROTATIONS[group % 2]:
            x = b.Add(x, y)
            left = b.ShiftLeft(y, _splat(b, rotation, y))
            y = b.Xor(b.Or(left, b.ShiftRightLogical(y, _splat(b, 32 - rotation, y))), x)
        x = b.Add(x, _splat(b, keys[(group + 1) % 3], x))
        following = b.Add(keys[(group + 2) % 3], b.constant(np.uint32(group + 1)))
        y = b.Add(y, _splat(b, following, y))
    return x, y


def _philox(b: Builder, state: list[Instruction], bits: Shape) -> tuple[list[Instruction], Instruction]:
    key, start = state[:2]
    wide = bits.element_type.bits == 64
    count = -(-bits.size * (2 if wide else 1) // 4)
    numbers = _numbers(b, (count,))
    first = _splat(b, start, numbers)
    low = b.Add(numbers, first)
    high = _splat(b, state[2] if len(state) == 3 else key, numbers)
    high = b.Add(high, b.convert(b.Lt(low, first), U64))
    words = _philox_words(b, _halves(b, key), (*_halves(b, low), *_halves(b, high)))
    after = [key, b.Add(start, b.constant(np.uint64(count)))]
    if len(state) == 3:
        after.append(b.Add(state[2], b.convert(b.Lt(after[1], start), U64)))
    columns = [_joined(b, words[0], words[1]), _joined(b, words[2], words[3])] if wide else list(words)
    table = b.ConcatInDim([b.reshape(column, (count, 1)) for column in columns], 1)
    flat = b.reshape(table, (count * len(columns),))
    return after, b.reshape(b.Slice(flat, [0], [bits.size]), bits.dimensions)


def _philox_words(
    b: Builder, key: tuple[Instruction, Instruction], counter: tuple[Instruction, ...]
) -> tuple[Instruction, ...]:
    keys, (w, x, y, z) = list(key), counter
    for _ in range(10):
        (w_factor, y_factor) = (_splat(b, factor, w) for factor in PHILOX_MULTIPLIERS)
        high_w, low_w = b.MulHi(w, w_factor), b.Mul(w, w_factor)
        high_y, low_y = b.MulHi(y, y_factor), b.Mul(y, y_factor)
        w, x = b.Xor(b.Xor(high_y, x), _splat(b, keys[0], w)), low_y
        y, z = b.Xor(b.Xor(high_w, z), _splat(b, keys[1], w)), low_w
        keys = [b.Add(part, b.constant(np.uint32(weyl))) for part, weyl in zip(keys, PHILOX_WEYL)]
    return w, x, y, z

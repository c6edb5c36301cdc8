"""Random bits by ThreeFry2x32 and Philox4x32, as elementwise arithmetic on counters.

Source of the algorithms and constants: see `phlox.hlo.ops.random_numbers`.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ... import hlo
from ...hlo import U32, U64, ElementType, Instruction, Shape
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
def expand_random_bits(generator: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """rng-bit-generator(state) -> (state with the counter moved on, bits made of iota + counter and the key)"""
    (state,) = operands
    require_known_state(generator.attributes["algorithm"], state.shape)
    bits = generator.shape.elements[1]
    elements = [hlo.reshape(hlo.slice(state, [i], [i + 1]), ()) for i in range(state.shape.dimensions[0])]
    expand = _threefry if generator.attributes["algorithm"] == "rng_three_fry" else _philox
    after, words = expand(elements, bits)
    after = hlo.concatenate(*[hlo.reshape(element, (1,)) for element in after], dimensions=(0,))
    return hlo.tuple(after, _as_type(words, bits.element_type))


def _as_type(words: Instruction, element_type: ElementType) -> Instruction:
    """The low bits of the words in this type."""
    unsigned = hlo.convert(words, ELEMENT_TYPES[f"u{element_type.bits}"])
    if element_type.kind == "unsigned":
        return unsigned
    return hlo.bitcast_convert(unsigned, element_type)


def _splat(value: int | Instruction, like: Instruction) -> Instruction:
    if not isinstance(value, Instruction):
        value = hlo.constant(like.shape.dtype.type(value))
    return hlo.full_like(like, value)


def _numbers(dimensions: tuple[int, ...]) -> Instruction:
    """0, 1, ... in row-major order."""
    count = hlo.iota(Shape(U64, (prod(dimensions),)), 0)
    return hlo.reshape(count, dimensions)


def _halves(x: Instruction) -> tuple[Instruction, Instruction]:
    """The low and the high 32 bits."""
    return hlo.convert(x, U32), hlo.convert(hlo.shift_right_logical(x, _splat(32, x)), U32)


def _joined(low: Instruction, high: Instruction) -> Instruction:
    high = hlo.convert(high, U64)
    return hlo.or_(hlo.convert(low, U64), hlo.shift_left(high, _splat(32, high)))


def _threefry(state: list[Instruction], bits: Shape) -> tuple[list[Instruction], Instruction]:
    key, start = state
    wide = bits.element_type.bits == 64
    dimensions = bits.dimensions if wide else halves_of(bits.dimensions) if bits.rank else ()
    numbers = _numbers(dimensions)
    words = _threefry_words(_halves(key), _halves(hlo.add(numbers, _splat(start, numbers))))
    after = [key, hlo.add(start, hlo.constant(np.uint64(prod(dimensions))))]
    if wide:
        return after, _joined(*words)
    if not bits.rank:
        return after, words[0]
    along = split_dimension(bits.dimensions)
    single = (*dimensions[: along + 1], 1, *dimensions[along + 1 :])
    pairs = hlo.concatenate(*[hlo.reshape(word, single) for word in words], dimensions=(along + 1,))
    whole = hlo.reshape(pairs, (*dimensions[:along], 2 * dimensions[along], *dimensions[along + 1 :]))
    return after, hlo.slice(whole, [0] * bits.rank, bits.dimensions)


def _threefry_words(
    key: tuple[Instruction, Instruction], counter: tuple[Instruction, Instruction]
) -> tuple[Instruction, Instruction]:
    keys = (*key, hlo.xor(hlo.xor(*key), hlo.constant(np.uint32(THREEFRY_PARITY))))
    x, y = (hlo.add(word, _splat(part, word)) for word, part in zip(counter, keys))
    for group in range(5):
        for rotation in THREEFRY_ROTATIONS[group % 2]:
            x = hlo.add(x, y)
            left = hlo.shift_left(y, _splat(rotation, y))
            y = hlo.xor(hlo.or_(left, hlo.shift_right_logical(y, _splat(32 - rotation, y))), x)
        x = hlo.add(x, _splat(keys[(group + 1) % 3], x))
        following = hlo.add(keys[(group + 2) % 3], hlo.constant(np.uint32(group + 1)))
        y = hlo.add(y, _splat(following, y))
    return x, y


def _philox(state: list[Instruction], bits: Shape) -> tuple[list[Instruction], Instruction]:
    key, start = state[:2]
    wide = bits.element_type.bits == 64
    count = -(-bits.size * (2 if wide else 1) // 4)
    numbers = _numbers((count,))
    first = _splat(start, numbers)
    low = hlo.add(numbers, first)
    high = _splat(state[2] if len(state) == 3 else key, numbers)
    high = hlo.add(high, hlo.convert(hlo.lt(low, first), U64))
    words = _philox_words(_halves(key), (*_halves(low), *_halves(high)))
    after = [key, hlo.add(start, hlo.constant(np.uint64(count)))]
    if len(state) == 3:
        after.append(hlo.add(state[2], hlo.convert(hlo.lt(after[1], start), U64)))
    columns = [_joined(words[0], words[1]), _joined(words[2], words[3])] if wide else list(words)
    table = hlo.concatenate(*[hlo.reshape(column, (count, 1)) for column in columns], dimensions=(1,))
    flat = hlo.reshape(table, (count * len(columns),))
    return after, hlo.reshape(hlo.slice(flat, [0], [bits.size]), bits.dimensions)


def _philox_words(key: tuple[Instruction, Instruction], counter: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
    keys, (w, x, y, z) = list(key), counter
    for _ in range(10):
        (w_factor, y_factor) = (_splat(factor, w) for factor in PHILOX_MULTIPLIERS)
        high_w, low_w = hlo.mulhi(w, w_factor), hlo.multiply(w, w_factor)
        high_y, low_y = hlo.mulhi(y, y_factor), hlo.multiply(y, y_factor)
        w, x = hlo.xor(hlo.xor(high_y, x), _splat(keys[0], w)), low_y
        y, z = hlo.xor(hlo.xor(high_w, z), _splat(keys[1], w)), low_w
        keys = [hlo.add(part, hlo.constant(np.uint32(weyl))) for part, weyl in zip(keys, PHILOX_WEYL)]
    return w, x, y, z

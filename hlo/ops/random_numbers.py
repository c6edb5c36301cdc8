"""Random bits as a function of a state, and conversions that round by random bits.

Source of the semantics: "RngBitGenerator" in XLA's Operation Semantics, and the order of the bits in XLA's
``xla/hlo/builder/lib/prng.cc``. Source of the algorithms: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as
easy as 1, 2, 3", 2011.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ..attributes import Choice
from ..element_type import BF16, F16, F32, F64, S8, S16, S32, S64, U8, U16, U32, U64
from ..errors import require
from ..operation import ELEMENTWISE, InvalidSample, Sample, operation
from ..shape import Shape, TupleShape, merged_dynamic_dimensions
from . import numerics
from .constraints import require_kind

THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
THREEFRY_PARITY = 0x1BD11BDA
PHILOX_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
PHILOX_WEYL = (0x9E3779B9, 0xBB67AE85)


@operation(
    "rng-bit-generator", "initial_state", builder="RngBitGenerator",
    algorithm=Choice("rng_default", "rng_three_fry", "rng_philox"),
)  # fmt: skip
def rng_bit_generator(initial_state, *, algorithm, stated):
    """RngBitGenerator(algorithm, initial_state, shape): the state after, and uniformly distributed bits of this shape.

    A state is a key and a counter. ThreeFry2x32 takes u64[2]; Philox4x32, which is also the default, u64[3], whose last two
    elements are the counter, or u64[2], where the key stands for the upper half of the counter. The bits depend on the state
    alone. States of other shapes, which other devices have, are kept, but not run.
    """
    require_kind("rng-bit-generator", "initial_state", initial_state, ("signed", "unsigned"))
    require(stated is not None, "rng-bit-generator: a result shape is required")
    is_pair = stated.is_tuple and len(stated.elements) == 2
    require(is_pair, f"rng-bit-generator: the result must be a tuple of state and bits, got {stated}")
    state, bits = stated.elements
    same = state.without_layout() == initial_state.without_layout()
    require(same, f"rng-bit-generator: the result's state must be {initial_state}, got {state}")
    require_kind("rng-bit-generator", "bits", bits, ("signed", "unsigned"))
    require(bits.element_type.bits >= 8, f"rng-bit-generator: bits must be of a type of 8 to 64 bits, got {bits}")
    return stated.without_layout()


def require_known_state(algorithm: str, state: Shape) -> None:
    """Raise NotImplementedError unless the algorithm is implemented for a state of this shape."""
    lengths = (2,) if algorithm == "rng_three_fry" else (2, 3)
    if state.element_type is not U64 or state.rank != 1 or state.dimensions[0] not in lengths:
        known = " or ".join(f"u64[{length}]" for length in lengths)
        raise NotImplementedError(
            f"rng-bit-generator: {algorithm} is implemented for a state of {known}, not {state.without_layout()}"
        )


@rng_bit_generator.evaluation
def _(initial_state, *, algorithm, shape):
    state, bits = shape.elements
    require_known_state(algorithm, state)
    with np.errstate(over="ignore"):  # counters wrap
        state, words = (_threefry_bits if algorithm == "rng_three_fry" else philox_bits)(initial_state, bits)
    return state, numerics.wrap(words.reshape(bits.dimensions), bits.element_type)


def split_dimension(dimensions: tuple[int, ...]) -> int:
    """The dimension along which XLA's ThreeFry puts pairs of words: the first of even size, else the first of the largest size.

    >>> split_dimension((3, 4, 6)), split_dimension((3, 5, 5))
    (1, 1)
    """
    even = [d for d, size in enumerate(dimensions) if size % 2 == 0]
    return even[0] if even else dimensions.index(max(dimensions))


def halves_of(dimensions: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions with the split one halved, rounded up."""
    along = split_dimension(dimensions)
    return (*dimensions[:along], -(-dimensions[along] // 2), *dimensions[along + 1 :])


def _threefry_bits(state: np.ndarray, bits: Shape) -> tuple[np.ndarray, np.ndarray]:
    wide = bits.element_type.bits == 64
    dimensions = bits.dimensions if wide else halves_of(bits.dimensions) if bits.rank else (1,)
    counters = state[1] + np.arange(prod(dimensions), dtype=np.uint64).reshape(dimensions)
    words = threefry2x32(_halves(state[0]), _halves(counters))
    after = np.array([state[0], state[1] + np.uint64(prod(dimensions))])
    if wide:
        return after, _joined(*words)
    if not bits.rank:
        return after, words[0].reshape(())
    along = split_dimension(bits.dimensions)
    pairs = np.stack(words, axis=along + 1)
    rounded = (*bits.dimensions[:along], 2 * dimensions[along], *bits.dimensions[along + 1 :])
    return after, pairs.reshape(rounded)[tuple(map(slice, bits.dimensions))]


def philox_bits(state: np.ndarray, bits: Shape) -> tuple[np.ndarray, np.ndarray]:
    """The state after, and words of 32 or 64 bits, as many as the shape has elements, by Philox4x32."""
    wide = bits.element_type.bits == 64
    count = -(-bits.size * (2 if wide else 1) // 4)
    low = state[1] + np.arange(count, dtype=np.uint64)
    high = state[2] if len(state) == 3 else state[0]
    high = high + (low < state[1]).astype(np.uint64)
    words = np.stack(philox4x32(_halves(state[0]), (*_halves(low), *_halves(high))), axis=1)
    after = np.array(state)
    after[1] += np.uint64(count)
    if len(state) == 3:
        after[2] += np.uint64(after[1] < state[1])
    values = _joined(words[:, 0::2], words[:, 1::2]) if wide else words
    return after, values.reshape(-1)[: bits.size]


def _halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The low and the high 32 bits."""
    return x.astype(np.uint32), (x >> np.uint64(32)).astype(np.uint32)


def _joined(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)


def threefry2x32(key: tuple, counter: tuple) -> tuple[np.ndarray, np.ndarray]:
    """Two random words of u32 for each counter of two, by 20 rounds.

    >>> [f"{word:08x}" for word in threefry2x32((np.uint32(0), np.uint32(0)), (np.zeros((), np.uint32),) * 2)]
    ['6b200159', '99ba4efe']
    """
    with np.errstate(over="ignore"):
        keys = (*key, key[0] ^ key[1] ^ np.uint32(THREEFRY_PARITY))
        x, y = counter[0] + keys[0], counter[1] + keys[1]
        for group in range(5):
            for rotation in THREEFRY_ROTATIONS[group % 2]:
                x = x + y
                y = (y << np.uint32(rotation) | y >> np.uint32(32 - rotation)) ^ x
            x = x + keys[(group + 1) % 3]
            y = y + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


def philox4x32(key: tuple, counter: tuple) -> tuple[np.ndarray, ...]:
    """Four random words of u32 for each counter of four, by 10 rounds.

    >>> zero = np.zeros((), np.uint32)
    >>> [f"{word:08x}" for word in philox4x32((zero, zero), (zero,) * 4)]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    (k, m), (a, b, c, d) = key, counter
    with np.errstate(over="ignore"):
        for _ in range(10):
            (low_a, high_a), (low_c, high_c) = (
                _halves(x.astype(np.uint64) * np.uint64(factor)) for x, factor in zip((a, c), PHILOX_MULTIPLIERS)
            )
            a, b, c, d = high_c ^ b ^ k, low_c, high_a ^ d ^ m, low_a
            k, m = k + np.uint32(PHILOX_WEYL[0]), m + np.uint32(PHILOX_WEYL[1])
    return a, b, c, d


@rng_bit_generator.sampling
def _():
    state, long = np.array([5 | 6 << 32, 2**64 - 1], np.uint64), np.array([5 | 6 << 32, 2**64 - 2, 9], np.uint64)
    for algorithm, start in (("rng_three_fry", state), ("rng_philox", state), ("rng_philox", long), ("rng_default", long)):
        for element_type, dimensions in (
            (U32, ()), (U32, (7,)), (S32, (3, 4)), (U64, (3, 5)), (U64, ()), (U8, (5, 3)), (S8, (6,)), (U16, (2, 3, 3)),
            (S16, (1,)), (S64, (4,)), (U32, (0, 3)), (U32, (1000,)),
        ):  # fmt: skip
            shape = TupleShape((Shape(U64, start.shape), Shape(element_type, dimensions)))
            yield Sample([start], {"algorithm": algorithm}, shape)
    pair, triple, bits = Shape(U64, (2,)), Shape(U64, (3,)), Shape(U32, (4,))
    philox = {"algorithm": "rng_philox"}
    yield InvalidSample([Shape(F32, (4,))], philox, "initial_state must have a", shape=TupleShape((Shape(F32, (4,)), bits)))
    yield InvalidSample([pair], philox, "the result's state must be", shape=TupleShape((triple, bits)))
    yield InvalidSample([pair], philox, "must be a tuple of state and bits", shape=bits)
    yield InvalidSample([pair], philox, "a result shape is required")
    yield InvalidSample([pair], philox, "bits must have a", shape=TupleShape((pair, Shape(F32, (4,)))))


@operation("stochastic-convert", "operand", "random", builder="StochasticConvertType", traits={ELEMENTWISE})
def stochastic_convert(operand, random, *, stated):
    """StochasticConvertType(operand, random, new_element_type): floats as integers, rounded away from zero if the fraction, in
    units of the random type's range, exceeds the random number; else towards zero.

    Saturates at the limits, NaN giving 0. Source: ``StochasticConvertOp`` of XLA's HLO evaluator.
    """
    require_kind("stochastic-convert", "operand", operand, ("float",))
    require(operand.element_type.bits >= 16, f"stochastic-convert: the operand must be of 16 bits or more, got {operand}")
    require_kind("stochastic-convert", "random", random, ("unsigned",))
    fits = random.element_type.bits == operand.element_type.bits and random.dimensions == operand.dimensions
    require(fits, f"stochastic-convert: random must have the dimensions and the width of the operand {operand}, got {random}")
    require(stated is not None, "stochastic-convert: a result shape is required")
    require_kind("stochastic-convert", "result", stated, ("signed", "unsigned"))
    dynamic = merged_dynamic_dimensions((operand, random))
    same = stated.dimensions == operand.dimensions and stated.dynamic_dimensions == dynamic
    require(same, f"stochastic-convert: operand {operand} and result {stated} must have the same dimensions")
    return stated.without_layout()


@stochastic_convert.evaluation
def _(operand, random, *, shape):
    return numerics.stochastic_convert(operand, random, shape.element_type)


@stochastic_convert.sampling
def _():
    for source, random in ((F16, U16), (BF16, U16), (F32, U32), (F64, U64)):
        for target in (S8, S16, S32, U8, U32, S64):
            yield Sample([Shape(source, (3, 17)), Shape(random, (3, 17))], shape=Shape(target, (3, 17)))
    x = np.array([2.25, 2.25, -2.25, -2.25, 2, np.inf, -np.inf, np.nan, -127.5], np.float32)
    u = np.array([0, 2**30, 2**30 - 1, 2**30, 0, 0, 0, 0, 0], np.uint32)
    yield Sample([x, u], shape=Shape(S8, (9,)), expected=np.array([3, 2, -3, -2, 2, 127, -128, 0, -128], np.int8))
    f, r = Shape(F32, (3,)), Shape(U32, (3,))
    yield InvalidSample([f, Shape(U16, (3,))], {}, "the width of the operand", shape=Shape(S8, (3,)))
    yield InvalidSample([f, Shape(S32, (3,))], {}, "random must have a", shape=Shape(S8, (3,)))
    yield InvalidSample([f, r], {}, "result must have a", shape=Shape(BF16, (3,)))
    yield InvalidSample([f, r], {}, "must have the same dimensions", shape=Shape(S8, (4,)))
    yield InvalidSample([Shape(S32, (3,)), r], {}, "operand must have a", shape=Shape(S8, (3,)))
    yield InvalidSample([f, r], {}, "a result shape is required")

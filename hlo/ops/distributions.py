"""Random numbers of a distribution, and the state that they come from.

Each takes its bits from the state of the environment that the program runs in (``run.environment.random_state``): a counter of
128 bits that every use moves on. The bits are those of Philox4x32 at that counter, so all backends draw the same numbers.

Source of the semantics: "RngNormal" and "RngUniform" in XLA's Operation Semantics, "RngBernoulli" in the preview of 2017, and
``HloRngGetAndUpdateStateInstruction`` of XLA. Source of the transformation to normal numbers: G. Box, M. Muller, "A note on the
generation of random normal deviates", 1958; of that to integers: D. Lemire, "Fast random integer generation in an interval",
2019.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import ml_dtypes
import numpy as np

from ..attributes import Choice, Integer
from ..element_type import BF16, C64, ELEMENT_TYPES, F16, F32, F64, PRED, S8, S32, S64, U8, U32, U64, ElementType
from ..errors import require
from ..operation import EFFECTFUL, HOST_CALL, InvalidSample, Sample, operation
from ..shape import Shape, TupleShape
from . import numerics
from .constraints import require_array, require_kind, require_scalar, require_stated_array
from .random_numbers import philox_bits


@operation("rng-get-and-update-state", builder="RngGetAndUpdateState", traits={EFFECTFUL, HOST_CALL}, delta=Integer())
def rng_get_and_update_state(*, delta):
    """RngGetAndUpdateState(delta): the counter of the random state, as u64[2], the low half first; then it is delta higher."""
    require(delta >= 0, f"rng-get-and-update-state: delta must not be negative, got {delta}")
    return Shape(U64, (2,))


@rng_get_and_update_state.evaluation
def _(*, delta, run):
    return run.environment.random_state.take(delta)


@rng_get_and_update_state.sampling
def _():
    yield InvalidSample([], {"delta": -1}, "delta must not be negative")
    yield InvalidSample([], {}, "attribute delta is required")
    yield InvalidSample([], {"delta": 1}, "the result shape is u64", shape=Shape(U64, (3,)))


@operation(
    "rng", "first", "second", builder="Rng", aliases=("RngBernoulli", "RngNormal", "RngUniform"), traits={EFFECTFUL},
    distribution=Choice("rng_uniform", "rng_normal"),
)  # fmt: skip
def rng(first, second, *, distribution, stated):
    """Rng(a, b, distribution, shape): independent random numbers of this shape.

    rng_uniform draws from [a, b), and gives a where that is empty; rng_normal has the mean a and the standard deviation b.
    Two runs draw different numbers, unless each runs in an environment with the same seed.
    """
    require_stated_array("rng", stated)
    kinds = ("float",) if distribution == "rng_normal" else ("pred", "signed", "unsigned", "float")
    require_kind("rng", "result", stated, kinds)
    for name, operand in (("first", first), ("second", second)):
        require_array("rng", name, operand)
        require_scalar("rng", name, operand, stated.element_type)
    return stated.without_layout()


class Draw(NamedTuple):
    """How many random words a distribution takes, and of which type."""

    words: int
    element_type: ElementType

    @property
    def blocks(self) -> int:
        """Values of Philox's counter, of four words of 32 bits each."""
        return ceil(self.words * self.element_type.bits / 128)


def draw_of(distribution: str, shape: Shape) -> Draw:
    """The words for random numbers of this shape: two for two normal numbers, one or, of 64 bits, two for an integer."""
    element_type, size = shape.element_type, shape.size
    if distribution == "rng_normal":
        return Draw(2 * ceil(size / 2), U64 if element_type is F64 else U32)
    if element_type.is_float:
        return Draw(size, U64 if element_type is F64 else U32)
    if element_type is PRED:
        return Draw(0, U32)
    return Draw(2 * size if element_type.bits == 64 else size, U64)


def precision_of(element_type: ElementType) -> int:
    """The bits of the significand."""
    return int(ml_dtypes.finfo(element_type.dtype).nmant) + 1


@rng.evaluation
def _(first, second, *, distribution, shape, run):
    draw, element_type = draw_of(distribution, shape), shape.element_type
    low, high = run.environment.random_state.take(draw.blocks)
    _, words = philox_bits(np.array([high, low]), Shape(draw.element_type, (draw.words,)))
    with np.errstate(all="ignore"):
        if distribution == "rng_normal":
            wide = ELEMENT_TYPES["f64" if element_type is F64 else "f32"]
            values = _normal(words, wide.dtype.type)[: shape.size]
            values = numerics.convert(first, wide) + numerics.convert(second, wide) * values
            return numerics.convert(values, element_type).reshape(shape.dimensions)
        if element_type is PRED:
            return np.full(shape.dimensions, first)
        uniform = _uniform_floats if element_type.is_float else _uniform_integers
        return uniform(words, first, second, element_type).reshape(shape.dimensions)


def _fractions(words: np.ndarray, bits: int, dtype: type) -> np.ndarray:
    """The highest bits of the words, as multiples of 2**-bits below 1."""
    width = words.dtype.itemsize * 8
    return (words >> words.dtype.type(width - bits)).astype(dtype) * dtype(2.0**-bits)


def _normal(words: np.ndarray, dtype: type) -> np.ndarray:
    """Two normal numbers each of a radius and an angle, the cosines first."""
    width, bits = words.dtype.itemsize * 8, 53 if dtype is np.float64 else 24
    first, second = np.split(words, 2)
    # In (0, 1]: the middles of 2**width intervals, rounded.
    radius = np.sqrt(dtype(-2) * np.log(first.astype(dtype) * dtype(2.0**-width) + dtype(0.5**width / 2)))
    angle = _fractions(second, bits, dtype) * dtype(2 * np.pi)
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])


def _uniform_floats(words: np.ndarray, low: np.ndarray, high: np.ndarray, element_type: ElementType) -> np.ndarray:
    wide = ELEMENT_TYPES["f64" if element_type is F64 else "f32"]
    a, b = numerics.convert(low, wide), numerics.convert(high, wide)
    values = a + (b - a) * _fractions(words, precision_of(element_type), wide.dtype.type)
    rounded = numerics.convert(values, element_type)
    # The sum may be rounded up to the end of the interval, which does not belong to it.
    return np.where(rounded.astype(wide.dtype) < b, rounded, low).astype(element_type.dtype)


def _uniform_integers(words: np.ndarray, low: np.ndarray, high: np.ndarray, element_type: ElementType) -> np.ndarray:
    """low + floor(r * (high - low)), r being a fraction of 64 bits, or of 128 for integers of 64."""
    a, b = numerics.convert(low, U64), numerics.convert(high, U64)
    is_empty = numerics.convert(high, S64) <= numerics.convert(low, S64) if element_type.kind == "signed" else b <= a
    size = np.where(is_empty, np.uint64(0), b - a)
    if element_type.bits < 64:
        return numerics.wrap(a + numerics.multiply_high(words, np.broadcast_to(size, words.shape)), element_type)
    high_words, low_words = np.split(words, 2)
    size = np.broadcast_to(size, high_words.shape)
    rest = high_words * size
    carry = rest + numerics.multiply_high(low_words, size) < rest
    return numerics.wrap(a + numerics.multiply_high(high_words, size) + carry, element_type)


@rng.sampling
def _():
    small = [ELEMENT_TYPES[name] for name in ("f8e4m3fn", "s4", "u2")]
    uniform, normal = {"distribution": "rng_uniform"}, {"distribution": "rng_normal"}
    for element_type in (F32, F64, F16, BF16, S8, U8, S32, U32, S64, U64, *small):
        zero, two = (np.array(number).astype(element_type.dtype)[()] for number in (0, 2))
        # Of an empty interval its lower end, whatever the state.
        yield Sample([two, zero], uniform, Shape(element_type, (3, 5)), expected=np.full((3, 5), two))
        yield Sample([two, two], uniform, Shape(element_type), expected=two)
    for dimensions in ((), (0, 2), (7,)):
        expected = np.full(dimensions, 3.5, np.float32)
        yield Sample([np.float32(3.5), np.float32(0)], normal, Shape(F32, dimensions), expected=expected)
    yield Sample([np.False_, np.True_], uniform, Shape(PRED, (4,)), expected=np.zeros(4, np.bool_))
    scalar, result = Shape(F32), Shape(F32, (3,))
    yield InvalidSample([scalar, scalar], uniform, "a result shape is required")
    yield InvalidSample([scalar, scalar], uniform, "result must be an array", shape=TupleShape((result,)))
    yield InvalidSample([scalar, Shape(F64)], uniform, r"second must be f32\[\]", shape=result)
    yield InvalidSample([result, scalar], uniform, "first must be a scalar", shape=result)
    yield InvalidSample([Shape(S32), Shape(S32)], normal, "result must have a floating-point", shape=Shape(S32, (3,)))
    yield InvalidSample([Shape(C64), Shape(C64)], uniform, "result must have a pred, signed", shape=Shape(C64, (3,)))
    yield InvalidSample([scalar, scalar], {"distribution": "rng_poisson"}, "one of rng_uniform, rng_normal", shape=result)

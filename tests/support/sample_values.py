"""Values for the operands of samples: ordinary ones, and those where operations go wrong."""

import ml_dtypes
import numpy as np
from phlox.hlo import Shape, TupleShape, component_type

SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 1e38, 1e-40, 1e10)
TAME = (1.0, 2.0, -1.0, 0.5)


def limits(dtype):
    """The greatest and least numbers of a float type, the least normal and the least of all."""
    info = ml_dtypes.finfo(dtype)
    return [float(value) for value in (info.max, info.min, info.smallest_normal, info.smallest_subnormal)]


def reals(random, dtype, count, tame):
    unsigned = dtype == ml_dtypes.float8_e8m0fnu
    with np.errstate(all="ignore"):
        if tame:  # f8e8m0fnu has no negative numbers
            return np.abs(random.choice(TAME, count)).astype(dtype) if unsigned else random.choice(TAME, count).astype(dtype)
        values = (random.normal(size=count) * 10 ** random.uniform(-2, 2, count)).astype(dtype)
        chosen = random.random(count) < 0.3
        values[chosen] = random.choice(np.array([*SPECIAL, *limits(dtype)]).astype(dtype), chosen.sum())
        return values


def integers(random, dtype, count, tame):
    info = ml_dtypes.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    if tame:
        return random.integers(0, min(4, high + 1), count).astype(dtype)
    wide = np.uint64 if low == 0 else np.int64
    values = random.integers(low, high, count, dtype=wide, endpoint=True)
    values = np.where(random.random(count) < 0.5, random.integers(0, min(70, high), count, endpoint=True).astype(wide), values)
    extremes = np.array([0, 1, 2 if high > 1 else 1, high, high - 1, low, -1 if low else high], wide)
    chosen = random.random(count) < 0.3
    values[chosen] = random.choice(extremes, chosen.sum())
    return values.astype(dtype)


def complexes(random, element_type, count, tame, special):
    if tame:
        return (random.choice([1.0, -1.0, 2.0], count) + 1j * random.choice([1.0, -1.0, 0.0], count)).astype(element_type.dtype)
    values = (random.normal(size=count) + 1j * random.normal(size=count)).astype(element_type.dtype)
    if special:
        part = component_type(element_type).dtype
        values.real, values.imag = (reals(random, part, count, tame) for _ in range(2))
    return values


def value_of(operand, random, tame=False, special_complex=False, nan=True):
    """An operand of a sample: itself, or values for a shape; ``tame`` ones are small integers and powers of two.

    Complex numbers are of moderate size unless ``special_complex`` is set: what a function gives where one part is infinite
    and the other NaN is not said by the operation's semantics. Without ``nan`` real numbers have an order.
    """
    if isinstance(operand, TupleShape):
        return tuple(value_of(element, random, tame, special_complex, nan) for element in operand.elements)
    if not isinstance(operand, Shape):
        return operand
    element_type, dtype, count = operand.element_type, operand.element_type.dtype, operand.size
    if dtype is None:
        return None
    if element_type.kind == "pred":
        values = random.integers(0, 2, count).astype(dtype)
    elif element_type.is_integer:
        values = integers(random, dtype, count, tame)
    elif element_type.is_complex:
        values = complexes(random, element_type, count, tame, special_complex)
    else:
        values = reals(random, dtype, count, tame)
        if not nan:
            values[np.isnan(values.astype(np.float64))] = 1
    return values.reshape(operand.dimensions)


def normal_array(dtype, *sizes):
    """Normally distributed numbers, real or complex, which depend on the sizes."""
    random = np.random.default_rng(sum(sizes))
    x = random.normal(size=sizes)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.normal(size=sizes)
    return x.astype(dtype)


def whole_numbers(shape, random):
    """Small whole numbers, with which sums and products are exact; of both signs, and not 0 where they are floats."""
    element_type, dimensions = shape.element_type, shape.dimensions
    if element_type.is_integer:
        return random.integers(0 if element_type.kind == "unsigned" else -5, 6, dimensions).astype(element_type.dtype)
    numbers = random.integers(1, 6, dimensions) * random.choice([-1, 1], dimensions)
    if element_type.is_complex:
        numbers = numbers + 1j * random.integers(-5, 6, dimensions)
    return np.asarray(numbers).astype(element_type.dtype)

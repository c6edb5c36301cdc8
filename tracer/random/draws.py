"""Numbers that a state gives: recorded in a function that is traced, made by compiled functions elsewhere.

A state is an array of u64[2], a key and a counter: that of HLO's rng-bit-generator. The word number c of a key is ThreeFry2x32 of
the key and of c, and a draw takes the next words, as many as its numbers need. So the same draws give the same numbers, here
and there, and however many are made at once.
"""

from __future__ import annotations

import math
import operator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ... import hlo
from ..calls.jit import jit
from ..recording.array import TracedArray, require_trace
from ..recording.current_trace import current_trace
from ..recording.errors import TracerError
from ..recording.operands import as_traced, has_traced, require
from .transforms import Transform

# So many numbers are made by one call of a compiled function; they stay in the processor's cache while something is done with
# them.
CHUNK = 1 << 15


def draw(transform: Transform, state: Any, count: int, *parameters: Any) -> Any:
    """As many numbers, in one dimension; the counter of the state moves on. The parameters are scalars."""
    if current_trace() is None:
        return _made(transform, state, count, parameters)
    if not isinstance(state, TracedArray):
        raise TracerError(
            "a phlox.random.Generator is drawn from where the traced function does not see it: call its methods in a function "
            "whose control flow is captured from its source"
        )
    return _recorded(transform, state, count, count, parameters)


def _recorded(transform: Transform, state: TracedArray, most: int, count: Any, parameters: tuple) -> Any:
    """The first ``count`` numbers of ``most``."""
    trace = require_trace(state)
    operand = state.instruction(trace)
    shape = hlo.TupleShape((operand.shape, hlo.Shape(hlo.U64, (transform.words_for(most),))))
    pair = hlo.rng_bit_generator(operand, shape=shape, algorithm="rng_three_fry")
    words = TracedArray.from_instruction(trace, hlo.get_tuple_element(pair, 1), is_scalar=False)
    state[1] += np.uint64(transform.words_for(count)) if type(count) is int else transform.words_for(count)
    return transform.function(words, *parameters)[:count]


@cache
def _compiled(transform: Transform) -> Any:
    """A function that changes the state that it is given, and returns as many numbers as it is told."""

    @jit
    def numbers(state, count, *parameters):
        return _recorded(transform, state, CHUNK, count, parameters)

    return numbers


def _made(transform: Transform, state: np.ndarray, count: int, parameters: tuple) -> np.ndarray:
    numbers = _compiled(transform)
    first = numbers(state, min(count, CHUNK), *parameters)
    if count <= CHUNK:
        return first
    made = np.empty(count, first.dtype)
    made[:CHUNK] = first
    for start in range(CHUNK, count, CHUNK):
        made[start : start + CHUNK] = numbers(state, min(count - start, CHUNK), *parameters)
    return made


# --- sizes and results ---


def shape_of_draw(size: Any, *parameters: Any) -> tuple[int, ...]:
    """The shape of what is drawn with these parameters. Raises TypeError, ValueError as NumPy does."""
    shapes = [np.shape(one) for one in parameters]
    if size is None:
        return np.broadcast_shapes(*shapes)
    try:
        if isinstance(size, (bool, np.bool_)):
            raise TypeError
        shape = tuple(map(operator.index, size)) if isinstance(size, (tuple, list, np.ndarray)) else (operator.index(size),)
    except TypeError:
        raise TypeError(f"expected a sequence of integers or a single integer, got '{size!r}'") from None
    if min(shape, default=0) < 0:
        raise ValueError("negative dimensions are not allowed")
    if np.broadcast_shapes(shape, *shapes) != shape:
        given = ", ".join(map(str, shapes))
        raise ValueError(f"shape mismatch: size {shape} does not have the shape of what is drawn, that of parameters of {given}")
    return shape


def drawn(transform: Transform, state: Any, shape: tuple[int, ...], is_number: bool, is_python: bool, *parameters: Any) -> Any:
    """Numbers in this shape, or one number, which is Python's or NumPy's."""
    numbers = draw(transform, state, math.prod(shape), *parameters)
    if not is_number:
        return numbers.reshape(shape)
    if not isinstance(numbers, TracedArray):
        return numbers[0].item() if is_python else numbers[0]
    number = hlo.reshape(numbers.instruction(require_trace(numbers)), ())
    if is_python:
        number = hlo.convert(number, {"float": hlo.F64, "pred": hlo.PRED}.get(number.shape.element_type.kind, hlo.S64))
    return TracedArray.from_instruction(require_trace(numbers), number, is_python, True)


def transform_for(transforms: dict[type, Transform], dtype: DTypeLike, name: str) -> Transform:
    """The one for this dtype. Raises TypeError."""
    dtype = np.dtype(dtype)
    found = transforms.get(dtype.type) if dtype.isnative else None
    if found is None:
        raise TypeError(f"Unsupported dtype {dtype!r} for {name}")
    return found


def require_output(out: Any, dtype: DTypeLike, size: Any) -> None:
    """Raises TypeError, ValueError unless numbers can be written there."""
    if not isinstance(out, TracedArray) and not (isinstance(out, np.ndarray) and out.flags.carray):
        raise ValueError("Supplied output array must be contiguous, writable, aligned, and in machine byte-order.")
    if out.dtype != np.dtype(dtype):
        raise TypeError(f"Supplied output array has the wrong type. Expected {np.dtype(dtype)}, got {out.dtype}")
    if size is not None and shape_of_draw(size) != out.shape:
        raise ValueError("size must match out.shape when used together")


def standard(transforms: dict[type, Transform], name: str, state: Any, size: Any, dtype: DTypeLike, out: Any) -> Any:
    """Numbers of a distribution without parameters, as NumPy's methods return them."""
    transform = transform_for(transforms, dtype, name)
    if out is None:
        return drawn(transform, state, shape_of_draw(size), size is None, True)
    require_output(out, dtype, size)
    out[...] = drawn(transform, state, out.shape, False, False)
    return out


def scaled(transform: Transform, state: Any, loc: Any, scale: Any, size: Any) -> Any:
    """loc + scale * numbers of the transform, which takes these two where they are scalars."""
    shape = shape_of_draw(size, loc, scale)
    if np.ndim(loc) or np.ndim(scale):
        return loc + scale * drawn(transform, state, shape, False, False, 0.0, 1.0)
    return drawn(transform, state, shape, size is None, True, loc, scale)


# --- parameters ---


def as_floats(value: Any) -> Any:
    """A parameter of f64: a Python float, an array, or traced."""
    if isinstance(value, TracedArray):
        return value.astype(np.float64) if value.dtype != np.float64 else value
    if isinstance(value, (list, tuple)) and has_traced(value):
        return as_traced(value, np.dtype(np.float64))
    array = np.asarray(value, dtype=np.float64)
    return array if array.ndim else float(array)


def require_range(width: Any) -> None:
    """Raises OverflowError, ValueError, perhaps when the program runs, unless a range of floats has a finite width of 0 or more."""
    message = "Range exceeds valid bounds" if np.ndim(width) else "high - low range exceeds valid bounds"
    require(np.all(np.isfinite(width)), OverflowError, message)
    require(np.all(np.greater_equal(width, 0)), ValueError, "high - low < 0")


def require_scale(scale: Any) -> None:
    """Raises ValueError, perhaps when the program runs, for a negative scale; -0.0 is one, NaN is none."""
    require(~np.any(np.signbit(scale) & ~np.isnan(scale)), ValueError, "scale < 0")

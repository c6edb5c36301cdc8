"""Numbers that a state gives: recorded in a function that is traced, made by compiled functions elsewhere.

A state is an array of u64[2], a key and a counter: that of rng-bit-generator. The word number c of a key is ThreeFry2x32 of
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
from ..extents.bounds import size_of_shape
from ..recording.array import TracedArray, require_trace
from ..recording.current_trace import current_trace
from ..recording.errors import TracerError
from ..recording.operands import as_traced, has_traced, require
from .transforms import Transform

# So many numbers are made by one call of a compiled function; the largest number of them stays in the processor's cache. An
# even number each, so that it takes whole words.
_BLOCKS = (1 << 15, 1 << 10, 1 << 4)


def draw(transform: Transform, state: Any, count: Any, *parameters: Any) -> Any:
    """As many numbers, in one dimension; the counter of the state moves on.

    Parameters are scalars, or have an element for each number.
    """
    if current_trace() is None:
        return _made(transform, state, count, parameters)
    if not isinstance(state, TracedArray):
        raise TracerError(
            "a phlox.random.Generator is drawn from where the traced function does not see it: call its methods in a function "
            "whose control flow is captured from its source"
        )
    if isinstance(count, TracedArray):
        most, _ = size_of_shape(require_trace(count), count, "as the size of what is drawn")
        return _recorded(transform, state, most, transform.words_for(count), parameters)[:count]
    return _recorded(transform, state, count, np.uint64(transform.words_for(count)), parameters)


def _recorded(transform: Transform, state: TracedArray, count: int, used: Any, parameters: tuple) -> TracedArray:
    """As many numbers, of which some are used: the words behind those of them are the next ones."""
    trace = require_trace(state)
    operand = state.instruction(trace)
    shape = hlo.TupleShape((operand.shape, hlo.Shape(hlo.U64, (transform.words_for(count),))))
    pair = hlo.rng_bit_generator(operand, shape=shape, algorithm="rng_three_fry")
    words = TracedArray.from_instruction(trace, hlo.get_tuple_element(pair, 1), is_scalar=False)
    state[1] += used
    with np.errstate(all="ignore"):  # of parameters that are known, for NumPy computes with these while the function is traced
        return transform.function(words, *parameters)[:count]


@cache
def _compiled(transform: Transform, count: int) -> Any:
    """A function that makes as many numbers, and changes the state that it is given."""

    @jit
    def numbers(state, used, *parameters):
        return _recorded(transform, state, count, used, parameters)

    return numbers


@cache
def _filling(transform: Transform) -> Any:
    """A function that writes the largest number of numbers where they are to lie."""

    @jit
    def fill(state, out, *parameters):
        used = np.uint64(transform.words_for(_BLOCKS[0]))
        out[...] = _recorded(transform, state, _BLOCKS[0], used, parameters)

    return fill


def _made(transform: Transform, state: np.ndarray, count: int, parameters: tuple) -> np.ndarray:
    if not count and any(map(np.ndim, parameters)):
        return np.empty(0, transform.result)
    made, begin = None, 0
    while made is None or begin < count:
        rest = count - begin
        size = _block(rest)
        if made is not None and size == _BLOCKS[0]:
            _filling(transform)(state, made[begin : begin + size], *_of_block(parameters, begin, size))
        else:
            used = np.uint64(transform.words_for(min(rest, size)))
            block = _compiled(transform, size)(state, used, *_of_block(parameters, begin, size))
            if made is None:
                if rest <= size:
                    return block if rest == size else block[:rest].copy()
                made = np.empty(count, block.dtype)
            made[begin : begin + size] = block[:rest]
        begin += size
    return made


def _of_block(parameters: tuple, begin: int, size: int) -> list[Any]:
    """Those of the numbers of a block; the last one stands for those that are more than is needed."""
    own = [one[begin : begin + size] if np.ndim(one) else one for one in parameters]
    return [np.pad(one, (0, size - len(one)), "edge") if np.ndim(one) and len(one) < size else one for one in own]


def _block(rest: int) -> int:
    """How many numbers to make next, where so many are left: some of the last block may be more than is needed."""
    large, medium, small = _BLOCKS
    return large if rest >= large else medium if rest > small else small


# --- sizes and results ---


def shape_of_draw(size: Any, *parameters: Any) -> tuple[Any, ...]:
    """The shape of what is drawn with these parameters: of one dimension the size may be known at run time only.

    Raises TypeError, ValueError as NumPy does.
    """
    shapes = [shape for one in parameters if type(one) is not float and (shape := np.shape(one))]
    if size is None:
        return shapes[0] if len(shapes) == 1 else np.broadcast_shapes(*shapes)
    sizes = tuple(size) if isinstance(size, (tuple, list, np.ndarray)) else (size,)
    if not all([isinstance(one, (int, np.integer, TracedArray)) and not isinstance(one, bool) for one in sizes]):
        raise TypeError(f"expected a sequence of integers or a single integer, got '{size!r}'")
    if len(sizes) == 1 and not shapes and isinstance(sizes[0], TracedArray) and sizes[0].known_value is None:
        return sizes
    shape = tuple(map(operator.index, sizes))
    if min(shape, default=0) < 0:
        raise ValueError("negative dimensions are not allowed")
    if shapes and np.broadcast_shapes(shape, *shapes) != shape:
        given = " and ".join(map(str, shapes))
        raise ValueError(f"shape mismatch: parameters of shape {given} do not fit into the size {shape}")
    return shape


def drawn(transform: Transform, state: Any, shape: tuple[int, ...], is_number: bool, is_python: bool, *parameters: Any) -> Any:
    """Numbers in this shape, or one number, which is Python's or NumPy's."""
    numbers = draw(transform, state, shape[0] if len(shape) == 1 else math.prod(shape), *parameters)
    if not is_number:
        return numbers if len(shape) == 1 else numbers.reshape(shape)
    if not isinstance(numbers, TracedArray):
        return numbers[0].item() if is_python else numbers[0]
    number = hlo.reshape(numbers.instruction(require_trace(numbers)), ())
    if is_python:
        number = hlo.convert(number, {"float": hlo.F64, "pred": hlo.PRED}.get(number.shape.element_type.kind, hlo.S64))
    return TracedArray.from_instruction(require_trace(numbers), number, is_python, True)


def transform_for(transforms: dict[type, Transform], dtype: DTypeLike, name: str) -> Transform:
    """The one for this dtype. Raises TypeError."""
    if isinstance(dtype, type) and dtype in transforms:
        return transforms[dtype]
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
    if any([type(one) is not float and np.ndim(one) for one in (loc, scale)]):
        return loc + scale * drawn(transform, state, shape, False, False, 0.0, 1.0)
    return drawn(transform, state, shape, size is None, True, loc, scale)


def with_parameters(transform: Transform, state: Any, size: Any, *values: Any) -> Any:
    """Numbers of a transform whose parameters, floats or arrays of such, broadcast."""
    shape = shape_of_draw(size, *values)
    are_arrays = [type(one) is not float and np.ndim(one) > 0 for one in values]
    if any(are_arrays):
        values = [np.broadcast_to(one, shape).reshape(-1) if is_array else one for one, is_array in zip(values, are_arrays)]
    return drawn(transform, state, shape, size is None and not shape, True, *values)


# --- parameters ---


def as_floats(value: Any) -> Any:
    """A parameter of f64: a Python float, an array, or traced."""
    if type(value) is float:
        return value
    if isinstance(value, TracedArray):
        return value.astype(np.float64) if value.dtype != np.float64 else value
    if isinstance(value, (list, tuple)) and has_traced(value):
        return as_traced(value, np.dtype(np.float64))
    array = np.asarray(value, dtype=np.float64)
    return array if array.ndim else float(array)


def require_range(width: Any) -> None:
    """Raises OverflowError, ValueError, perhaps when the program runs, for a width of a range that is infinite or below 0."""
    if type(width) is float and 0 <= width < math.inf:
        return
    message = "Range exceeds valid bounds" if np.ndim(width) else "high - low range exceeds valid bounds"
    require(np.all(np.isfinite(width)), OverflowError, message)
    require(np.all(np.greater_equal(width, 0)), ValueError, "high - low < 0")


def require_scale(scale: Any) -> None:
    """Raises ValueError, perhaps when the program runs, for a negative scale; -0.0 is one, NaN is none."""
    if type(scale) is not float or not scale > 0:
        require(~np.any(np.signbit(scale) & ~np.isnan(scale)), ValueError, "scale < 0")

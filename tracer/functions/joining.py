"""Functions that join, split and repeat arrays."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ... import hlo
from ..recording import promotion
from ..recording.array import TracedArray, as_index, require_trace
from ..recording.function_tables import DYNAMIC, FUNCTIONS, implements
from ..recording.memory_order import laid_out
from ..recording.operands import (
    as_size,
    as_strong,
    as_traced,
    broadcast,
    class_of,
    has_traced,
    instruction_of,
    normalize_axis,
    one_or_several,
    prepare,
    require_no_bool,
    result,
    settled,
    shape_of,
    store,
    zero_dimensional,
)
from .shape_manipulation import part, reshaped

Instruction = hlo.Instruction


def _arrays(arrays: Any) -> list:
    if isinstance(arrays, TracedArray):
        return list(arrays)
    return [prepare(one) for one in arrays]


def _common(classes: list, dtype: Any, casting: str) -> hlo.ElementType:
    promotion.require_casting(casting)
    target = promotion.result_dtype(classes) if dtype is None else promotion.native(dtype)
    for kind in map(np.dtype, [one for one in classes if dtype is not None or not isinstance(one, type)]):
        promotion.require_cast(kind, target, casting)
    return hlo.element_type_of(target)


@implements(np.concatenate, np.concat)
def concatenate(arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind"):
    if out is not None and dtype is not None:
        raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
    arrays = _arrays(arrays)
    if not arrays:
        raise ValueError("need at least one array to concatenate")
    # Python's numbers adapt to the arrays, where no other numbers can be joined.
    classes = [class_of(one) if axis is None else np.dtype(class_of(one)) for one in arrays]
    if axis is None:
        arrays = [as_strong(one).reshape(-1) for one in arrays]
        axis = 0
    require_no_bool(axis)
    shapes = [shape_of(one) for one in arrays]
    if any(not shape for shape in shapes):
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    rank = len(shapes[0])
    axis = normalize_axis(axis, rank)
    for position, shape in enumerate(shapes):
        if len(shape) != rank:
            raise ValueError(
                "all the input arrays must have same number of dimensions, but "
                f"the array at index 0 has {rank} dimension(s) and the array at index {position} has {len(shape)} dimension(s)"
            )
        for dimension in range(rank):
            if dimension != axis and shape[dimension] != shapes[0][dimension]:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match exactly, but along dimension "
                    f"{dimension}, the array at index 0 has size {shapes[0][dimension]} and the array at index "
                    f"{position} has size {shape[dimension]}"
                )
    trace = require_trace(*arrays)
    element_type = _common(classes, out.dtype if out is not None else dtype, casting)
    operands = [instruction_of(trace, one, element_type) for one in arrays]
    joined = operands[0] if len(operands) == 1 else hlo.concatenate(*operands, dimensions=(axis,))
    return store(out, laid_out(result(trace, joined), arrays, as_copy=True), casting)


@implements(np.stack)
def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    arrays = [as_strong(one) for one in _arrays(arrays)]
    if not arrays:
        raise ValueError("need at least one array to stack")
    if len({one.shape for one in arrays}) > 1:
        raise ValueError("all input arrays must have the same shape")
    axis = normalize_axis(axis, arrays[0].ndim + 1)
    shape = (*arrays[0].shape[:axis], 1, *arrays[0].shape[axis:])
    return concatenate([reshaped(one, shape) for one in arrays], axis, out, dtype=dtype, casting=casting)


def _rows(arrays: Any, function: Any) -> list[TracedArray]:
    return [function(as_strong(one)) for one in _arrays(arrays)]


@implements(np.vstack)
def vstack(tup, *, dtype=None, casting="same_kind"):
    return concatenate(_rows(tup, np.atleast_2d), 0, dtype=dtype, casting=casting)


@implements(np.hstack)
def hstack(tup, *, dtype=None, casting="same_kind"):
    arrays = _rows(tup, np.atleast_1d)
    return concatenate(arrays, 0 if arrays and arrays[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@implements(np.dstack)
def dstack(tup):
    return concatenate(_rows(tup, np.atleast_3d), 2)


@implements(np.column_stack)
def column_stack(tup):
    return concatenate(_rows(tup, lambda one: reshaped(one, (one.size, 1)) if one.ndim < 2 else one), 1)


@implements(np.append)
def append(arr, values, axis=None):
    if axis is None:
        return concatenate((np.ravel(as_traced(arr)), np.ravel(as_strong(values))), 0)
    return concatenate((arr, values), axis)


@implements(np.block)
def block(arrays):
    depth = depth_of_blocks(arrays)
    if not depth:
        return FUNCTIONS[np.copy](as_strong(arrays))

    def rank_of(part: Any) -> int:
        return max(map(rank_of, part)) if isinstance(part, list) else as_traced(part).ndim

    rank = max(depth, rank_of(arrays))

    def build(part: Any, level: int) -> TracedArray:
        if isinstance(part, list):
            return concatenate([build(one, level + 1) for one in part], level - depth)
        array = as_strong(part)
        return reshaped(array, (1,) * (rank - array.ndim) + array.shape)

    made = zero_dimensional(build(arrays, 0))
    return made if depth else np.copy(made)


def depth_of_blocks(arrays: Any) -> int:
    """How deep the lists of ``np.block`` are nested. Raises as NumPy does where they are not all, or are empty or tuples."""
    first = _first_block(arrays, ())
    if first and first[-1] is None:
        raise ValueError(f"List at {_block_at(first)} cannot be empty")
    return len(first)


def _first_block(arrays: Any, place: tuple[int, ...]) -> tuple[int | None, ...]:
    """Where the first block stands; None for the element that an empty list lacks."""
    if isinstance(arrays, tuple):
        raise TypeError(
            f"{_block_at(place)} is a tuple. Only lists can be used to arrange blocks, and np.block does not allow implicit "
            "conversion from tuple to ndarray."
        )
    if not isinstance(arrays, list):
        return place
    if not arrays:
        return (*place, None)
    first, *others = [_first_block(one, (*place, number)) for number, one in enumerate(arrays)]
    for other in others:
        if len(other) != len(first):
            raise ValueError(
                f"List depths are mismatched. First element was at depth {len(first)}, but there is an element at depth "
                f"{len(other)} ({_block_at(other)})"
            )
        if other[-1] is None:
            first = other
    return first


def _block_at(place: tuple[int | None, ...]) -> str:
    return "arrays" + "".join(f"[{number}]" for number in place if number is not None)


# --- splitting ---


@implements(np.array_split)
def array_split(ary, indices_or_sections, axis=0):
    """Views; parts of sizes that are known at run time only where the places to split at are."""
    if isinstance(indices_or_sections, TracedArray) and indices_or_sections.known_value is None:
        return DYNAMIC[np.array_split](ary, indices_or_sections, axis)
    ary = as_traced(ary)
    axis = normalize_axis(axis, ary.ndim)
    size = ary.shape[axis]
    if np.ndim(indices_or_sections) == 1:
        bounds = [0, *(as_index(one, "as a place to split at") for one in one_or_several(indices_or_sections)), size]
        bounds = list(zip(bounds[:-1], bounds[1:]))
    else:
        sections = as_index(indices_or_sections, "as a number of sections")
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extra = divmod(size, sections)
        starts = [section * each + min(section, extra) for section in range(sections + 1)]
        bounds = list(zip(starts[:-1], starts[1:]))
    return [ary[(slice(None),) * axis + (slice(start, stop),)] for start, stop in bounds]


@implements(np.split)
def split(ary, indices_or_sections, axis=0):
    ary = as_traced(ary)
    if np.ndim(indices_or_sections) == 0:
        if ary.shape[normalize_axis(axis, ary.ndim)] % as_index(indices_or_sections, "as a number of sections"):
            raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def _split_along(axis: Any, least: int, name: str):
    def implementation(ary, indices_or_sections):
        ary = as_traced(ary)
        if ary.ndim < least:
            raise ValueError(f"{name} only works on arrays of {least} or more dimensions")
        return split(ary, indices_or_sections, axis if axis is not None else (1 if ary.ndim > 1 else 0))

    return implementation


implements(np.vsplit)(_split_along(0, 2, "vsplit"))
implements(np.hsplit)(_split_along(None, 1, "hsplit"))
implements(np.dsplit)(_split_along(2, 3, "dsplit"))

if hasattr(np, "unstack"):

    @implements(np.unstack)
    def unstack(x, /, *, axis=0):
        x = as_traced(x)
        if x.ndim == 0:
            raise ValueError("Input array must be at least 1-d.")
        return tuple(np.moveaxis(x, axis, 0))


# --- repetition ---


@implements(np.tile)
def tile(A, reps):
    """The repetitions must be known while tracing: they decide the shape."""
    array = as_strong(A)
    counts = tuple(as_index(one, "as a number of repetitions") for one in one_or_several(reps))
    rank = max(array.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    sizes = (1,) * (rank - array.ndim) + array.shape
    trace = require_trace(array)
    pairs = [size for count, own in zip(counts, sizes) for size in (count, own)]
    spread = hlo.reshape(array.instruction(trace), [size for own in sizes for size in (1, own)])
    repeated = hlo.broadcast_in_dim(spread, pairs, range(len(pairs)))
    tiled = hlo.reshape(repeated, [count * own for count, own in zip(counts, sizes)])
    return TracedArray.from_instruction(trace, tiled, is_scalar=False)


def _repetitions(repeats: Any) -> list[int]:
    """The numbers of `numpy.repeat`: arrays are cast safely, Python's numbers and lists of them as int() does."""
    if np.ndim(repeats) > 1:
        raise ValueError("object too deep for desired array")
    if isinstance(repeats, (np.ndarray, TracedArray)) and repeats.ndim and not np.can_cast(repeats.dtype, np.intp, "safe"):
        given, wanted = repeats.dtype, np.dtype(np.intp)
        raise TypeError(f"Cannot cast array data from {given!r} to {wanted!r} according to the rule 'safe'")
    numbers = repeats if np.ndim(repeats) else [repeats]
    return [int(one) for one in numbers]


@implements(np.repeat)
def repeat(a, repeats, axis=None):
    """Where repetitions are traced, and depend on the call, the size of the result is known at run time only."""
    repeats = settled(repeats, "as numbers of repetitions")
    if has_traced(repeats):
        return DYNAMIC[np.repeat](a, repeats, axis)
    require_no_bool(axis)
    array = as_strong(a)
    if axis is None:
        array, axis = reshaped(array, (array.size,)), 0
    axis = normalize_axis(axis, array.ndim)
    size = array.shape[axis]
    counts = _repetitions(repeats)
    if any(count < 0 for count in counts):
        raise ValueError("repeats may not contain negative values.")
    if len(counts) not in (1, size):
        raise ValueError(f"operands could not be broadcast together with shape ({size},) ({len(counts)},)")
    if not counts:
        return np.copy(array)
    trace = require_trace(array)
    operand = array.instruction(trace)
    shape = operand.shape.dimensions
    if len(counts) == 1 or len(set(counts)) == 1:
        (count,) = set(counts)
        spread = (*shape[: axis + 1], count, *shape[axis + 1 :])
        places = [dimension if dimension <= axis else dimension + 1 for dimension in range(len(shape))]
        return result(
            trace, hlo.reshape(hlo.broadcast(operand, spread, places), (*shape[:axis], size * count, *shape[axis + 1 :]))
        )
    parts = []
    for position, count in enumerate(counts):
        one = part(trace, operand, axis, position, position + 1)
        parts.append(broadcast(one, (*shape[:axis], count, *shape[axis + 1 :])))
    return result(trace, hlo.concatenate(*parts, dimensions=(axis,)))


@implements(np.resize)
def resize(a, new_shape):
    """A copy, the elements repeated as often as the new shape, which must be known, takes."""
    a = as_traced(a)
    new_shape = (new_shape,) if not isinstance(new_shape, (tuple, list)) else tuple(new_shape)
    sizes = tuple(map(as_size, new_shape))
    count = prod(sizes)
    if a.size == 0:
        return np.zeros_like(a, shape=sizes)
    rounds = -(-count // a.size)
    flat = np.ravel(a)
    return reshaped(tile(flat, rounds)[:count] if rounds != 1 else flat[:count], sizes, copy=True)

"""``ufunc.reduceat``: the elements between indices combined."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import hlo
from ..recording import promotion
from ..recording.array import TracedArray, require_trace
from ..recording.function_tables import UFUNCS, implements_method, ufunc_kernel
from ..recording.memory_order import fresh, in_axes_order, innermost_first, strides_told
from ..recording.operands import as_strong, as_traced, convert, normalize_axis, result, store
from .folds import folded, reduced_in_order
from .powers import require_nonnegative_in_segments
from .reductions import accumulation_type, combiner, exact_identity
from .scans import single_axis

Instruction = hlo.Instruction

# As many elements to a segment on average make it worth while to reduce them in pieces.
_LONG = 128
# So many segments have code of their own, where their places are known.
_FEW = 8


@implements_method(np.ufunc.reduceat)
def reduceat(ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> TracedArray:
    array, indices = as_strong(array), _places(indices)
    if not array.ndim:
        raise TypeError("cannot reduceat on a scalar")
    axis = normalize_axis(single_axis("reduceat", axis, array.ndim), array.ndim)
    size, trace = array.shape[axis], require_trace(array, indices)
    beyond = (indices < 0) | (indices >= size)
    if indices.shape[0]:
        wrong = indices[np.argmax(beyond)].instruction(trace)
        message = f"index {{}} out-of-bounds in {ufunc.__name__}.reduceat [0, {size})"
        trace.add_error_flag(beyond.any().instruction(trace), IndexError, message, wrong)
    slices = np.moveaxis(array, axis, 0)
    if dtype is None and out is not None:
        wanted = (out[0] if isinstance(out, tuple) else out).dtype
        dtype = wanted if np.can_cast(array.dtype, wanted, "same_kind") else None
    found = fresh(np.moveaxis(reduced_at(ufunc, slices, indices, size, dtype), 0, axis))
    told = [None if one == axis else stride for one, stride in enumerate(strides_told(array))]
    return store(out, in_axes_order(found, innermost_first([told], array.ndim)))


def _places(indices: Any) -> TracedArray:
    """The indices: an array of floats is none, the numbers of a list become integers."""
    given = isinstance(indices, (TracedArray, np.ndarray))
    indices = as_strong(indices)
    if indices.ndim != 1:
        raise ValueError(f"object {'too deep' if indices.ndim else 'of too small depth'} for desired array")
    if given:
        promotion.require_cast(indices.dtype, np.dtype(np.int64), "safe")
    return indices.astype(np.int64) if indices.element_type.is_float else indices


def reduced_at(ufunc: np.ufunc, slices: TracedArray, indices: TracedArray, size: Any, dtype: Any) -> TracedArray:
    """What ``ufunc.reduceat`` gives of the slices of the first dimension, of which so many count.

    Indices that are the size stand for none, and come last.
    """
    if ufunc.nin != 2:
        raise ValueError("reduceat only supported for binary functions")
    element_type = hlo.element_type_of(promotion.resolve_reduction(ufunc, slices.dtype, dtype))
    trace = require_trace(slices, indices)
    rest = slices.shape[1:]
    if not indices.shape[0] or not slices.shape[0]:
        return result(trace, hlo.full(hlo.Shape(element_type, (indices.shape[0], *rest)), 0))
    if ufunc is np.power:
        bounds = [one.astype(np.int64).instruction(trace) for one in (indices, _following(indices, size))]
        require_nonnegative_in_segments(trace, convert(slices.instruction(trace), element_type), *bounds)
    known = indices.known_value
    if known is not None and len(known) <= _FEW and isinstance(size, int) and ((0 <= known) & (known < size)).all():
        return result(trace, _segments(ufunc, convert(slices.instruction(trace), element_type), known.tolist()))
    indices = indices.astype(np.int64)
    places = [one.instruction(trace) for one in (indices, _following(indices, size))]
    operand = convert(slices.instruction(trace), element_type)
    if ufunc_kernel(ufunc).identity is not None and slices.shape[0] >= _LONG * indices.shape[0]:
        wide = accumulation_type(ufunc, element_type)
        return result(trace, hlo.convert(_in_pieces(ufunc, operand, wide, *places), element_type))
    turns = np.cumsum(np.concatenate([[False], indices[1:] < indices[:-1]]))
    last = turns[-1].known_value
    operands = [operand, *places, turns.instruction(trace)]
    found = _pass(ufunc, *operands, hlo.constant(np.int64(0)), None)
    return result(trace, found if last == 0 else _further_passes(ufunc, operands, found))


def _following(indices: TracedArray, size: Any) -> TracedArray:
    """Where the next segment begins."""
    return np.concatenate([indices[1:], np.reshape(as_traced(size), (1,))])


def _segments(ufunc: np.ufunc, operand: Instruction, indices: list[int]) -> Instruction:
    """The segments at indices that are known, each of them reduced on its own."""
    count, *rest = operand.shape.dimensions
    element_type, is_associative = operand.shape.element_type, ufunc_kernel(ufunc).identity is not None
    wide = accumulation_type(ufunc, element_type) if is_associative else element_type
    found = []
    for start, following in zip(indices, [*indices[1:], count]):
        end = max(following, start + 1)
        segment = convert(hlo.slice(operand, [start] + [0] * len(rest), [end, *rest]), wide)
        if end == start + 1:
            total = segment
        elif is_associative:
            identity = hlo.constant(exact_identity(ufunc, wide), wide)
            total = hlo.reduce(segment, identity, dimensions=(0,), to_apply=combiner(ufunc, wide))
        else:
            total = reduced_in_order(ufunc, segment, (0,), None)
        found.append(hlo.reshape(convert(total, element_type), (1, *rest)))
    return hlo.concatenate(*found, dimensions=(0,))


def _in_pieces(ufunc: np.ufunc, operand: Instruction, wide: hlo.ElementType, *places: Instruction) -> Instruction:
    """A loop over the pieces of all segments, each of which is reduced at once, in the wide type."""
    indices, following = places
    count, *rest = operand.shape.dimensions
    (segments,) = indices.shape.dimensions
    identity = exact_identity(ufunc, wide)
    length, of_one = min(count, 16 * _LONG), hlo.Shape(wide, rest)
    parts = _parts_of_segments(ufunc, operand.shape, wide, length)
    init = (
        hlo.constant(np.int64(0)), _element(indices, hlo.constant(np.int64(0))), hlo.full(of_one, identity),
        hlo.full(hlo.Shape(wide, (segments, *rest)), identity), operand, indices, following,
    )  # fmt: skip

    def has_more(state: Instruction) -> Instruction:
        return hlo.lt(hlo.get_tuple_element(state, 0), segments)

    def next_piece(state: Instruction) -> Instruction:
        number, place, total, found, operand, indices, following = [hlo.get_tuple_element(state, at) for at in range(7)]
        first = _element(indices, number)
        end = hlo.maximum(_element(following, number), hlo.add(first, 1))
        start = hlo.minimum(place, count - length)
        piece_end = hlo.add(start, length)
        is_whole = hlo.and_(hlo.eq(start, place), hlo.ge(end, piece_end))
        bounds = hlo.tuple(operand, start, hlo.subtract(place, start), hlo.subtract(hlo.minimum(end, piece_end), start))
        part = hlo.conditional(is_whole, bounds, bounds, branch_computations=parts)
        total = convert(UFUNCS[ufunc].emit(total, part), wide)
        zero = [hlo.constant(np.int64(0)) for _ in rest]
        alone = hlo.reshape(hlo.dynamic_slice(operand, first, *zero, sizes=(1, *rest)), rest)
        is_alone = hlo.broadcast_in_dim(hlo.eq(end, hlo.add(first, 1)), rest, ())
        total = hlo.select(is_alone, convert(alone, wide), total)
        found = hlo.dynamic_update_slice(found, hlo.reshape(total, (1, *rest)), number, *zero)
        is_last = hlo.ge(piece_end, end)
        following_number = hlo.add(number, 1)
        return hlo.tuple(
            hlo.select(is_last, following_number, number),
            hlo.select(is_last, _element(indices, following_number), piece_end),
            hlo.select(hlo.broadcast_in_dim(is_last, rest, ()), hlo.full(of_one, identity), total),
            found, operand, indices, following,
        )  # fmt: skip

    state = hlo.tuple(*init)
    condition, body = (hlo.computation(name, [state.shape], of) for name, of in (("has_more", has_more), ("piece", next_piece)))
    return hlo.get_tuple_element(hlo.while_(state, condition=condition, body=body), 3)


def _parts_of_segments(
    ufunc: np.ufunc, shape: hlo.Shape, wide: hlo.ElementType, length: int
) -> tuple[hlo.Computation, hlo.Computation]:
    """Computations of (operand, start, first, end): the piece of so many slices from the start on, reduced; and that from the
    first of them to before the end."""
    rest = shape.dimensions[1:]
    identity, combine = exact_identity(ufunc, wide), combiner(ufunc, wide)

    def piece(of: Instruction) -> Instruction:
        operand, start = (hlo.get_tuple_element(of, at) for at in range(2))
        zero = [hlo.constant(np.int64(0)) for _ in rest]
        return convert(hlo.dynamic_slice(operand, start, *zero, sizes=(length, *rest)), wide)

    def reduced(piece: Instruction) -> Instruction:
        return hlo.reduce(piece, hlo.constant(identity, wide), dimensions=(0,), to_apply=combine)

    def inside(of: Instruction) -> Instruction:
        first, end = (hlo.broadcast(hlo.get_tuple_element(of, at), (length,), ()) for at in (2, 3))
        slices = piece(of)
        positions = hlo.iota(hlo.Shape(hlo.S64, (length,)), 0)
        within = hlo.and_(hlo.ge(positions, first), hlo.lt(positions, end))
        within = hlo.broadcast_in_dim(within, slices.shape.dimensions, (0,))
        return reduced(hlo.select(within, slices, hlo.full_like(slices, identity)))

    index = hlo.Shape(hlo.S64)
    state = hlo.TupleShape((shape, index, index, index))
    return (
        hlo.computation("whole_piece", [state], lambda of: reduced(piece(of))),
        hlo.computation("part_of_piece", [state], inside),
    )


def _element(line: Instruction, place: Instruction) -> Instruction:
    return hlo.reshape(hlo.dynamic_slice(line, place, sizes=(1,)), ())


def _pass(
    ufunc: np.ufunc,
    operand: Instruction,
    indices: Instruction,
    following: Instruction,
    turns: Instruction,
    number: Instruction,
    before: Instruction | None,
) -> Instruction:
    """The results for those indices, in ascending order, behind which so many are not; those for others as before."""
    count, *rest = operand.shape.dimensions
    own = hlo.eq(turns, hlo.broadcast(number, turns.shape.dimensions, ()))
    none = hlo.full(hlo.Shape(hlo.PRED, (count,)), False)
    starts = hlo.scatter(
        none, hlo.select(own, indices, hlo.full_like(indices, count)), own, update_window_dims=(), inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,), index_vector_dim=1, to_apply=hlo.scalar_computation("or", hlo.PRED),
    )  # fmt: skip
    whole = folded(ufunc, operand, hlo.broadcast_in_dim(starts, operand.shape.dimensions, (0,)), 0)
    places = hlo.select(hlo.lt(indices, following), hlo.subtract(following, 1), indices)
    found = hlo.gather(
        whole, places, offset_dims=tuple(range(1, len(rest) + 1)), collapsed_slice_dims=(0,), start_index_map=(0,),
        index_vector_dim=1, slice_sizes=(1, *rest),
    )  # fmt: skip
    if before is None:
        return found
    return hlo.select(hlo.broadcast_in_dim(own, found.shape.dimensions, (0,)), found, before)


def _further_passes(ufunc: np.ufunc, operands: list[Instruction], found: Instruction) -> Instruction:
    """One for each time that the indices turn back."""
    state = hlo.tuple(hlo.constant(np.int64(1)), found, *operands)

    def parts(value: Instruction) -> list[Instruction]:
        return [hlo.get_tuple_element(value, number) for number in range(2 + len(operands))]

    def has_more(value: Instruction) -> Instruction:
        number, _, _, _, _, turns = parts(value)
        last = hlo.slice(turns, (turns.shape.dimensions[0] - 1,), turns.shape.dimensions)
        return hlo.le(number, hlo.reshape(last, ()))

    def further(value: Instruction) -> Instruction:
        number, before, *own = parts(value)
        return hlo.tuple(hlo.add(number, 1), _pass(ufunc, *own, number, before), *own)

    condition, body = (hlo.computation(name, [state.shape], of) for name, of in (("has_more", has_more), ("further", further)))
    return hlo.get_tuple_element(hlo.while_(state, condition=condition, body=body), 1)

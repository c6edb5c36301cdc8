"""Sorting: NumPy's order of elements as comparators of HLO's sort, and the functions that put elements in order.

NumPy's order has NaN behind all numbers, descending too, and -0 equal to +0; complex numbers are ordered by their real parts
first. All sorts here are stable, which every ``kind`` of NumPy's allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ... import hlo
from ...hlo.ops.known_calls import PREFERENCE
from ..indexing.compression import moved_together
from ..indexing.index_arrays import second
from ..recording.array import TracedArray, as_index, require_trace
from ..recording.function_tables import implements
from ..recording.memory_order import laid_out
from ..recording.operands import as_strong, convert, normalize_axis, prepare, require_no_bool, result, value
from ..recording.trace import Trace
from .kernel_parts import is_nan

Instruction = hlo.Instruction


def precedes(x: Instruction, y: Instruction, descending: bool = False) -> Instruction:
    """Whether x comes before y in NumPy's order, element by element."""
    element_type = x.shape.element_type
    if element_type.is_complex:
        return _complex_precedes(x, y, descending)
    decided = hlo.gt(x, y) if descending else hlo.lt(x, y)
    if not element_type.is_float:
        return decided
    return hlo.or_(decided, hlo.and_(hlo.ne(y, y), hlo.eq(x, x)))


def _complex_precedes(x: Instruction, y: Instruction, descending: bool) -> Instruction:
    """The order of NumPy's ``sort``: numbers, then those with a NaN as imaginary part, as real part, as both."""
    x_real, x_imag, y_real, y_imag = hlo.real(x), hlo.imag(x), hlo.real(y), hlo.imag(y)
    real_less, real_greater = precedes(x_real, y_real, descending), precedes(y_real, x_real, descending)
    real_same = hlo.not_(hlo.or_(real_less, real_greater))
    # A NaN in one of the imaginary parts decides before the real parts do, if these are numbers.
    numbers = hlo.and_(hlo.eq(x_real, x_real), hlo.eq(y_real, y_real))
    x_last, y_last = is_nan(x_imag), is_nan(y_imag)
    differ = hlo.and_(numbers, hlo.xor(x_last, y_last))
    by_parts = hlo.or_(real_less, hlo.and_(real_same, precedes(x_imag, y_imag, descending)))
    return hlo.select(differ, y_last, by_parts)


@cache
def comparator(
    keys: tuple[hlo.ElementType, ...], others: tuple[hlo.ElementType, ...] = (), descending: bool = False
) -> hlo.Computation:
    """Compares elements in NumPy's order by the first key, those that are equal by the second one, and so on."""

    def comes_before(*parameters: Instruction) -> Instruction:
        pairs = [parameters[2 * number : 2 * number + 2] for number in range(len(keys))]
        (first, second), *rest = pairs
        before = precedes(first, second, descending)
        if rest:
            undecided = hlo.not_(hlo.or_(before, precedes(second, first, descending)))
            for x, y in rest:
                precede, succeed = precedes(x, y, descending), precedes(y, x, descending)
                before = hlo.or_(before, hlo.and_(undecided, precede))
                undecided = hlo.and_(undecided, hlo.not_(hlo.or_(precede, succeed)))
        return before

    shapes = [hlo.Shape(kind) for kind in (*keys, *others) for _ in range(2)]
    name = "after" if descending else "before"
    return hlo.computation(f"{name}_{'_'.join(key.name for key in keys)}", shapes, comes_before)


def last_in_order(dtype: np.dtype, descending: bool = False) -> Any:
    """What no element of this dtype comes behind: NaN, where there are any."""
    last = {"f": np.nan, "V": np.nan, "c": complex(np.nan, np.nan), "b": not descending}.get(dtype.kind)  # V: ml_dtypes
    if last is not None:
        return last
    return np.iinfo(dtype).min if descending else np.iinfo(dtype).max


def sorted_instruction(
    trace: Trace, operand: Instruction, axis: int, is_stable: bool = False, descending: bool = False
) -> Instruction:
    """The operand sorted along a dimension; only zeros and NaN show whether it is stable."""
    shape = operand.shape
    if (
        shape.element_type.is_complex
        and shape.rank == 1
        and shape.size >= _LEAST_SORTED_BY_EACH
        and not shape.has_dynamic_dimensions
    ):
        return elements_at(operand, sorting_positions(trace, [operand], axis, descending))
    order = comparator((operand.shape.element_type,), (), descending)
    return hlo.sort(operand, dimensions=(axis,), is_stable=is_stable, to_apply=order)


def sorting_positions(trace: Trace, keys: Sequence[Instruction], axis: int, descending: bool = False) -> Instruction:
    """The s64 positions of the elements in sorted order, the first key counting most."""
    shape = keys[0].shape.without_layout()
    if shape.rank == 1 and shape.size >= _LEAST_SORTED_BY_EACH and not shape.has_dynamic_dimensions:
        if len(keys) == 1 and shape.element_type.is_complex:
            return _complex_positions(trace, keys[0], descending)
        keys = [part for key in keys for part in _plain_keys(key, descending)]
        if len(keys) > 1:
            return _sorted_by_each(trace, keys, descending)
    positions = hlo.iota(shape.with_element_type(hlo.S64), axis)
    order = comparator(tuple(key.shape.element_type for key in keys), (hlo.S64,), descending)
    together = hlo.sort(*keys, positions, dimensions=(axis,), is_stable=True, to_apply=order)
    return hlo.get_tuple_element(together, len(keys))


# Of fewer elements, one sort by all keys is faster than one by each.
_LEAST_SORTED_BY_EACH = 64


def _plain_keys(key: Instruction, descending: bool) -> list[Instruction]:
    """Keys without complex numbers, which order elements as this one does: NaN are behind the others in either direction."""
    if not key.shape.element_type.is_complex:
        return [key]
    parts = hlo.real(key), hlo.imag(key)
    imag_is_nan, real_is_nan = (hlo.convert(is_nan(part), hlo.U8) for part in reversed(parts))
    kind = hlo.add(hlo.multiply(real_is_nan, 2), imag_is_nan)
    return [hlo.subtract(3, kind) if descending else kind, *parts]


def _complex_positions(trace: Trace, key: Instruction, descending: bool) -> Instruction:
    """As `sorting_positions` of a line of complex numbers: by their real parts alone, where these turn out to decide."""
    (size,), builder = key.shape.dimensions, hlo.current_builder()
    positions = sorting_positions(trace, [hlo.real(key)], 0, descending)
    real = elements_at(hlo.real(key), positions)
    is_before = precedes(hlo.slice(real, (0,), (size - 1,)), hlo.slice(real, (1,), (size,)), descending)
    undecided = hlo.or_(_any(hlo.not_(is_before)), _any(is_nan(hlo.imag(key))))
    both = hlo.tuple(key, positions)

    def by_each(both: Instruction) -> Instruction:
        return _sorted_by_each(trace, _plain_keys(hlo.get_tuple_element(both, 0), descending), descending)

    def as_found(both: Instruction) -> Instruction:
        return hlo.get_tuple_element(both, 1)

    branches = (hlo.computation(f"sort_{one.__name__}", [both.shape], one, builder.where) for one in (by_each, as_found))
    return hlo.conditional(undecided, both, both, **dict(zip(("true_computation", "false_computation"), branches)))


def _any(line: Instruction) -> Instruction:
    return hlo.reduce(line, hlo.constant(False), dimensions=(0,), to_apply=hlo.scalar_computation("or", hlo.PRED))


def _sorted_by_each(trace: Trace, keys: Sequence[Instruction], descending: bool) -> Instruction:
    """As `sorting_positions` of a line: stable sorts by the last key, by the one in front of it, and so on."""
    *others, last = keys
    positions = sorting_positions(trace, [last], 0, descending)
    for key in reversed(others):
        positions = elements_at(positions, sorting_positions(trace, [elements_at(key, positions)], 0, descending))
    return positions


def _check_kind(kind: Any, order: Any, stable: Any = None, descending: Any = None) -> None:
    for name, given in (("stable", stable), ("descending", descending)):
        if kind is not None and given is not None:
            raise ValueError(f"`kind` and `{name}` parameters can't be provided at the same time. Use only one of them.")
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    if kind is not None:
        if not isinstance(kind, str):
            raise TypeError(f"sort kind must be str or None, not {type(kind).__name__}")
        if kind[:1] not in ("q", "h", "m", "s", "Q", "H", "M", "S"):
            raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got '{kind}')")


def _operand(a: Any, axis: Any) -> tuple[Trace, Instruction, int]:
    """The array, flattened where the axis is None, and the axis as a dimension number."""
    a = as_strong(prepare(a))
    if axis is None:
        a, axis = a.reshape(-1), 0
    trace, operand = value(a)
    return trace, operand, normalize_axis(axis, operand.shape.rank)


@implements(np.sort)
def sort(a, axis=-1, kind=None, order=None, *, stable=None, descending=None):
    """``kind`` and ``stable`` decide whether equal elements keep their order."""
    _check_kind(kind, order, stable, descending)
    a = as_strong(prepare(a))
    given = () if axis is None else (a,)
    trace, operand, axis = _operand(a, axis)
    is_stable = bool(stable) or kind in ("stable", "mergesort")
    return laid_out(result(trace, sorted_instruction(trace, operand, axis, is_stable, bool(descending))), given, as_copy=True)


@implements(np.argsort)
def argsort(a, axis=-1, kind=None, order=None, *, stable=None, descending=None):
    """Stable, whatever kind is asked for."""
    _check_kind(kind, order, stable, descending)
    require_no_bool(axis)
    a = as_strong(prepare(a))
    trace, operand, axis = _operand(a.reshape(1) if a.ndim == 0 else a, axis)
    return result(trace, sorting_positions(trace, [operand], axis, bool(descending)))


@implements(np.sort_complex)
def sort_complex(a):
    ordered = sort(a)
    if ordered.element_type.is_complex:
        return ordered
    narrow = ordered.dtype.kind in "iu" and ordered.dtype.itemsize <= 2
    return ordered.astype(np.complex64 if narrow else np.complex128)


@implements(np.lexsort)
def lexsort(keys, axis=-1):
    rows = [as_strong(row) for row in keys]
    if not rows:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if len({row.shape for row in rows}) > 1:
        raise ValueError("all keys need to be the same shape")
    if rows[0].ndim == 0:
        normalize_axis(axis, 1)
        return np.zeros_like(rows[0], dtype=np.int64)[()]
    trace = require_trace(*rows)
    axis = normalize_axis(axis, rows[0].ndim)
    return result(trace, sorting_positions(trace, [row.instruction(trace) for row in reversed(rows)], axis))


def _check_positions(kth: Any, kind: str, size: int) -> None:
    """The positions of a partition are integers within the axis."""
    if kind != "introselect":
        raise ValueError(f"select kind must be 'introselect' (got '{kind}')")
    if not isinstance(kth, TracedArray):
        array = np.asarray(kth)
        if array.dtype.kind not in "iu":
            raise TypeError("Partition index must be integer")
        if array.ndim > 1:
            raise ValueError("kth array must have dimension <= 1")
        kth = array.ravel()
    if not size:
        return
    for one in kth if len(getattr(kth, "shape", ())) else [kth]:
        position = as_index(one, "as the position of a partition")
        if not -size <= position < size:
            raise ValueError(f"kth(={position}) out of bounds ({size})")


@implements(np.partition)
def partition(a, kth, axis=-1, kind="introselect", order=None):
    """All elements sorted, which is a partition at every position."""
    _check_kind(None, order, None)
    a = as_strong(prepare(a))
    given = () if axis is None else (a,)
    trace, operand, axis = _operand(a, axis)
    _check_positions(kth, kind, operand.shape.dimensions[axis])
    return laid_out(result(trace, sorted_instruction(trace, operand, axis)), given, as_copy=True)


# A line of fewer elements is sorted as fast; as many elements at an end are found in one pass.
_LONG_LINE, _FEW = 4096, 64


@implements(np.argpartition)
def argpartition(a, kth, axis=-1, kind="introselect", order=None):
    """The positions of all elements sorted, which is a partition at every position; of a long line, a partition at one."""
    _check_kind(None, order, None)
    a = as_strong(prepare(a))
    trace, operand, axis = _operand(a.reshape(1) if a.ndim == 0 else a, axis)
    size = operand.shape.dimensions[axis]
    _check_positions(kth, kind, size)
    is_one = not isinstance(kth, TracedArray) and np.size(kth) == 1
    if is_one and operand.shape.dimensions == (size,) and size >= _LONG_LINE and operand.shape.element_type.has_order_of_bytes:
        return result(trace, _partitioning_positions(trace, operand, int(np.ravel(kth)[0]) % size))
    return result(trace, sorting_positions(trace, [operand], axis))


def _partitioning_positions(trace: Trace, line: Instruction, place: int) -> Instruction:
    """The s64 positions of a line's elements, those of the least ones in front of a place, of the greatest behind it."""
    size, element_type = line.shape.size, line.shape.element_type
    # Of NaN the sign counts in a total order.
    line = hlo.select(hlo.ne(line, line), np.array(np.nan, element_type.dtype)[()], line) if element_type.is_float else line
    if min(place + 1, size - place) <= _FEW:
        largest = size - place <= _FEW
        best = hlo.convert(
            hlo.get_tuple_element(hlo.topk(line, k=size - place if largest else place + 1, largest=largest, is_stable=True), 1),
            hlo.S64,
        )
        others, _ = _positions_where(trace, _all_but(best, size))
        rest = hlo.slice(others, (0,), (size - best.shape.size,))
        return hlo.concatenate(*((rest, hlo.reverse(best, (0,))) if largest else (best, rest)), dimensions=(0,))
    in_order = hlo.sort(line, dimensions=(0,), to_apply=comparator((element_type,)))
    middle = hlo.reshape(hlo.slice(in_order, (place,), (place + 1,)), ())
    middle = hlo.broadcast(middle, (size,), ())
    is_before, is_behind = precedes(line, middle), precedes(middle, line)
    groups = [is_before, hlo.not_(hlo.or_(is_before, is_behind)), is_behind]
    found, start = hlo.broadcast(hlo.constant(np.int64(0)), (2 * size,), ()), hlo.constant(np.int64(0))
    for group in groups:
        positions, count = _positions_where(trace, group)
        found = hlo.dynamic_update_slice(found, positions, start)
        start = hlo.add(start, hlo.convert(count, hlo.S64))
    return hlo.slice(found, (0,), (size,))


def _all_but(positions: Instruction, size: int) -> Instruction:
    """A mask of a line without these positions."""
    everywhere = hlo.broadcast(hlo.constant(True), (size,), ())
    nowhere = hlo.broadcast(hlo.constant(False), positions.shape.dimensions, ())
    return hlo.scatter(
        everywhere, positions, nowhere, update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,),
        index_vector_dim=1, to_apply=second(hlo.PRED),
    )  # fmt: skip


def _positions_where(trace: Trace, mask: Instruction) -> tuple[Instruction, Instruction]:
    """The s64 positions at which a mask is true, in front of others, and how many there are."""
    return moved_together(trace, hlo.iota(mask.shape.with_element_type(hlo.S64), 0), mask)


# --- places in a sorted array ---


@implements(np.searchsorted)
def searchsorted(a, v, side="left", sorter=None):
    """A binary search for all values at once: one gather for each bit of a position."""
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    a, v = as_strong(prepare(a)), as_strong(prepare(v))
    if a.ndim != 1:
        raise ValueError("object too deep for desired array" if a.ndim else "object of too small depth for desired array")
    element_type = hlo.element_type_of(np.result_type(a.dtype, v.dtype))
    trace = require_trace(a, v)
    line, wanted = (convert(one.instruction(trace), element_type) for one in (a, v))
    if sorter is not None:
        line = elements_at(line, _sorter(sorter, a.shape[0]).instruction(trace)) if a.size else line
    return result(trace, _positions(line, wanted, side))


def _sorter(sorter: Any, size: int) -> TracedArray:
    sorter = as_strong(prepare(sorter))
    if not sorter.element_type.is_integer:
        raise TypeError("sorter must only contain integers")
    if sorter.ndim != 1:
        raise TypeError("object too deep for desired array")
    if sorter.shape[0] != size:
        raise ValueError("sorter.size must equal a.size")
    outside = np.any((sorter < 0) | (sorter >= size))
    require_trace(sorter).add_error_flag(outside.instruction(require_trace(sorter)), ValueError, "Sorter index out of range.")
    return sorter


def elements_at(line: Instruction, positions: Instruction) -> Instruction:
    """The elements of an array of one dimension at positions, which are moved into it."""
    rank = positions.shape.rank
    return hlo.gather(
        line, positions, offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,), index_vector_dim=rank,
        slice_sizes=(1,),
    )  # fmt: skip


# A walk along a line that is so many times as long as what is wanted takes longer than searches do, and so do few steps.
_LONGEST_WALK, _LEAST_WALKED = 4, 64


# In so short a line all elements are compared, which needs no gathers.
_MOST_COUNTED = 12


def _positions(line: Instruction, wanted: Instruction, side: str) -> Instruction:
    """As `_search`: by a walk along the line where the values that are wanted turn out to be in order, too.

    Not where many threads run: they would take its steps one after the other.
    """
    count, size = wanted.shape.size, line.shape.size
    if size <= _MOST_COUNTED < count:
        return _counted(line, wanted, side)
    if wanted.shape.rank != 1 or count < _LEAST_WALKED or not 0 < size <= _LONGEST_WALK * count:
        return _search(line, wanted, side)
    following, first = hlo.slice(wanted, (1,), (count,)), hlo.slice(wanted, (0,), (count - 1,))
    falls = _any(precedes(following, first))
    falls = hlo.custom_call(falls, shape=falls.shape, custom_call_target=PREFERENCE)
    both = hlo.tuple(line, wanted)
    where = hlo.current_builder().where

    def branch(name: str, positions: Callable) -> hlo.Computation:
        def of_both(both: Instruction) -> Instruction:
            return positions(hlo.get_tuple_element(both, 0), hlo.get_tuple_element(both, 1), side)

        return hlo.computation(name, [both.shape], of_both, where)

    return hlo.conditional(
        falls, both, both, true_computation=branch("search", _search), false_computation=branch("walk", _walk)
    )


def _counted(line: Instruction, wanted: Instruction, side: str) -> Instruction:
    """As `_search`, by comparing with every element of the line."""
    positions = hlo.full(wanted.shape.without_layout().with_element_type(hlo.S64), 0)
    for number in range(line.shape.size):
        one = hlo.reshape(hlo.slice(line, (number,), (number + 1,)), ())
        element = hlo.broadcast_in_dim(one, wanted.shape.dimensions, ()) if wanted.shape.rank else one
        passed = hlo.not_(precedes(wanted, element)) if side == "right" else precedes(element, wanted)
        positions = hlo.add(positions, hlo.convert(passed, hlo.S64))
    return positions


def _walk(line: Instruction, wanted: Instruction, side: str) -> Instruction:
    """As `_search` of values in order: each is as far in the line as the one in front of it, or farther."""
    (size,), (count,) = line.shape.dimensions, wanted.shape.dimensions
    positions = hlo.full(wanted.shape.without_layout().with_element_type(hlo.S64), 0)
    where = hlo.current_builder().where

    def element(array: Instruction, position: Instruction) -> Instruction:
        return hlo.reshape(hlo.dynamic_slice(array, position, sizes=(1,)), ())

    def is_passed(state: Instruction) -> Instruction:
        place, value, line = (hlo.get_tuple_element(state, number) for number in range(3))
        other = element(line, hlo.minimum(place, size - 1))
        passed = hlo.not_(precedes(value, other)) if side == "right" else precedes(other, value)
        return hlo.and_(hlo.lt(place, size), passed)

    def step(state: Instruction) -> Instruction:
        place, value, line = (hlo.get_tuple_element(state, number) for number in range(3))
        return hlo.tuple(hlo.add(place, 1), value, line)

    def unfinished(state: Instruction) -> Instruction:
        return hlo.lt(hlo.get_tuple_element(state, 0), count)

    def next_value(state: Instruction) -> Instruction:
        number, place, positions, line, wanted = (hlo.get_tuple_element(state, one) for one in range(5))
        begin = hlo.tuple(place, element(wanted, number), line)
        condition, body = (hlo.computation(f"walk_{one.__name__}", [begin.shape], one, where) for one in (is_passed, step))
        place = hlo.get_tuple_element(hlo.while_(begin, condition=condition, body=body), 0)
        positions = hlo.dynamic_update_slice(positions, hlo.reshape(place, (1,)), number)
        return hlo.tuple(hlo.add(number, 1), place, positions, line, wanted)

    zero = hlo.constant(np.int64(0))
    state = hlo.tuple(zero, zero, positions, line, wanted)
    condition, body = (hlo.computation(f"walk_{one.__name__}", [state.shape], one, where) for one in (unfinished, next_value))
    return hlo.get_tuple_element(hlo.while_(state, condition=condition, body=body), 2)


def _search(line: Instruction, wanted: Instruction, side: str) -> Instruction:
    """How many elements of a sorted line come before each wanted value; with side "right", or are equal to it."""
    (size,) = line.shape.dimensions
    shape = wanted.shape.without_layout().with_element_type(hlo.S64)
    position = hlo.full(shape, 0)
    for bit in reversed(range(size.bit_length())):
        step = 1 << bit
        element = elements_at(line, hlo.add(position, step - 1))
        passed = hlo.not_(precedes(wanted, element)) if side == "right" else precedes(element, wanted)
        inside = hlo.le(position, size - step)
        position = hlo.select(hlo.and_(inside, passed), hlo.add(position, step), position)
    return position


@implements(np.digitize)
def digitize(x, bins, right=False):
    x, bins = as_strong(prepare(x)), as_strong(prepare(bins))
    if x.element_type.is_complex:
        raise TypeError("x may not be complex")
    if bins.element_type.is_complex:
        raise TypeError(f"Cannot cast array data from dtype('{bins.dtype}') to dtype('float64') according to the rule 'safe'")
    if bins.ndim != 1:
        raise ValueError("object too deep for desired array")
    side = "left" if right else "right"
    if bins.shape[0] < 2:
        return searchsorted(bins, x, side)
    trace = require_trace(x, bins)
    rising, falling = np.all(bins[:-1] <= bins[1:]), np.all(bins[:-1] >= bins[1:])
    neither = ~(rising | falling)
    trace.add_error_flag(neither.instruction(trace), ValueError, "bins must be monotonically increasing or decreasing")
    places = searchsorted(np.where(rising, bins, bins[::-1]), x, side)
    return np.where(rising, places, bins.shape[0] - places)[()]

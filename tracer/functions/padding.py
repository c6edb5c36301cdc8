"""`np.pad` in its modes, one dimension after the other: slices, reversals and broadcasts, joined."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, as_index, require_trace
from ..recording.function_tables import DYNAMIC, implements
from ..recording.memory_order import in_order_of
from ..recording.operands import as_traced, broadcast, convert, instruction_of, result
from ..recording.trace import Trace
from .shape_manipulation import part

Instruction = hlo.Instruction

_BY_POSITION = ("edge", "reflect", "symmetric", "wrap")
_BY_VALUE = ("maximum", "mean", "minimum", "median")
_KEYWORDS = {
    "constant": {"constant_values"}, "linear_ramp": {"end_values"}, "reflect": {"reflect_type"}, "symmetric": {"reflect_type"},
    **dict.fromkeys(_BY_VALUE, {"stat_length"}),
}  # fmt: skip


def pairs_of(value: Any, rank: int, name: str) -> list[tuple[Any, Any]]:
    """For each dimension what goes before and after: from one value, one pair, one pair each, or a dict of axes.

    Raises ValueError where there are other numbers of them.
    """
    if isinstance(value, dict):
        found = [(0, 0)] * rank
        for axis, one in value.items():
            (found[axis],) = pairs_of(one, 1, name)
        return found
    rows = _parts(value)
    if rows is None:
        return [(value, value)] * rank
    inside = list(map(_parts, rows))
    pairs = [tuple(rows)] if not any(inside) else [tuple(row or ()) for row in inside]
    if any(_parts(one) is not None for pair in pairs for one in pair):
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    if len(pairs) not in (1, rank) or any(len(pair) not in (1, 2) for pair in pairs):
        raise ValueError(
            f"operands could not be broadcast together with remapped shapes: {name} {value!r} for {rank} dimensions"
        )
    pairs = [pair * 2 if len(pair) == 1 else pair for pair in pairs]
    return pairs * rank if len(pairs) == 1 else pairs


def _parts(value: Any) -> list[Any] | None:
    if isinstance(value, (tuple, list, range)):
        return list(value)
    return [value[place] for place in range(value.shape[0])] if getattr(value, "ndim", 0) else None


def _traced_inside(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_traced_inside(one) for one in value)
    return isinstance(value, TracedArray)


def known_widths(pad_width: Any, rank: int) -> list[tuple[int, ...]]:
    """How many elements go before and after in each dimension. Raises ConcretizationError where that is not known."""
    pairs = pairs_of(pad_width, rank, "pad_width")
    kinds = {(one if isinstance(one, TracedArray) else np.asarray(one)).dtype.kind for pair in pairs for one in pair}
    if not kinds <= set("iu"):
        raise TypeError("`pad_width` must be of integral type.")
    widths = [tuple(as_index(one, "as a pad width") for one in pair) for pair in pairs]
    if any(one < 0 for pair in widths for one in pair):
        raise ValueError("index can't contain negative values")
    return widths


def _is_of_contents(width: Any) -> bool:
    """Whether arrays, and not numbers that may become known, decide how many elements these are."""
    if not isinstance(width, TracedArray) or width.known_value is not None:
        return False
    trace = require_trace(width)
    number = width.instruction(trace)
    return bool(trace.sources(number)) and not trace.may_become_known(number)


@implements(np.pad)
def pad(array, pad_width, mode="constant", **kwargs):
    """The widths must be known while tracing; a function as mode is the business of `capture/calls/numpy_sources.py`."""
    array = as_traced(array)
    pairs = pairs_of(pad_width, array.ndim, "pad_width")
    if mode == "constant" and any(_is_of_contents(one) for pair in pairs for one in pair):
        return DYNAMIC[np.pad](array, pad_width, **kwargs)
    widths = known_widths(pad_width, array.ndim)
    if mode not in ("constant", "empty", "linear_ramp", *_BY_POSITION, *_BY_VALUE):
        raise ValueError(f"mode '{mode}' is not supported")
    unsupported = set(kwargs) - _KEYWORDS.get(mode, set())
    if unsupported:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unsupported}")
    trace = require_trace(array)
    operand = array.instruction(trace)
    if not array.ndim:
        return TracedArray.from_instruction(trace, operand, is_scalar=False)
    if mode in ("constant", "empty"):
        return in_order_of(result(trace, _constant(trace, operand, widths, kwargs.get("constant_values", 0))), array)
    lengths = pairs_of(kwargs.get("stat_length"), array.ndim, "stat_length")
    if mode in ("maximum", "minimum") and any(length == 0 for pair in lengths for length in pair if length is not None):
        raise ValueError("stat_length of 0 yields no value for padding")
    for axis, (before, after) in enumerate(widths):
        if before == after == 0:
            continue
        if operand.shape.dimensions[axis] == 0:
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
        if mode in _BY_POSITION:
            odd = kwargs.get("reflect_type", "even") == "odd"
            operand = _by_position(trace, operand, axis, before, after, mode, odd)
        elif mode == "linear_ramp":
            ends = pairs_of(kwargs.get("end_values", 0), array.ndim, "end_values")[axis]
            operand = _ramp(trace, operand, axis, before, after, ends)
        else:
            if any(length is not None and not isinstance(length, TracedArray) and length < 0 for length in lengths[axis]):
                raise ValueError("index can't contain negative values")
            operand = _by_value(trace, operand, axis, before, after, mode, lengths[axis])
    return in_order_of(result(trace, operand), array)


def _constant(trace: Trace, operand: Instruction, widths: list, values: Any) -> Instruction:
    rank = operand.shape.rank
    pairs = pairs_of(values, rank, "constant_values")
    element_type = operand.shape.element_type
    if not _traced_inside(values) and len({value for pair in pairs for value in map(_number, pair)}) <= 1:
        value = instruction_of(trace, _number(pairs[0][0]) if pairs else 0, element_type)
        return hlo.pad(operand, value, padding=[(*pair, 0) for pair in widths]) if any(map(any, widths)) else operand
    if isinstance(values, TracedArray) and values.ndim == 0:
        return hlo.pad(operand, instruction_of(trace, values, element_type), padding=[(*pair, 0) for pair in widths])
    for axis, (sizes, pair) in enumerate(zip(widths, pairs)):
        for side, (count, value) in enumerate(zip(sizes, pair)):
            if count:
                padding = [(0, 0, 0)] * rank
                padding[axis] = (count, 0, 0) if side == 0 else (0, count, 0)
                operand = hlo.pad(operand, hlo.reshape(instruction_of(trace, value, element_type), ()), padding=padding)
    return operand


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, (np.generic, np.ndarray)) else value


def _by_position(trace: Trace, operand: Instruction, axis: int, before: int, after: int, mode: str, odd: bool) -> Instruction:
    """Copies of elements. Where each element comes from is what np.pad makes of the positions themselves."""
    size = operand.shape.dimensions[axis]
    if odd and mode in ("reflect", "symmetric"):
        return _odd(trace, operand, axis, before, after, mode)
    positions = np.pad(np.arange(size), (before, after), mode=mode)
    steps = np.diff(positions)
    # A run is a stretch of positions with one step; where two meet, the first takes both ends.
    parts, start = [], 0
    while start < len(positions):
        step = int(steps[start]) if start < len(steps) and abs(steps[start]) <= 1 else None
        stop = start + 1
        if step is not None:
            changes = np.flatnonzero(steps[start:] != step)
            stop = start + 1 + (int(changes[0]) if len(changes) else len(steps) - start)
        parts.append(_run(trace, operand, axis, int(positions[start]), step or 0, stop - start))
        start = stop
    return parts[0] if len(parts) == 1 else hlo.concatenate(*parts, dimensions=(axis,))


def _run(trace: Trace, operand: Instruction, axis: int, first: int, step: int, count: int) -> Instruction:
    if step == 0:
        one = part(trace, operand, axis, first, first + 1)
        sizes = list(operand.shape.dimensions)
        sizes[axis] = count
        return broadcast(one, tuple(sizes))
    last = first + step * (count - 1)
    piece = part(trace, operand, axis, min(first, last), max(first, last) + 1)
    return piece if step > 0 else hlo.reverse(piece, dimensions=(axis,))


def _odd(trace: Trace, operand: Instruction, axis: int, before: int, after: int, mode: str) -> Instruction:
    """The reflection through the edge element: twice the edge minus the mirrored elements."""
    size = operand.shape.dimensions[axis]
    inner = 1 if mode == "reflect" else 0
    if max(before, after) > size - inner:
        raise NotImplementedError(
            f"np.pad with reflect_type='odd' by more than {size - inner} elements is not implemented for traced arrays"
        )
    edges = part(trace, operand, axis, 0, 1), part(trace, operand, axis, size - 1, size)
    ranges = (inner, inner + before), (size - inner - after, size - inner)
    parts = [operand]
    for side, (edge, (start, stop)) in enumerate(zip(edges, ranges)):
        if stop == start:
            continue
        mirrored = hlo.reverse(part(trace, operand, axis, start, stop), dimensions=(axis,))
        twice = broadcast(hlo.add(edge, edge), mirrored.shape.dimensions)
        parts.insert(len(parts) if side else 0, hlo.subtract(twice, mirrored))
    return hlo.concatenate(*parts, dimensions=(axis,))


def _ramp(trace: Trace, operand: Instruction, axis: int, before: int, after: int, ends: tuple) -> Instruction:
    """From the edge to the end value in equal steps, the end value included."""
    size = operand.shape.dimensions[axis]
    element_type = operand.shape.element_type
    edges = part(trace, operand, axis, 0, 1), part(trace, operand, axis, size - 1, size)
    parts = [operand]
    for side, (count, end, edge) in enumerate(zip((before, after), ends, edges)):
        if not count:
            continue
        edge = np.squeeze(result(trace, edge), axis=axis)
        ramp = np.linspace(end, edge, count, endpoint=False, dtype=element_type.dtype, axis=axis)
        ramp = ramp if side == 0 else np.flip(ramp, axis)
        parts.insert(len(parts) if side else 0, ramp.instruction(trace))
    return hlo.concatenate(*parts, dimensions=(axis,))


def _by_value(trace: Trace, operand: Instruction, axis: int, before: int, after: int, mode: str, lengths: tuple) -> Instruction:
    """A statistic of the elements next to each edge (by default of all)."""
    function = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}[mode]
    size = operand.shape.dimensions[axis]
    parts = [operand]
    for side, (count, length) in enumerate(zip((before, after), lengths)):
        if not count:
            continue
        length = size if length is None else min(as_index(length, "as a stat_length"), size)
        near = part(trace, operand, axis, 0, length) if side == 0 else part(trace, operand, axis, size - length, size)
        statistic = function(result(trace, near), axis=axis, keepdims=True)
        if operand.shape.element_type.is_integer and mode == "mean":
            statistic = np.rint(statistic)
        sizes = list(operand.shape.dimensions)
        sizes[axis] = count
        value = convert(statistic.instruction(trace), operand.shape.element_type)
        parts.insert(len(parts) if side else 0, broadcast(value, tuple(sizes)))
    return hlo.concatenate(*parts, dimensions=(axis,))

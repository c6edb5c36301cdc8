"""What masks say of the arrays behind them: the sizes in front of which they are true, and what holds nothing behind these.

``select(iota < size, x, 0)`` has zeros behind the size, and a reduction by addition need not go there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from ..hlo import PRED, S32, S64, Computation, Instruction, Shape, make_instruction
from .fused_computations import result_roots
from .known_values import known_value
from .traversal import scalar_under


class Reach(NamedTuple):
    """So many elements are needed in any case, and, where there is a size, those in front of it."""

    size: Instruction | None
    least: int


# For each dimension what says how far it is needed, as a rule the size behind which it is not; None where all of it is.
Need = tuple[Instruction | Reach | None, ...]
# The size that a scalar inside of a computation stands for, None where it stands for none.
Outside = Callable[[Instruction], "Instruction | None"]

_NARROW, _WIDE = Shape(S32), Shape(S64)
_FALSE = make_instruction("constant", (), {"literal": np.bool_(False)})
# Of operations that bound a number, which operands are lower bounds.
_LOWER_BOUNDS = {"clamp": slice(1), "maximum": slice(None), "minimum": slice(0)}


def unclamped(size: Instruction) -> Instruction:
    """The size without the bounds that it is given, which are the array's own: a loop stops there in any case.

    The same number in a wider type may be there later.
    """
    while size.opcode in _LOWER_BOUNDS or size.opcode == "convert":
        if size.opcode == "convert":
            if size.shape != _WIDE or size.operands[0].shape != _NARROW:
                break
            (size,) = size.operands
            continue
        values = [operand for operand in size.operands if operand.opcode != "constant"]
        lowest = [one for one in size.operands[_LOWER_BOUNDS[size.opcode]] if one.opcode == "constant"]
        if len(values) != 1 or any(one.attributes["literal"] > 0 for one in lowest):
            break
        if size.opcode == "clamp" and values[0] is not size.operands[1]:
            break
        (size,) = values
    return size


def farther(one: Instruction | Reach | None, other: Instruction | Reach | None) -> Instruction | Reach | None:
    """How far a dimension is needed that is needed as far as two users need it."""
    if one is other or one is None or other is None:
        return one if one is other else None
    first, second = (part if isinstance(part, Reach) else Reach(part, 0) for part in (one, other))
    if None not in (first.size, second.size) and first.size is not second.size:
        return None
    return Reach(second.size if first.size is None else first.size, max(first.least, second.least))


def need_of_reduced(reduce: Instruction, need: Need, outside: Outside) -> Need:
    """How far a reduction has to go: behind a mask there is what changes nothing."""
    value, *others = reduce.operands
    reduced = reduce.attributes["dimensions"]
    kept = iter(need)
    found = tuple([None if d in reduced else next(kept) for d in range(value.shape.rank)])
    if len(others) != 1 or value.opcode not in ("select", "and") or not value.operands[0].shape.rank:
        return found
    predicate, otherwise = (value.operands[0], value.operands[2]) if value.opcode == "select" else (value, _FALSE)
    if not _changes_nothing(otherwise, others[0], reduce.attributes["to_apply"]):
        return found
    within = within_mask((None,) * value.shape.rank, predicate, outside)
    return tuple([within[d] if d in reduced else size for d, size in enumerate(found)])


def _changes_nothing(value: Instruction, init: Instruction, to_apply: Computation) -> bool:
    """Whether this is the number with which the reduction begins, and which it combines with any other to that one."""
    operation = to_apply.combining_operation
    identity = None if operation is None else operation.identity(value.shape.element_type)
    filled, first = _number(value), _number(init)
    if identity is None or filled is None or first is None:
        return False
    return bool(filled == identity and first == identity)


def _number(value: Instruction) -> np.ndarray | None:
    while value.opcode == "broadcast":
        (value,) = value.operands
    literal = value.attributes["literal"] if value.opcode == "constant" else None
    return literal if literal is not None and not literal.shape else None


def inside_of(starts: Instruction, scatter: Instruction) -> Need:
    """How far start indices have to be looked at: behind a mask there are those that lie outside of the operand."""
    whole = (None,) * starts.shape.rank
    value, outside = _computed(starts)
    dimensions = scatter.attributes["scatter_dims_to_operand_dims"]
    if value.opcode != "select" or not value.operands[0].shape.rank or len(dimensions) != 1:
        return whole
    predicate, _, otherwise = value.operands
    place = _number(otherwise)
    if place is None or 0 <= place < scatter.operands[0].shape.dimensions[dimensions[0]]:
        return whole
    return within_mask(whole, predicate, outside)


def size_before_last(operand: Instruction, number: int, sort: Instruction) -> Instruction | None:
    """The size behind which an operand of a sort has what comes before nothing, in the dimension that is sorted."""
    value, outside = _computed(operand)
    predicate, last = value, np.bool_(False)
    if value.opcode == "select" and value.operands[0].shape.rank:
        predicate, last = value.operands[0], _number(value.operands[2])
    elif value.shape.element_type is not PRED:
        return None
    if last is None or known_value(sort.attributes["to_apply"].root, {2 * number: last}) != False:  # noqa: E712, not None
        return None
    (along,) = sort.attributes["dimensions"]
    return next((size for d, size in sizes_of_mask(predicate, outside) if d == along and size is not None), None)


def size_before_worst(topk: Instruction) -> Instruction | None:
    """The size behind which the operand of a topk of the least has what comes behind all others."""
    value, outside = _computed(topk.operands[0])
    while _leaves_nan(value):
        value = value.operands[2]
    if topk.attributes["largest"] or value.opcode != "select" or not value.operands[0].shape.rank:
        return None
    last, kind = _number(value.operands[2]), value.shape.element_type
    if last is None or not (np.isnan(last) if kind.is_float else kind.is_integer and last == np.iinfo(last.dtype).max):
        return None
    return next((size for d, size in sizes_of_mask(value.operands[0], outside) if d == value.shape.rank - 1), None)


def _leaves_nan(value: Instruction) -> bool:
    """Whether this is ``select(x != x, NaN, x)``."""
    if value.opcode != "select" or value.operands[0].opcode != "compare" or not value.shape.element_type.is_float:
        return False
    predicate, filled, other = value.operands
    number = _number(filled)
    is_test = predicate.attributes["direction"] == "NE" and predicate.operands == (other, other)
    return is_test and number is not None and bool(np.isnan(number))


def sizes_before_zeros(operand: Instruction) -> dict[int, Instruction]:
    """By dimension the size behind which an operand is zero."""
    value, outside = _computed(operand)
    if value.opcode != "select" or not value.operands[0].shape.rank or _number(value.operands[2]) != 0:
        return {}
    return {d: size for d, size in sizes_of_mask(value.operands[0], outside) if size is not None}


def _computed(value: Instruction) -> tuple[Instruction, Outside]:
    """What computes a value, in a fusion perhaps, and which sizes its scalar operands are."""
    fusion, leaf = (value.operands[0], value.attributes["index"]) if value.opcode == "get-tuple-element" else (value, 0)
    if fusion.opcode != "fusion":
        return value, unclamped
    computation = fusion.attributes["calls"]
    if computation.root.shape.is_tuple and computation.root.opcode != "tuple":  # one instruction with several results
        return value, unclamped
    roots = result_roots(computation)
    sizes = {parameter: unclamped(operand) for parameter, operand in zip(computation.parameters, fusion.operands)}
    return roots[leaf], sizes.get


def within_mask(need: Need, predicate: Instruction, outside: Outside) -> Need:
    """As far as it is needed, and the mask true: where nothing else says how far, a mask does."""
    found = list(need)
    for dimension, size in sizes_of_mask(predicate, outside):
        known = found[dimension]
        if known is None or isinstance(known, Reach) and known.size is None:
            found[dimension] = size
    return tuple(found)


def sizes_of_mask(predicate: Instruction, outside: Outside) -> Iterable[tuple[int, Instruction]]:
    """The dimensions in which a mask is true in front of a size only, with the sizes."""
    if predicate.opcode == "and":
        return [found for operand in predicate.operands for found in sizes_of_mask(operand, outside)]
    if predicate.opcode == "broadcast":
        places = predicate.attributes["dimensions"]
        return [(places[d], size) for d, size in sizes_of_mask(predicate.operands[0], outside)]
    if predicate.opcode != "compare" or predicate.attributes["direction"] != "LT":
        return []
    position, bound = predicate.operands
    if (scalar := scalar_under(bound)) is None:
        return []
    size = outside(scalar)
    dimension = _counted(position)
    return [] if size is None or dimension is None else [(dimension, size)]


def _counted(position: Instruction) -> int | None:
    """The dimension in which an array counts from 0."""
    if position.opcode == "iota":
        return position.attributes["iota_dimension"]
    if position.opcode == "broadcast" and position.operands[0].opcode == "iota":
        return position.attributes["dimensions"][position.operands[0].attributes["iota_dimension"]]
    return None

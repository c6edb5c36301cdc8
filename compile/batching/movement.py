"""Rules of `batch`: what moves elements, reads a block, or writes one."""

from __future__ import annotations

from collections.abc import Sequence

from ... import hlo
from ...hlo import Instruction
from ...hlo.operation import ELEMENTWISE
from ..loop_state import is_of_type, lies_inside
from .batch import Batch, rule
from .values import Fixed, Initial, NotBatchedError, Value, Varying, Written


@rule("reshape")
def _reshape(batch: Batch, reshape: Instruction, operands: Sequence[Value]) -> Value:
    (value,) = operands
    rows = batch.rows(value, reshape.operands[0].shape.dimensions)
    return Varying(hlo.reshape(rows, (batch.count, *reshape.shape.dimensions)), value.progression)


@rule("bitcast-convert")
def _bitcast_convert(batch: Batch, conversion: Instruction, operands: Sequence[Value]) -> Value:
    rows = batch.rows(operands[0], conversion.operands[0].shape.dimensions)
    return Varying(hlo.bitcast_convert(rows, conversion.shape.element_type))


@rule("broadcast")
def _broadcast(batch: Batch, broadcast: Instruction, operands: Sequence[Value]) -> Value:
    rows = batch.rows(operands[0], broadcast.operands[0].shape.dimensions)
    dimensions = [0, *(dimension + 1 for dimension in broadcast.attributes["dimensions"])]
    return Varying(hlo.broadcast(rows, (batch.count, *broadcast.shape.dimensions), dimensions))


@rule("slice")
def _slice(batch: Batch, operation: Instruction, operands: Sequence[Value]) -> Value:
    rows = batch.rows(operands[0], operation.operands[0].shape.dimensions)
    return Varying(hlo.emit("slice", rows, slice=[(0, batch.count, 1), *operation.attributes["slice"]]))


@rule("transpose")
def _transpose(batch: Batch, transpose: Instruction, operands: Sequence[Value]) -> Value:
    rows = batch.rows(operands[0], transpose.operands[0].shape.dimensions)
    return Varying(hlo.transpose(rows, dimensions=(0, *(d + 1 for d in transpose.attributes["dimensions"]))))


@rule("reverse")
def _reverse(batch: Batch, reverse: Instruction, operands: Sequence[Value]) -> Value:
    rows = batch.rows(operands[0], reverse.operands[0].shape.dimensions)
    return Varying(hlo.reverse(rows, dimensions=tuple(d + 1 for d in reverse.attributes["dimensions"])))


@rule("concatenate")
def _concatenate(batch: Batch, concatenate: Instruction, operands: Sequence[Value]) -> Value:
    parts = [batch.rows(value, operand.shape.dimensions) for value, operand in zip(operands, concatenate.operands)]
    (along,) = concatenate.attributes["dimensions"]
    return Varying(hlo.concatenate(*parts, dimensions=(along + 1,)))


@rule("dynamic-slice")
def _dynamic_slice(batch: Batch, operation: Instruction, operands: Sequence[Value]) -> Value:
    source, *places = operands
    return block_at(batch, source, tuple(places), operation.shape.dimensions)


def block_at(batch: Batch, source: Value, places: tuple[Value, ...], sizes: tuple[int, ...]) -> Value:
    """The block of these sizes that begins at the places, in each round."""
    if type(source) is Written:
        if is_there(source, places, sizes):
            return source.update
        raise NotBatchedError("an array is read after it has been written")
    source = batch.read(source, places)
    starts, moving = [place.instruction for place in places], _moving(places)
    if type(source) is Varying:
        if moving:
            raise NotBatchedError("each round reads another array in another place")
        zero = hlo.constant(0, starts[0].shape.element_type)
        return Varying(hlo.dynamic_slice(source.instruction, zero, *starts, sizes=(batch.count, *sizes)))
    array = source.instruction
    if not moving:
        return Fixed(hlo.dynamic_slice(array, *starts, sizes=sizes))
    along, start, step = moving_block(batch, places, sizes)
    rows = _lines(batch, array, starts, sizes, along, min(start, start + step * (batch.count - 1)), abs(step))
    if step < 0:
        rows = hlo.reverse(rows, dimensions=(along,))
    others = [dimension for dimension in range(len(sizes)) if dimension != along]
    rows = hlo.transpose(rows, dimensions=(along, *others)) if along else rows
    return Varying(hlo.reshape(rows, (batch.count, *sizes)))


def _lines(
    batch: Batch, array: Instruction, starts: list[Instruction], sizes: tuple[int, ...], along: int, low: int, step: int
) -> Instruction:
    """The lines ``low``, ``low + step``, ... of a block of the array, which lies at the starts in the other dimensions.

    As of a dynamic-slice, what is in front of the first line is the first, and what is behind the last is the last.
    """
    last, high = array.shape.dimensions[along] - 1, low + step * (batch.count - 1)
    first_inside, last_inside = max(low, 0), min(high, last)
    if first_inside > last_inside or step > 1 and (low, high) != (first_inside, last_inside):
        raise NotBatchedError("places that lie outside")
    starts = [*starts]
    starts[along] = hlo.constant(first_inside, starts[along].shape.element_type)
    extent = last_inside - first_inside + 1
    lines = hlo.dynamic_slice(array, *starts, sizes=(*sizes[:along], extent, *sizes[along + 1 :]))
    if step > 1:
        every = [step if dimension == along else 1 for dimension in range(len(sizes))]
        return hlo.slice(lines, [0] * len(sizes), lines.shape.dimensions, every)
    parts = [_repeated(lines, along, 0, first_inside - low), lines, _repeated(lines, along, extent - 1, high - last_inside)]
    parts = [part for part in parts if part.shape.size]
    return hlo.concatenate(*parts, dimensions=(along,)) if len(parts) > 1 else lines


def _repeated(lines: Instruction, along: int, number: int, count: int) -> Instruction:
    sizes = lines.shape.dimensions
    limits = [number + 1 if dimension == along else size for dimension, size in enumerate(sizes)]
    line = hlo.slice(lines, [number if dimension == along else 0 for dimension in range(len(sizes))], limits)
    return hlo.broadcast_in_dim(line, [count if d == along else size for d, size in enumerate(sizes)], range(len(sizes)))


def update_sizes(written: Written) -> tuple[int, ...]:
    dimensions = written.update.instruction.shape.dimensions
    return dimensions if type(written.update) is Fixed else dimensions[1:]


def is_there(written: Written, places: Sequence[Value], sizes: tuple[int, ...]) -> bool:
    """Whether a block of these sizes at these places is the one that has been written."""
    return sizes == update_sizes(written) and all(map(_same_place, places, written.places))


def _moving(places: Sequence[Value]) -> list[int]:
    return [dimension for dimension, place in enumerate(places) if type(place) is Varying]


def moving_block(batch: Batch, places: Sequence[Value], sizes: Sequence[int]) -> tuple[int, int, int]:
    """The dimension in which a block of these sizes moves from round to round, one line at a time: from which, by how many."""
    moving = _moving(places)
    if len(moving) == 1 and sizes[moving[0]] == 1:
        (along,) = moving
        found, integers = places[along].progression, places[along].instruction.shape.element_type
        if found is not None and found[1] and is_of_type(found, integers, batch.count):
            return along, *found
    raise NotBatchedError("a place that is not known to go on step by step")


@rule("dynamic-update-slice")
def _dynamic_update_slice(batch: Batch, operation: Instruction, operands: Sequence[Value]) -> Value:
    target, update, *places = operands
    sizes = operation.operands[1].shape.dimensions
    if type(target) is Written:
        if is_there(target, places, sizes):
            return target._replace(update=update)
        raise NotBatchedError("an array is written in two places")
    if type(target) is Initial:
        along, start, step = moving_block(batch, places, sizes)
        if not lies_inside((start, step), operation.shape.dimensions[along], batch.count):
            raise NotBatchedError("places that lie outside")
        if type(update) not in (Fixed, Varying):
            raise NotBatchedError("an array that the loop writes is used as a whole")
        return Written(target, tuple(places), update)
    if _moving(places):
        raise NotBatchedError("each round writes another array in another place")
    whole, part = batch.rows(target, operation.shape.dimensions), batch.rows(update, sizes)
    zero = hlo.constant(0, places[0].instruction.shape.element_type)
    return Varying(hlo.dynamic_update_slice(whole, part, zero, *(place.instruction for place in places)))


def _same_place(one: Value, other: Value) -> bool:
    """Whether two places are known to be one in each round."""
    if type(one) is not type(other):
        return False
    if type(one) is Varying:
        return one.progression is not None and one.progression == other.progression
    return _is_same(one.instruction, other.instruction)


def _is_same(one: Instruction, other: Instruction) -> bool:
    if one is other:
        return True
    if one.opcode != other.opcode or one.shape != other.shape or len(one.operands) != len(other.operands):
        return False
    if one.opcode == "constant":
        return not one.shape.rank and one.attributes["literal"] == other.attributes["literal"]
    is_known = ELEMENTWISE in one.operation.traits and one.attributes == other.attributes
    return is_known and all(map(_is_same, one.operands, other.operands))

"""Gather and scatter: indices are clamped to the sizes at run time, and those behind them lead nowhere."""

from __future__ import annotations

from ... import hlo
from ...hlo import S64, Instruction
from ...hlo.slices import SliceDimensions, slice_dimensions
from .movement import last_start, wide
from .padder import Padded, Padder, padded


@padded("gather")
def pad_gather(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    value, indices = operands
    attributes, blocks = instruction.attributes, instruction.attributes["slice_sizes"]
    numbers = slice_dimensions("gather", value.array.shape.rank, indices.array.shape.rank, attributes)
    bounds = value.array.shape.dimensions
    whole = {d for d in numbers.window_dims if d in value.sizes and blocks[d] == bounds[d]}
    lasts = []
    for d in numbers.index_map:
        if d in whole:
            lasts.append(hlo.constant(0, S64))
        elif d in value.sizes:
            lasts.append(last_start(p, value.sizes[d], blocks[d]))
        else:
            lasts.append(hlo.constant(bounds[d] - blocks[d], S64))
    starts = indices.array
    if lasts:
        starts = _clamped(p, starts, lasts, numbers.index_vector_dim)
    parts = [d for d in value.sizes if d not in whole and d not in numbers.batching]
    array = p.same(instruction, [p.masked(value, p.zero(value.array.shape), parts), starts])
    sizes = {o: value.sizes[w] for o, w in zip(numbers.offset_dims, numbers.window_dims) if w in whole}
    of_batch = [d for d in range(indices.array.shape.rank) if d != numbers.index_vector_dim]
    sizes |= {o: indices.sizes[d] for o, d in zip(numbers.batch_dims, of_batch) if d in indices.sizes}
    return Padded(array, sizes)


def _clamped(p: Padder, starts: Instruction, lasts: list[Instruction], index_vector_dim: int) -> Instruction:
    last = _of_each_start(starts.shape.dimensions, lasts, index_vector_dim)
    return hlo.clamp(hlo.constant(0, S64), wide(p, starts), last)


def _of_each_start(sizes: tuple[int, ...], values: list[Instruction], index_vector_dim: int) -> Instruction:
    """One s64[] for each element of an index vector, as an array of the sizes of the start indices."""
    if index_vector_dim == len(sizes):
        return hlo.broadcast(values[0], sizes, ()) if sizes else values[0]
    vector = hlo.concatenate(*(hlo.reshape(value, (1,)) for value in values), dimensions=(0,))
    return hlo.broadcast(vector, sizes, (index_vector_dim,))


@padded("scatter")
def pad_scatter(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded | tuple:
    count = len(operands) // 2
    arrays, indices = operands[:count], operands[count]
    agreed = p.agreed(instruction, operands)
    rank = arrays[0].array.shape.rank
    numbers = slice_dimensions("scatter", rank, indices.array.shape.rank, instruction.attributes)
    sizes = {d: size for (number, d), size in agreed.items() if number < count}
    of_updates = {d: size for (number, d), size in agreed.items() if number > count}
    for d, window in zip(numbers.offset_dims, numbers.window_dims):
        if d not in of_updates:
            continue
        words = "scatter of slices with dynamic dimensions has no native code but where the operand has the same sizes"
        if window in numbers.index_map or window not in sizes:
            raise NotImplementedError(f"{words}; the reference backend runs it")
        if of_updates[d] is not sizes[window]:
            different = hlo.ne(of_updates[d], sizes[window])
            p.fail_if(different, f"{words}; the reference backend runs it", NotImplementedError)
    of_batch = [d for d in range(indices.array.shape.rank) if d != numbers.index_vector_dim]
    valid = {}
    for d, of_update in zip(of_batch, numbers.batch_dims):
        both = [size for size in (indices.sizes.get(d), of_updates.get(of_update)) if size is not None]
        if len(both) == 2 and both[0] is not both[1]:
            different = hlo.ne(*both)
            p.fail_if(different, f"{instruction!r}: dimensions that must be equal have different sizes")
        if both and not numbers.index_map:
            raise NotImplementedError("scatter of dynamic dimensions without indices has no native code")
        if both:
            valid[d] = both[0]
    starts = wide(p, indices.array)
    rooms = {}
    for d, window in zip(numbers.offset_dims, numbers.window_dims):
        if window in sizes and d not in of_updates:
            room = p.scalar("subtract", sizes[window], operands[-1].array.shape.dimensions[d])
            too_small = hlo.lt(room, p.s32(0))
            p.fail_if(too_small, f"{instruction!r}: a window must not exceed the operand, whose size is smaller")
            rooms[window] = room
    starts = _without_those_behind(p, starts, numbers, rooms)
    if valid:
        starts = p.masked(Padded(starts, valid), hlo.constant(-1, S64))
    parts = [operand.array for operand in operands]
    parts[count] = starts
    result = p.unpacked(p.same(instruction, parts, indices_are_sorted=False))
    results = result if isinstance(result, tuple) else (result,)
    found = tuple(Padded(one.array, dict(sizes)) for one in results)
    return found if count > 1 else found[0]


def _without_those_behind(
    p: Padder, starts: Instruction, numbers: SliceDimensions, rooms: dict[int, Instruction]
) -> Instruction:
    """The starts of a scatter; -1 where the window reaches behind the size of a dimension, where the last start is its room."""
    if not rooms.keys() & {*numbers.index_map}:
        return starts
    sizes, anywhere = starts.shape.dimensions, hlo.constant(2**63 - 1, S64)
    lasts = [wide(p, rooms[d]) if d in rooms else anywhere for d in numbers.index_map]
    last = _of_each_start(sizes, lasts, numbers.index_vector_dim)
    nowhere = hlo.broadcast(hlo.constant(-1, S64), sizes, ())
    return hlo.select(hlo.le(starts, last), starts, nowhere)

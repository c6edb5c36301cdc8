"""Gather and scatter: indices are clamped to the sizes at run time, and those behind them lead nowhere."""

from __future__ import annotations

from ...hlo import S64, Instruction
from ...hlo.slices import slice_dimensions
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
            lasts.append(p.b.constant(0, S64))
        elif d in value.sizes:
            lasts.append(last_start(p, value.sizes[d], blocks[d]))
        else:
            lasts.append(p.b.constant(bounds[d] - blocks[d], S64))
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
    sizes = starts.shape.dimensions
    if index_vector_dim == len(sizes):
        last = p.b.broadcast(lasts[0], sizes, ()) if sizes else lasts[0]
    else:
        vector = p.b.emit("concatenate", *(p.b.reshape(last, (1,)) for last in lasts), dimensions=(0,))
        last = p.b.broadcast(vector, sizes, (index_vector_dim,))
    return p.b.emit("clamp", p.b.constant(0, S64), wide(p, starts), last)


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
            different = p.b.emit("compare", of_updates[d], sizes[window], direction="NE")
            p.fail_if(different, f"{words}; the reference backend runs it", NotImplementedError)
    of_batch = [d for d in range(indices.array.shape.rank) if d != numbers.index_vector_dim]
    valid = {}
    for d, of_update in zip(of_batch, numbers.batch_dims):
        both = [size for size in (indices.sizes.get(d), of_updates.get(of_update)) if size is not None]
        if len(both) == 2 and both[0] is not both[1]:
            different = p.b.emit("compare", *both, direction="NE")
            p.fail_if(different, f"{instruction!r}: dimensions that must be equal have different sizes")
        if both and not numbers.index_map:
            raise NotImplementedError("scatter of dynamic dimensions without indices has no native code")
        if both:
            valid[d] = both[0]
    starts = wide(p, indices.array)
    if valid:
        nowhere = p.b.constant(-1 - max(arrays[0].array.shape.dimensions), S64)
        starts = p.masked(Padded(starts, valid), nowhere)
    parts = [operand.array for operand in operands]
    parts[count] = starts
    result = p.unpacked(p.same(instruction, parts, indices_are_sorted=False))
    results = result if isinstance(result, tuple) else (result,)
    found = tuple(Padded(one.array, dict(sizes)) for one in results)
    return found if count > 1 else found[0]

"""Operations that move elements: sizes follow from the attributes, and elements behind them are kept out of the way."""

from __future__ import annotations

from ... import hlo
from ...hlo import S64, U64, Instruction
from .padder import Padded, Padder, padded


@padded("broadcast")
def pad_broadcast(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    (value,), dimensions = operands, instruction.attributes["dimensions"]
    array = p.same(instruction, [value.array], instruction.shape.static())
    return Padded(array, {dimensions[d]: size for d, size in value.sizes.items()})


@padded("transpose")
def pad_transpose(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    (value,), dimensions = operands, instruction.attributes["dimensions"]
    return Padded(p.same(instruction, [value.array]), {dimensions.index(d): size for d, size in value.sizes.items()})


@padded("bitcast-convert")
def pad_bitcast_convert(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    return Padded(p.same(instruction, [operands[0].array], instruction.shape.static()), dict(operands[0].sizes))


@padded("slice")
def pad_slice(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    (value,), ranges = operands, instruction.attributes["slice"]
    sliced, sizes, present = p.same(instruction, [value.array]), {}, []
    for d, size in value.sizes.items():
        start, limit, stride = ranges[d]
        if (start, limit, stride) == (0, value.array.shape.dimensions[d], 1) and instruction.shape.is_dynamic(d):
            sizes[d] = size
        elif instruction.shape.is_dynamic(d):
            room = p.scalar("subtract", hlo.minimum(size, p.s32(limit)), start)
            count = p.scalar("divide", p.scalar("add", room, stride - 1), stride)
            sizes[d] = hlo.maximum(count, p.s32(0))
        elif start < limit:
            present.append(hlo.gt(size, p.s32(start)))
    for condition in present:
        zeros = hlo.broadcast(p.zero(sliced.shape), sliced.shape.dimensions, ())
        sliced = hlo.select(condition, sliced, zeros)
    return Padded(sliced, sizes)


@padded("pad")
def pad_pad(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    value, fill = operands[0], operands[1].array
    sizes, changed = {}, []
    for d, size in value.sizes.items():
        low, high, interior = instruction.attributes["padding"][d]
        sizes[d] = size
        if (low, high, interior) != (0, 0, 0):
            changed.append(d)
            gaps = hlo.maximum(p.scalar("subtract", size, 1), p.s32(0))
            total = hlo.add(size, p.scalar("multiply", gaps, interior)) if interior else size
            sizes[d] = hlo.maximum(p.scalar("add", total, low + high), p.s32(0))
    return Padded(p.same(instruction, [p.masked(value, fill, changed), fill]), sizes)


@padded("concatenate")
def pad_concatenate(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    """Each operand is written over the padding of the one before it."""
    (along,) = instruction.attributes["dimensions"]
    sizes = {d: size for (_, d), size in p.agreed(instruction, operands).items()}
    if not instruction.shape.is_dynamic(along):
        return Padded(p.same(instruction, [operand.array for operand in operands]), sizes)
    bounds = instruction.shape.dimensions
    result, offset = hlo.broadcast(p.zero(instruction.shape), bounds, ()), p.s32(0)
    for operand in operands:
        starts = [offset if d == along else p.s32(0) for d in range(len(bounds))]
        result = hlo.dynamic_update_slice(result, operand.array, *starts)
        offset = hlo.add(offset, p.size(operand, along))
    return Padded(result, {**sizes, along: offset})


@padded("reverse")
def pad_reverse(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    """The padding that the reversal brings to the front is shifted out."""
    (value,) = operands
    array = p.same(instruction, [value.array])
    bounds = array.shape.dimensions
    for d in instruction.attributes["dimensions"]:
        if d in value.sizes and bounds[d]:
            padding = [(0, bounds[d] if other == d else 0, 0) for other in range(len(bounds))]
            longer = hlo.pad(array, p.zero(array.shape), padding=padding)
            start = hlo.subtract(p.s32(bounds[d]), value.sizes[d])
            starts = [start if other == d else p.s32(0) for other in range(len(bounds))]
            array = hlo.dynamic_slice(longer, *starts, sizes=bounds)
    return Padded(array, dict(value.sizes))


def wide(p: Padder, index: Instruction) -> Instruction:
    """Start indices as s64; those of u64 beyond it are 2**62."""
    if index.shape.element_type is U64:
        limit = hlo.constant(2**62, U64)
        limit = hlo.broadcast(limit, index.shape.dimensions, ()) if index.shape.rank else limit
        index = hlo.minimum(index, limit)
    return hlo.convert(index, S64)


def last_start(p: Padder, size: Instruction, block: Instruction | int) -> Instruction:
    """The largest start, as s64, at which the block lies inside of the size; 0 where it is larger."""
    return hlo.convert(hlo.maximum(p.scalar("subtract", size, block), p.s32(0)), S64)


def clamped(p: Padder, index: Instruction, last: Instruction) -> Instruction:
    return hlo.clamp(hlo.constant(0, S64), wide(p, index), last)


@padded("dynamic-slice")
def pad_dynamic_slice(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    value, blocks = operands[0], instruction.attributes["sizes"]
    starts = []
    for d, start in enumerate(operands[1:]):
        is_dynamic = d in value.sizes
        last = last_start(p, value.sizes[d], blocks[d]) if is_dynamic else None
        starts.append(clamped(p, start.array, last) if last is not None else wide(p, start.array))
    return Padded(p.same(instruction, [p.masked(value, p.zero(value.array.shape)), *starts]))


@padded("dynamic-update-slice")
def pad_dynamic_update_slice(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    value, update, starts = operands[0], operands[1], []
    bounds, blocks = value.array.shape.dimensions, update.array.shape.dimensions
    for d, start in enumerate(operands[2:]):
        if d not in value.sizes and d not in update.sizes:
            starts.append(clamped(p, start.array, hlo.constant(bounds[d] - blocks[d], S64)))
            continue
        size, block = p.size(value, d), p.size(update, d)
        if size is not block:
            too_large = hlo.gt(block, size)
            shapes = [operand.shape for operand in instruction.operands[:2]]
            p.fail_if(too_large, f"dynamic-update-slice: update {shapes[1]} must fit into operand {shapes[0]}")
        starts.append(clamped(p, start.array, last_start(p, size, block)))
    if not update.sizes:
        return Padded(p.same(instruction, [value.array, update.array, *starts]), dict(value.sizes))
    # The update on a larger ground, so that its padding has room; of this, what lies inside of its sizes is taken.
    room = [bound + block for bound, block in zip(bounds, blocks)]
    ground = hlo.broadcast(p.zero(value.array.shape), room, ())
    placed = hlo.dynamic_update_slice(ground, update.array, *starts)
    placed = hlo.emit("slice", placed, slice=[(0, bound, 1) for bound in bounds])
    inside = None
    for d, start in enumerate(starts):
        position = hlo.iota(start.shape.with_dimensions(bounds), d)
        end = hlo.add(start, hlo.convert(p.size(update, d), S64))
        for limit, direction in ((start, "GE"), (end, "LT")):
            holds = hlo.compare(position, hlo.broadcast(limit, bounds, ()), direction=direction)
            inside = holds if inside is None else hlo.and_(inside, holds)
    return Padded(hlo.select(inside, placed, value.array), dict(value.sizes))

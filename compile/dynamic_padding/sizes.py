"""Sizes that are set, asked for, and changed by reshapes."""

from __future__ import annotations

from math import prod

import numpy as np

from ... import hlo
from ...hlo import S32, S64, Instruction, Shape
from ...hlo.ops.reshaping import reshaped_groups
from .padder import Padded, Padder, padded


@padded("get-dimension-size")
def pad_get_dimension_size(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    return Padded(p.size(operands[0], instruction.attributes["dimensions"][0]))


@padded("set-dimension-size", always=True)
def pad_set_dimension_size(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    value, size = operands[0], operands[1].array
    (dimension,) = instruction.attributes["dimensions"]
    shape = instruction.shape
    is_any = instruction.attributes["leaves_unspecified"]
    array = value.array if is_any else p.masked(value, p.zero(shape), [dimension])
    sizes = {d: old for d, old in value.sizes.items() if d != dimension}
    bound = shape.dimensions[dimension]
    if not shape.is_dynamic(dimension):
        wrong = hlo.ne(size, p.s32(bound))
        p.fail_if(wrong, f"set-dimension-size: dimension {dimension} of {shape} is static: the size must be {bound}")
        return Padded(array, sizes)
    checked = in_range(p, size, bound, f"set-dimension-size: dimension {dimension} of {shape}")
    return Padded(array, {**sizes, dimension: checked})


def in_range(p: Padder, size: Instruction, bound: int, what: str) -> Instruction:
    """The size, if it lies in [0, bound]; else the call fails, and what runs until then has the nearest size that does."""
    if size.opcode == "constant" and 0 <= size.attributes["literal"] <= bound:
        return size
    clamped = hlo.clamp(p.s32(0), size, p.s32(bound))
    p.fail_if(hlo.ne(size, clamped), f"{what}: the size must be in [0, {bound}]")
    return clamped


@padded("reshape")
def pad_reshape(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    """Elements whose places do not depend on the sizes stay; else they are moved together."""
    (value,) = operands
    before, after = instruction.operands[0].shape, instruction.shape
    sizes: dict[int, Instruction] = {}
    stays = True
    for group in reshaped_groups(before, after):
        dynamic = [d for d in group.result if after.is_dynamic(d)]
        if not dynamic:
            continue
        (dimension,) = dynamic
        size, rest = None, 1
        for d in group.operand:
            if d in value.sizes:
                size = value.sizes[d] if size is None else p.scalar("multiply", size, value.sizes[d])
            else:
                rest *= before.dimensions[d]
        others = prod(after.dimensions[d] for d in group.result if d != dimension)
        sizes[dimension] = _quotient(p, size, rest, others, f"reshape: {before} cannot be reshaped to {after}")
        stays = stays and _is_outermost(before, group.operand) and _is_outermost(after, group.result)
    if stays:
        return Padded(p.same(instruction, [value.array], after.static()), sizes)
    return Padded(repacked(p, value, after, sizes), sizes)


def _quotient(p: Padder, size: Instruction, rest: int, others: int, message: str) -> Instruction:
    if others == 0:
        return p.s32(0)
    if rest % others == 0:
        return p.scalar("multiply", size, rest // others)
    elements = p.scalar("multiply", size, rest)
    remainder = p.scalar("remainder", elements, others)
    p.fail_if(hlo.ne(remainder, p.s32(0)), message + " at these sizes")
    return p.scalar("divide", elements, others)


def _is_outermost(shape: Shape, group: tuple[int, ...]) -> bool:
    """Whether of these dimensions only the first that is not 1 is dynamic."""
    wide = [d for d in group if shape.dimensions[d] != 1] or list(group[:1])
    return all(not shape.is_dynamic(d) or d == wide[0] for d in group)


@padded("dynamic-reshape")
def pad_dynamic_reshape(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    value, shape = operands[0], instruction.shape
    sizes = {}
    for d, given in enumerate(operands[1:]):
        if shape.is_dynamic(d):
            what = f"dynamic-reshape: dimension {d} of {shape}"
            sizes[d] = in_range(p, given.array, shape.dimensions[d], what)
    counts = [_element_count(value.array.shape, value.sizes), _element_count(shape, sizes)]
    different = hlo.ne(*counts)
    p.fail_if(different, f"dynamic-reshape: the operand {instruction.operands[0].shape} has not as many elements as {shape}")
    return Padded(repacked(p, value, shape, sizes), sizes)


def _element_count(shape: Shape, sizes: dict[int, Instruction]) -> Instruction:
    count = hlo.constant(np.int64(prod(size for d, size in enumerate(shape.dimensions) if d not in sizes)))
    for size in sizes.values():
        count = hlo.multiply(count, hlo.convert(size, S64))
    return count


def repacked(p: Padder, value: Padded, shape: Shape, sizes: dict[int, Instruction]) -> Instruction:
    """The elements inside of the value's sizes, in row-major order, as those inside of the new sizes."""
    before, after = value.array.shape.dimensions, shape.dimensions
    if 0 in after or 0 in before:
        return hlo.broadcast(p.zero(shape), after, ())
    number = S32 if prod(after) < 2**31 and prod(before) < 2**31 else S64

    def along(size: Instruction | int) -> Instruction:
        scalar = hlo.constant(size, number) if isinstance(size, int) else hlo.convert(size, number)
        return hlo.broadcast(scalar, after, ())

    position = along(0)  # of each element of the result, among those that there are
    stride: Instruction | int = 1
    for d in reversed(range(len(after))):
        index = hlo.iota(Shape(number, after), d)
        position = hlo.add(position, hlo.multiply(index, along(stride)))
        stride = _product(p, stride, sizes.get(d, after[d]), number)
    source, step = along(0), 1  # its place in the padded operand
    for d in reversed(range(len(before))):
        size = along(value.sizes.get(d, before[d]))
        index = hlo.remainder(position, size) if d else position
        position = hlo.divide(position, size)
        source = hlo.add(source, hlo.multiply(index, along(step)))
        step *= before[d]
    return hlo.gather(
        hlo.reshape(value.array, (prod(before),)), source, offset_dims=(), collapsed_slice_dims=(0,),
        start_index_map=(0,), index_vector_dim=len(after), slice_sizes=(1,),
    )  # fmt: skip


def _product(p: Padder, lhs: Instruction | int, rhs: Instruction | int, number) -> Instruction | int:
    if isinstance(lhs, int) and isinstance(rhs, int):
        return lhs * rhs
    both = [hlo.constant(x, number) if isinstance(x, int) else hlo.convert(x, number) for x in (lhs, rhs)]
    return hlo.multiply(*both)

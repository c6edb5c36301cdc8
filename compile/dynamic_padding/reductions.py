"""Operations whose result depends on all elements along a dimension: those behind the size are made to change nothing.

Where a reduction's operation has an identity, this stands in the padding. Others carry along whether an element counts.
"""

from __future__ import annotations

import numpy as np

from ... import hlo
from ...hlo import PRED, S32, S64, Computation, Instruction, Shape
from ...hlo.window import WindowDimension, dilated_size
from .padder import PRED_SCALAR, Padded, Padder, Value, padded


def _inlined(computation: Computation, arguments: list[Instruction]) -> Instruction:
    values: dict[Instruction, Instruction] = {}
    for instruction in computation.instructions:
        if instruction.opcode == "parameter":
            values[instruction] = arguments[instruction.attributes["number"]]
        else:
            values[instruction] = hlo.append(instruction.with_operands([values[operand] for operand in instruction.operands]))
    return values[computation.root]


def counting_only_valid(computation: Computation) -> Computation:
    """The reduction's computation on elements that carry, in front, whether they count.

    f(x..., y...) -> g(i, x..., j, y...) = (i or j, y if not i, x if not j, else f(x..., y...))
    """
    count = len(computation.parameters) // 2
    shapes = [PRED_SCALAR, *(Shape(parameter.shape.element_type) for parameter in computation.parameters[:count])]

    def combined_if_valid(*sides: Instruction) -> Instruction:
        (valid_x, *x), (valid_y, *y) = sides[: count + 1], sides[count + 1 :]
        combined = _inlined(computation, [*x, *y])
        parts = [hlo.get_tuple_element(combined, i) for i in range(count)] if combined.shape.is_tuple else [combined]
        with_y = [hlo.select(valid_x, both, other) for other, both in zip(y, parts)]
        return hlo.tuple(hlo.or_(valid_x, valid_y), *(hlo.select(valid_y, some, one) for some, one in zip(with_y, x)))

    return hlo.computation(f"valid_{computation.name}", shapes * 2, combined_if_valid)


def _reduced(p: Padder, instruction: Instruction, operands: list[Padded], masked: list[int], sizes: dict) -> list[Instruction]:
    """The results of a reduce or reduce-window in which what is behind the sizes of some dimensions does not count."""
    count = len(operands) // 2
    arrays = [operand.array for operand in operands]
    computation = instruction.attributes["to_apply"]
    limits = {d: sizes[d] for d in masked}
    if not limits:
        result = p.unpacked(p.same(instruction, arrays))
        return [one.array for one in result] if isinstance(result, tuple) else [result.array]
    operation, element_type = computation.combining_operation, arrays[0].shape.element_type
    identity = None if operation is None else operation.identity(element_type)
    if identity is not None:
        fill = hlo.constant(identity, element_type)
        return [p.same(instruction, [p.masked(Padded(arrays[0], limits), fill), arrays[1]])]
    valid = p.valid(arrays[0].shape.dimensions, limits)
    init = hlo.constant(np.True_)
    parts = [valid, *arrays[:count], init, *arrays[count:]]
    result = p.same(instruction, parts, to_apply=counting_only_valid(computation))
    return [hlo.get_tuple_element(result, number) for number in range(1, count + 1)]


def _one_or_tuple(arrays: list[Instruction], sizes: dict[int, Instruction]) -> Value:
    found = tuple(Padded(array, dict(sizes)) for array in arrays)
    return found if len(found) > 1 else found[0]


@padded("reduce")
def pad_reduce(p: Padder, instruction: Instruction, operands: list[Padded]) -> Value:
    sizes = _sizes_of_first(p, instruction, operands)
    dimensions = instruction.attributes["dimensions"]
    arrays = _reduced(p, instruction, operands, [d for d in sizes if d in dimensions], sizes)
    kept = [d for d in range(operands[0].array.shape.rank) if d not in dimensions]
    return _one_or_tuple(arrays, {new: sizes[d] for new, d in enumerate(kept) if d in sizes})


def _sizes_of_first(p: Padder, instruction: Instruction, operands: list[Padded]) -> dict[int, Instruction]:
    return {d: size for (number, d), size in p.agreed(instruction, operands).items() if number == 0}


@padded("reduce-window")
def pad_reduce_window(p: Padder, instruction: Instruction, operands: list[Padded]) -> Value:
    window = instruction.attributes["window"]
    sizes = _sizes_of_first(p, instruction, operands)
    sliding = [d for d in sizes if window[d] != WindowDimension(1)]
    arrays = _reduced(p, instruction, operands, sliding, sizes)
    return _one_or_tuple(arrays, {d: places(p, window[d], size) for d, size in sizes.items()})


def places(p: Padder, dimension: WindowDimension, size: Instruction) -> Instruction:
    """The number of places of a window along a dimension of this size; see hlo.window.output_size."""
    if dimension == WindowDimension(1):
        return size
    dilated = size
    if dimension.base_dilation > 1:
        spread = p.scalar("add", p.scalar("multiply", p.scalar("subtract", size, 1), dimension.base_dilation), 1)
        dilated = hlo.maximum(spread, p.s32(0))
    taken = dilated_size(dimension.size, dimension.window_dilation)
    room = p.scalar("add", dilated, dimension.padding_low + dimension.padding_high - taken)
    count = p.scalar("add", p.scalar("divide", room, dimension.stride), 1)
    inside = hlo.ge(room, p.s32(0))
    return hlo.select(inside, count, p.s32(0))


@padded("select-and-scatter")
def pad_select_and_scatter(p: Padder, instruction: Instruction, operands: list[Padded]) -> Padded:
    """Where the window slides along a dynamic dimension: a reduce-window that finds the positions selected, then a scatter."""
    value, source, init = operands
    window = instruction.attributes["window"]
    for d, size in value.sizes.items():
        expected = places(p, window[d], size)
        if source.sizes[d] is not expected:
            different = hlo.ne(expected, source.sizes[d])
            p.fail_if(different, f"{instruction!r}: source must have one element for each place of the window")
    if all(window[d] == WindowDimension(1) for d in value.sizes):
        return Padded(p.same(instruction, [value.array, source.array, init.array]), dict(value.sizes))
    shape, sent = value.array.shape.static(), source.array.shape.static()
    number = S32 if shape.size < 2**31 else S64
    positions = hlo.reshape(hlo.iota(Shape(number, (shape.size,)), 0), shape.dimensions)
    nowhere = hlo.constant(-1, number)
    found = hlo.reduce_window(
        p.valid(shape.dimensions, value.sizes), value.array, positions, hlo.constant(np.False_), p.zero(shape),
        nowhere, window=window, to_apply=_selected(instruction.attributes["select"], Shape(number)),
    )  # fmt: skip
    chosen = hlo.get_tuple_element(found, 2)
    inside = hlo.and_(hlo.get_tuple_element(found, 0), p.valid(sent.dimensions, source.sizes))
    targets = hlo.select(inside, chosen, hlo.broadcast(nowhere, sent.dimensions, ()))
    result = hlo.scatter(
        hlo.broadcast(init.array, (shape.size,), ()), hlo.reshape(targets, (sent.size,)),
        hlo.reshape(source.array, (sent.size,)), update_window_dims=(), inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,), index_vector_dim=1, to_apply=instruction.attributes["scatter"],
    )  # fmt: skip
    return Padded(hlo.reshape(result, shape.dimensions), dict(value.sizes))


def _selected(select: Computation, number: Shape) -> Computation:
    """Of two elements, each behind whether it counts and before its position, the one that is selected."""

    def chosen(*sides: Instruction) -> Instruction:
        one, other = sides[:3], sides[3:]
        keep = hlo.and_(one[0], hlo.or_(hlo.not_(other[0]), _inlined(select, [one[1], other[1]])))
        return hlo.tuple(*(hlo.select(keep, x, y) for x, y in zip(one, other)))

    return hlo.computation(f"valid_{select.name}", (PRED_SCALAR, select.parameters[0].shape, number) * 2, chosen)


@padded("sort")
def pad_sort(p: Padder, instruction: Instruction, operands: list[Padded]) -> Value:
    """Along a dynamic dimension whether an element counts is sorted along; those that do not come last."""
    sizes = _sizes_of_first(p, instruction, operands)
    (along,) = instruction.attributes["dimensions"]
    arrays = [operand.array for operand in operands]
    if along not in sizes:
        result = p.unpacked(p.same(instruction, arrays))
        return _one_or_tuple([one.array for one in (result if isinstance(result, tuple) else (result,))], sizes)
    valid = p.valid(arrays[0].shape.dimensions, {along: sizes[along]})
    comparator = _valid_first(instruction.attributes["to_apply"])
    result = p.same(instruction, [*arrays, valid], to_apply=comparator)
    return _one_or_tuple([hlo.get_tuple_element(result, number) for number in range(len(arrays))], sizes)


def _valid_first(comparator: Computation) -> Computation:
    def comes_first(*parameters: Instruction) -> Instruction:
        *compared, valid_x, valid_y = parameters
        return hlo.select(hlo.and_(valid_x, valid_y), _inlined(comparator, compared), valid_x)

    shapes = [*comparator.parameter_shapes, PRED_SCALAR, PRED_SCALAR]
    return hlo.computation(f"valid_{comparator.name}", shapes, comes_first)


@padded("topk")
def pad_topk(p: Padder, instruction: Instruction, operands: list[Padded]) -> Value:
    """Along a dynamic dimension a sort, in which what does not count comes last."""
    (value,) = operands
    shape, k = value.array.shape, instruction.attributes["k"]
    last = shape.rank - 1
    sizes = {d: size for d, size in value.sizes.items() if d != last}
    if last not in value.sizes:
        values, positions = p.unpacked(p.same(instruction, [value.array]))
        return Padded(values.array, dict(sizes)), Padded(positions.array, dict(sizes))
    few = hlo.lt(value.sizes[last], p.s32(k))
    p.fail_if(few, f"topk: k must be in [0, size of dimension {last} of {instruction.operands[0].shape}], got {k}")
    direction, total = "GT" if instruction.attributes["largest"] else "LT", "TOTALORDER" if shape.element_type.is_float else ""

    def comes_first(x: Instruction, y: Instruction, *others: Instruction) -> Instruction:
        valid_x, valid_y = others[2:]
        return hlo.select(hlo.and_(valid_x, valid_y), hlo.compare(x, y, direction, total), valid_x)

    scalars = [Shape(one) for one in (*[shape.element_type] * 2, S32, S32, PRED, PRED)]
    order = hlo.computation("topk_order", scalars, comes_first)
    positions = hlo.iota(shape.static().with_element_type(S32), last)
    valid = p.valid(shape.dimensions, {last: value.sizes[last]})
    both = hlo.sort(value.array, positions, valid, dimensions=(last,), is_stable=True, to_apply=order)
    chosen = [(0, size, 1) for size in shape.dimensions[:-1]] + [(0, k, 1)]
    parts = [hlo.emit("slice", hlo.get_tuple_element(both, part), slice=chosen) for part in (0, 1)]
    return tuple(Padded(part, dict(sizes)) for part in parts)

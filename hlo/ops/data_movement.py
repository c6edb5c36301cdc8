"""Operations that move elements without computing on them.

Source of the semantics: the sections of the same names in XLA's Operation Semantics.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ..attributes import Integer, IntegerList, PaddingDimensions, SliceDimensions
from ..element_type import F32, PRED, S32, S64, U8
from ..errors import require
from ..operation import ACTUAL_SIZES, DATA_MOVEMENT, InvalidSample, Sample, operation
from ..shape import Shape, TupleShape, merged_dynamic_dimensions
from . import numerics
from .constraints import (
    require_array,
    require_dimensions,
    require_index,
    require_kind,
    require_scalar,
    require_stated_array,
    require_static,
)
from .reshaping import reshaped_groups


@operation(
    "broadcast", "operand", builder="BroadcastInDim", aliases=("Broadcast",),
    traits={DATA_MOVEMENT}, cost=0.0, dynamic=ACTUAL_SIZES, dimensions=IntegerList(),
)  # fmt: skip
def broadcast(operand, *, dimensions, stated):
    """BroadcastInDim(operand, shape, broadcast_dimensions): operand dimension i becomes result dimension dimensions[i].

    The result repeats the operand along all other dimensions. ``dimensions`` are distinct, and each has the size of the
    operand's dimension. The builder's BroadcastInDim also stretches dimensions of size 1, by a reshape; its Broadcast inserts
    new dimensions on the left.
    """
    require_array("broadcast", "operand", operand)
    require_stated_array("broadcast", stated)
    rank = stated.rank
    if len(dimensions) != operand.rank:
        wanted = f"one result dimension for each of the operand's {operand.rank}"
        require(False, f"broadcast: dimensions must name {wanted}, got {dimensions}")
    require_dimensions("broadcast", "dimensions", dimensions, rank)
    for position, dimension in enumerate(dimensions):
        if operand.dimensions[position] != stated.dimensions[dimension]:
            where = f"operand dimension {position} of {operand}", f"result dimension {dimension} of {stated}"
            require(False, f"broadcast: {where[0]} must have the size of {where[1]}")
    same = operand.element_type is stated.element_type
    require(same, "broadcast: cannot change the element type, ", operand, " to ", stated)
    if operand.dynamic_dimensions or stated.dynamic_dimensions:
        dynamic = [d in dimensions and operand.is_dynamic(dimensions.index(d)) for d in range(rank)]
        wanted = stated.with_dimensions(stated.dimensions, dynamic)
        fits = stated.without_layout() == wanted
        require(fits, f"broadcast: of {operand} the result must be {wanted}, but {stated} was stated")
    return stated.without_layout()


@broadcast.evaluation
def _(operand, *, dimensions, shape):
    operand = np.asarray(operand)
    in_order = np.argsort(dimensions)
    sizes = [1] * shape.rank
    for position, dimension in enumerate(dimensions):
        sizes[dimension] = operand.shape[position]
    return np.broadcast_to(operand.transpose(in_order).reshape(sizes), shape.dimensions)


@broadcast.sampling
def _():
    yield Sample([np.float32(2)], {"dimensions": ()}, Shape(F32, (2, 3)), np.full((2, 3), 2, np.float32))
    yield Sample([Shape(F32, (3,))], {"dimensions": (1,)}, Shape(F32, (2, 3)))
    yield Sample([Shape(F32, (2,))], {"dimensions": (0,)}, Shape(F32, (2, 3)))
    yield Sample([Shape(S32, (3, 2))], {"dimensions": (2, 0)}, Shape(S32, (2, 4, 3)))
    yield Sample([Shape(PRED, (0,))], {"dimensions": (1,)}, Shape(PRED, (5, 0)))
    yield InvalidSample([Shape(F32, (3,))], {"dimensions": (0,)}, "must have the size of", shape=Shape(F32, (2, 3)))
    yield InvalidSample([Shape(F32, (3,))], {"dimensions": ()}, "must name one result dimension", shape=Shape(F32, (3,)))
    yield InvalidSample([Shape(F32)], {"dimensions": ()}, "result must be an array", shape=TupleShape(()))
    yield InvalidSample([Shape(F32)], {"dimensions": ()}, "a result shape is required")
    yield InvalidSample([Shape(F32, (3,))], {"dimensions": (1,)}, "must be in", shape=Shape(F32, (3,)))
    yield InvalidSample([Shape(F32, (3, 3))], {"dimensions": (0, 0)}, "must be distinct", shape=Shape(F32, (3, 3)))


@operation(
    "reshape", "operand", builder="Reshape", aliases=("Collapse",), traits={DATA_MOVEMENT}, cost=0.0, dynamic=ACTUAL_SIZES
)  # fmt: skip
def reshape(operand, *, stated):
    """Reshape(operand, dimensions): the elements in row-major order, in other dimensions of as many elements.

    In that order the last dimension varies most quickly, whatever the layouts are; a scalar counts as one element. The builder
    takes the preview's Reshape(operand, dimensions, new_sizes) too, which transposes to that order of dimensions first, and
    Collapse, which makes one dimension of several consecutive ones.
    """
    require_array("reshape", "operand", operand)
    require_stated_array("reshape", stated)
    require(
        prod(operand.dimensions) == prod(stated.dimensions),
        f"reshape: operand {operand} has {operand.size} elements, but the result {stated} has {stated.size}",
    )
    require(operand.element_type is stated.element_type, f"reshape: cannot change the element type, {operand} to {stated}")
    if operand.dynamic_dimensions or stated.dynamic_dimensions:
        reshaped_groups(operand, stated)
    return stated.without_layout()


@reshape.evaluation
def _(operand, *, shape):
    return np.reshape(operand, shape.dimensions)


@reshape.sampling
def _():
    yield Sample([Shape(F32, (4, 2, 3))], shape=Shape(F32, (8, 3)))
    yield Sample([Shape(F32, (4, 2, 3))], shape=Shape(F32, (24,)))
    yield Sample([Shape(S32, (6,))], shape=Shape(S32, (2, 1, 3)))
    yield Sample([np.array([[5]], np.float32)], shape=Shape(F32), expected=np.float32(5))
    yield Sample([Shape(PRED)], shape=Shape(PRED, (1, 1)))
    yield Sample([Shape(F32, (0, 3))], shape=Shape(F32, (5, 0)))
    yield InvalidSample([Shape(F32, (4,))], {}, "has 4 elements", shape=Shape(F32, (5,)))
    yield InvalidSample([Shape(F32)], {}, "result must be an array", shape=TupleShape((Shape(F32),)))
    yield InvalidSample([Shape(F32, (4,))], {}, "cannot change the element type", shape=Shape(S32, (4,)))


@operation(
    "transpose", "operand", builder="Transpose", aliases=("Trans",), traits={DATA_MOVEMENT}, cost=1.0, dynamic=ACTUAL_SIZES,
    dimensions=IntegerList()
)  # fmt: skip
def transpose(operand, *, dimensions):
    """Transpose(operand, permutation): result dimension i is operand dimension dimensions[i].

    ``dimensions`` is a permutation of all dimensions of the operand. Trans(operand) of the preview is that of a matrix.
    """
    require_array("transpose", "operand", operand)
    require(
        sorted(dimensions) == list(range(operand.rank)),
        f"transpose: dimensions must be a permutation of the {operand.rank} dimensions of {operand}, got {dimensions}",
    )
    dynamic = operand.dynamic_dimensions and [operand.dynamic_dimensions[dimension] for dimension in dimensions]
    return operand.with_dimensions([operand.dimensions[dimension] for dimension in dimensions], dynamic)


@transpose.evaluation
def _(operand, *, dimensions):
    return np.transpose(operand, dimensions)


@transpose.sampling
def _():
    x = np.array([[0, 1, 2], [3, 4, 5]], np.float32)
    yield Sample([x], {"dimensions": (1, 0)}, expected=np.array([[0, 3], [1, 4], [2, 5]], np.float32))
    yield Sample([Shape(F32, (3, 5))], {"dimensions": (1, 0)})
    yield Sample([Shape(S32, (2, 3, 17))], {"dimensions": (2, 0, 1)})
    yield Sample([Shape(PRED)], {"dimensions": ()})
    yield Sample([Shape(F32, (2, 0))], {"dimensions": (1, 0)})
    yield InvalidSample([Shape(F32, (3, 5))], {"dimensions": (0, 0)}, "must be a permutation")
    yield InvalidSample([Shape(F32, (3, 5))], {"dimensions": (0,)}, "must be a permutation")


@operation("slice", "operand", builder="Slice", traits={DATA_MOVEMENT}, cost=0.0, dynamic=ACTUAL_SIZES, slice=SliceDimensions())
def slice_(operand, *, slice):
    """Slice(operand, start_indices, limit_indices, strides): every stride-th element from start up to below limit.

    There is one range for each dimension, with 0 <= start <= limit <= size and a positive stride, which is 1 where it is left
    out; its result has ceil((limit - start) / stride) elements.

    Of a dynamic dimension it is those of them that there are, in a dynamic dimension again; except for a slice of one element,
    which is static (its element is zero where there is none).
    """
    require_array("slice", "operand", operand)
    if len(slice) != operand.rank:
        require(False, f"slice: {operand.rank} ranges are required for {operand}, got {len(slice)}")
    sizes = []
    for dimension, (start, limit, stride) in enumerate(slice):
        size = operand.dimensions[dimension]
        require(stride > 0, "slice: the stride of dimension ", dimension, " must be positive, got ", stride)
        if not 0 <= start <= limit <= size:
            needed = f"0 <= start <= limit <= {size}, got start {start}, limit {limit}"
            require(False, f"slice: dimension {dimension} of {operand} needs {needed}")
        sizes.append(-(-(limit - start) // stride))
    dynamic = operand.dynamic_dimensions and [d and size != 1 for d, size in zip(operand.dynamic_dimensions, sizes)]
    return operand.with_dimensions(sizes, dynamic)


@slice_.evaluation
def _(operand, *, slice):
    return operand[tuple(_range(d.start, d.limit, d.stride) for d in slice)]


_range = slice


@slice_.sampling
def _():
    a = np.arange(5, dtype=np.float32)
    b = np.arange(12, dtype=np.float32).reshape(4, 3)
    yield Sample([a], {"slice": [(2, 4)]}, expected=np.array([2, 3], np.float32))
    yield Sample([b], {"slice": [(2, 4), (1, 3)]}, expected=np.array([[7, 8], [10, 11]], np.float32))
    yield Sample([Shape(S32, (20, 40))], {"slice": [(1, 20, 3), (5, 39, 2)]})
    yield Sample([Shape(PRED, (4,))], {"slice": [(2, 2)]})
    yield InvalidSample([Shape(F32, (4,))], {"slice": [(2, 5)]}, "needs 0 <= start <= limit <= 4")
    yield InvalidSample([Shape(F32, (4,))], {"slice": [(3, 2)]}, "needs 0 <= start <= limit <= 4")
    yield InvalidSample([Shape(F32, (4,))], {"slice": [(0, 4, 0)]}, "must be positive")
    yield InvalidSample([Shape(F32, (4,))], {"slice": []}, "1 ranges are required")


@operation(
    "pad", "operand", "padding_value", builder="Pad", traits={DATA_MOVEMENT}, cost=3.0, dynamic=ACTUAL_SIZES,
    padding=PaddingDimensions()
)  # fmt: skip
def pad(operand, padding_value, *, padding):
    """Pad(operand, padding_value, padding_config): elements added at both edges and between the elements.

    ``padding`` holds low, high and interior for each dimension: how many elements are added before, after, and between each
    two. Negative edge padding removes elements, after the interior padding has been added; the interior padding is never
    negative. The padding value is a scalar of the operand's element type.
    """
    require_array("pad", "operand", operand)
    require_scalar("pad", "padding_value", padding_value, operand.element_type)
    require(
        len(padding) == operand.rank, f"pad: padding of {operand.rank} dimensions is required for {operand}, got {len(padding)}"
    )
    sizes = []
    for dimension, (low, high, interior) in enumerate(padding):
        size = operand.dimensions[dimension]
        require(interior >= 0, f"pad: the interior padding of dimension {dimension} must not be negative, got {interior}")
        padded = size + max(size - 1, 0) * interior + low + high
        require(padded >= 0, f"pad: dimension {dimension} of {operand} padded by {low} and {high} has negative size {padded}")
        sizes.append(padded)
    return operand.with_dimensions(sizes, operand.dynamic_dimensions)


@pad.evaluation
def _(operand, padding_value, *, padding, shape):
    operand = np.asarray(operand)
    result = np.full(shape.dimensions, padding_value, operand.dtype)
    source, target = [], []
    for size, padded, (low, _, interior) in zip(operand.shape, shape.dimensions, padding):
        step = interior + 1
        first = max(0, -(low // step))
        last = min(size, -((low - padded) // step))  # exclusive: low + i * step < padded
        last = max(first, last)
        source.append(slice(first, last))
        start = low + first * step
        target.append(slice(start, start + (last - first) * step, step) if last > first else slice(0, 0))
    result[tuple(target)] = operand[tuple(source)]
    return result


@pad.sampling
def _():
    operands, result = [np.array([1, 2, 3], np.int32), np.int32(0)], np.array([0, 0, 1, 0, 2, 0, 3, 0], np.int32)
    yield Sample(operands, {"padding": [(2, 1, 1)]}, expected=result)
    yield Sample([Shape(F32, (3,)), Shape(F32)], {"padding": [(1, 2, 0)]})
    yield Sample([Shape(S32, (3, 20)), Shape(S32)], {"padding": [(0, 1, 2), (3, 0, 1)]})
    yield Sample([Shape(F32, (5, 30)), Shape(F32)], {"padding": [(-1, -2, 0), (-3, 4, 1)]})
    yield Sample([Shape(PRED, (0, 2)), Shape(PRED)], {"padding": [(2, 1, 3), (0, 0, 0)]})
    yield Sample([Shape(F32, (2,)), Shape(F32)], {"padding": [(-5, 4, 3)]})
    yield Sample([Shape(F32), Shape(F32)], {"padding": []})
    yield InvalidSample([Shape(F32, (3,)), Shape(F32)], {"padding": [(-2, -2, 0)]}, "negative size")
    yield InvalidSample([Shape(F32, (3,)), Shape(F32)], {"padding": [(0, 0, -1)]}, "must not be negative")
    yield InvalidSample([Shape(F32, (3,)), Shape(S32)], {"padding": [(0, 0, 0)]}, r"must be f32\[\]")
    yield InvalidSample([Shape(F32, (3,)), Shape(F32, (1,))], {"padding": [(0, 0, 0)]}, "must be a scalar")


@operation(
    "concatenate", "operand", "*more", builder="ConcatInDim", traits={DATA_MOVEMENT}, cost=3.0, dynamic=ACTUAL_SIZES,
    dimensions=IntegerList()
)  # fmt: skip
def concatenate(*operands, dimensions):
    """ConcatInDim(operands, dimension): the operands one after another along one dimension.

    They have the same element type and the same size in all other dimensions. Scalars cannot be concatenated.
    """
    different = {id(operand): (f"operand {number}", operand) for number, operand in enumerate(operands)}.values()
    for name, operand in different:
        require_array("concatenate", name, operand)
    first = operands[0]
    require(len(dimensions) == 1, f"concatenate: one dimension is required, got {dimensions}")
    require(first.rank > 0, "concatenate: scalars cannot be concatenated; reshape them to one dimension first")
    require_dimensions("concatenate", "dimension", dimensions, first.rank)
    (along,) = dimensions
    for name, operand in different:
        fits = operand.element_type is first.element_type and operand.rank == first.rank
        fits = fits and all(a == b for d, (a, b) in enumerate(zip(operand.dimensions, first.dimensions)) if d != along)
        require(fits, f"concatenate: {name} {operand} must agree with {first} in all but dimension {along}")
    total = sum(operand.dimensions[along] for operand in operands)
    sizes = (*first.dimensions[:along], total, *first.dimensions[along + 1 :])
    return first.with_dimensions(sizes, merged_dynamic_dimensions(operands))


@concatenate.evaluation
def _(*operands, dimensions):
    return np.concatenate(operands, axis=dimensions[0])


@concatenate.sampling
def _():
    pairs = [np.array(pair, np.int32) for pair in ([2, 3], [4, 5], [6, 7])]
    yield Sample(pairs, {"dimensions": (0,)}, expected=np.array([2, 3, 4, 5, 6, 7], np.int32))
    a, b = np.array([[1, 2], [3, 4], [5, 6]], np.int32), np.array([[7, 8]], np.int32)
    yield Sample([a, b], {"dimensions": (0,)}, expected=np.array([[1, 2], [3, 4], [5, 6], [7, 8]], np.int32))
    yield Sample([Shape(F32, (2, 30)), Shape(F32, (2, 0)), Shape(F32, (2, 7))], {"dimensions": (1,)})
    yield Sample([Shape(PRED, (3,))], {"dimensions": (0,)})
    yield InvalidSample([Shape(F32), Shape(F32)], {"dimensions": (0,)}, "scalars cannot be concatenated")
    yield InvalidSample([Shape(F32, (2,)), Shape(S32, (2,))], {"dimensions": (0,)}, "must agree with")
    yield InvalidSample([Shape(F32, (2, 3)), Shape(F32, (2, 4))], {"dimensions": (0,)}, "must agree with")
    yield InvalidSample([Shape(F32, (2,))], {"dimensions": (1,)}, "must be in")


@operation(
    "reverse", "operand", builder="Rev", traits={DATA_MOVEMENT}, cost=1.0, dynamic=ACTUAL_SIZES,
    dimensions=IntegerList()
)  # fmt: skip
def reverse(operand, *, dimensions):
    """Rev(operand, dimensions): index i becomes N - 1 - i along each of the dimensions.

    N is the dimension's size. The dimensions are distinct; without any, the result is the operand.
    """
    require_array("reverse", "operand", operand)
    require_dimensions("reverse", "dimensions", dimensions, operand.rank)
    return operand.without_layout()


@reverse.evaluation
def _(operand, *, dimensions):
    return np.flip(operand, dimensions)


@reverse.sampling
def _():
    yield Sample([np.array([1, 2, 3], np.int32)], {"dimensions": (0,)}, expected=np.array([3, 2, 1], np.int32))
    yield Sample([Shape(F32, (3, 20))], {"dimensions": (0,)})
    yield Sample([Shape(S32, (3, 20))], {"dimensions": (0, 1)})
    yield Sample([Shape(PRED, (33,))], {"dimensions": (0,)})
    yield Sample([Shape(F32, (0, 2))], {"dimensions": ()})
    yield InvalidSample([Shape(F32, (3,))], {"dimensions": (1,)}, "must be in")
    yield InvalidSample([Shape(F32, (3,))], {"dimensions": (0, 0)}, "must be distinct")


@operation("iota", builder="Iota", traits={DATA_MOVEMENT}, cost=0.0, iota_dimension=Integer())
def iota(*, iota_dimension, stated):
    """Iota(shape, iota_dimension): each element is its own index along one dimension.

    The result has at least one dimension and numbers for elements, to which the indices 0, 1, ... are converted as by convert.
    """
    require(stated is not None, "iota: a result shape is required")
    require_kind("iota", "result", stated, ("signed", "unsigned", "float", "complex"))
    require(stated.rank > 0, "iota: a scalar has no dimension to count along")
    require_static("iota", "the result", stated, range(stated.rank), "as nothing says its size")
    require_dimensions("iota", "iota_dimension", (iota_dimension,), stated.rank)
    return stated.without_layout()


@iota.evaluation
def _(*, iota_dimension, shape):
    counts = numerics.convert(np.arange(shape.dimensions[iota_dimension]), shape.element_type)
    sizes = [1] * shape.rank
    sizes[iota_dimension] = -1
    return np.broadcast_to(counts.reshape(sizes), shape.dimensions)


@iota.sampling
def _():
    yield Sample([], {"iota_dimension": 0}, Shape(S32, (35,)), np.arange(35, dtype=np.int32))
    yield Sample([], {"iota_dimension": 0}, Shape(F32, (3, 20)))
    yield Sample([], {"iota_dimension": 1}, Shape(U8, (3, 20)))
    yield InvalidSample([], {"iota_dimension": 0}, "no dimension to count", shape=Shape(S32))
    yield InvalidSample([], {"iota_dimension": 2}, "must be in", shape=Shape(S32, (2, 3)))
    yield InvalidSample([], {"iota_dimension": 0}, "element type", shape=Shape(PRED, (2,)))


@operation(
    "dynamic-slice", "operand", "*start_indices", builder="DynamicSlice",
    traits={DATA_MOVEMENT}, cost=0.0, dynamic=ACTUAL_SIZES,
    sizes=IntegerList(spelling="dynamic_slice_sizes"),
)  # fmt: skip
def dynamic_slice(operand, *start_indices, sizes):
    """DynamicSlice(operand, start_indices, size_indices): the block of these sizes from run-time start indices.

    There is one scalar integer start index for each dimension, all of one type.
    Each start index is clamped into [0, dimension size - block size], so that the block lies inside the operand. Where a
    dynamic dimension is smaller than the block, the block is filled up with zeros (XLA leaves them unspecified).
    """
    require_array("dynamic-slice", "operand", operand)
    _require_start_indices("dynamic-slice", operand, start_indices)
    require(len(sizes) == operand.rank, f"dynamic-slice: {operand.rank} sizes are required for {operand}, got {len(sizes)}")
    for dimension, size in enumerate(sizes):
        limit = operand.dimensions[dimension]
        require(0 <= size <= limit, f"dynamic-slice: the size of dimension {dimension} must be in [0, {limit}], got {size}")
    return operand.with_dimensions(sizes)


def _require_start_indices(opcode: str, operand: Shape, start_indices: tuple) -> None:
    require(
        len(start_indices) == operand.rank,
        f"{opcode}: one start index for each of the {operand.rank} dimensions of {operand} is required, "
        f"got {len(start_indices)}",
    )
    for dimension, index in enumerate(start_indices):
        require_index(opcode, f"start index {dimension}", index)
    types = {index.element_type for index in start_indices}
    require(len(types) <= 1, f"{opcode}: all start indices must have one element type, got {', '.join(t.name for t in types)}")


def _clamped_block(operand, start_indices, sizes):
    starts = [max(0, min(int(start), full - size)) for start, full, size in zip(start_indices, np.shape(operand), sizes)]
    return tuple(slice(start, start + size) for start, size in zip(starts, sizes))


@dynamic_slice.evaluation
def _(operand, *start_indices, sizes):
    return operand[_clamped_block(operand, start_indices, sizes)]


@dynamic_slice.sampling
def _():
    a, b = np.arange(5, dtype=np.float32), np.arange(12, dtype=np.float32).reshape(4, 3)
    yield Sample([a, np.int32(2)], {"sizes": (2,)}, expected=np.array([2, 3], np.float32))
    yield Sample([b, np.int32(2), np.int32(1)], {"sizes": (2, 2)}, expected=np.array([[7, 8], [10, 11]], np.float32))
    yield Sample([b, np.int64(9), np.int64(-7)], {"sizes": (2, 2)}, expected=np.array([[6, 7], [9, 10]], np.float32))
    yield Sample([Shape(S32, (9, 40)), Shape(S64), Shape(S64)], {"sizes": (1, 33)})
    yield Sample([Shape(PRED, (4,)), Shape(U8)], {"sizes": (0,)})
    yield InvalidSample([Shape(F32, (4,)), Shape(F32)], {"sizes": (2,)}, "must be an integer scalar")
    yield InvalidSample([Shape(F32, (4,)), Shape(S32)], {"sizes": (5,)}, r"must be in \[0, 4\]")
    yield InvalidSample([Shape(F32, (4,))], {"sizes": (2,)}, "one start index for each")


@operation(
    "dynamic-update-slice", "operand", "update", "*start_indices", builder="DynamicUpdateSlice", traits={DATA_MOVEMENT},
    cost=1.0, updated_operand=0, dynamic=ACTUAL_SIZES,
)  # fmt: skip
def dynamic_update_slice(operand, update, *start_indices):
    """DynamicUpdateSlice(operand, update, start_indices): the operand with a block replaced by update.

    The update has the operand's element type and rank and is nowhere larger. There is one scalar integer start index for each
    dimension, all of one type.
    Each start index is clamped into [0, dimension size - block size], so that the block lies inside the operand.
    """
    require_array("dynamic-update-slice", "operand", operand)
    require_array("dynamic-update-slice", "update", update)
    _require_start_indices("dynamic-update-slice", operand, start_indices)
    fits = update.element_type is operand.element_type and update.rank == operand.rank
    fits = fits and all(part <= full for part, full in zip(update.dimensions, operand.dimensions))
    require(fits, f"dynamic-update-slice: update {update} must fit into operand {operand}")
    for dimension in range(operand.rank):
        # XLA takes the size of a full update for the result's.
        full = update.is_dynamic(dimension) and update.dimensions[dimension] == operand.dimensions[dimension]
        if full and not operand.is_dynamic(dimension):
            reason = "as it is as large as the operand's, which is not"
            require_static("dynamic-update-slice", "update", update, [dimension], reason)
    return operand.without_layout()


@dynamic_update_slice.evaluation
def _(operand, update, *start_indices):
    result = np.array(operand)
    result[_clamped_block(operand, start_indices, np.shape(update))] = update
    return result


@dynamic_update_slice.sampling
def _():
    a, b = np.arange(5, dtype=np.float32), np.arange(12, dtype=np.float32).reshape(4, 3)
    updated = np.array([0, 1, 5, 6, 4], np.float32)
    yield Sample([a, np.array([5, 6], np.float32), np.int32(2)], expected=updated)
    u = np.arange(12, 18, dtype=np.float32).reshape(3, 2)
    expected = np.array([[0, 1, 2], [3, 12, 13], [6, 14, 15], [9, 16, 17]], np.float32)
    yield Sample([b, u, np.int32(1), np.int32(1)], expected=expected)
    yield Sample([b, u, np.int32(7), np.int32(1)], expected=expected)
    yield Sample([Shape(S32, (9, 40)), Shape(S32, (2, 33)), Shape(S64), Shape(S64)])
    yield Sample([Shape(PRED, (4,)), Shape(PRED, (0,)), Shape(U8)])
    yield InvalidSample([Shape(F32, (4,)), Shape(F32, (5,)), Shape(S32)], {}, "must fit into")
    yield InvalidSample([Shape(F32, (4,)), Shape(S32, (2,)), Shape(S32)], {}, "must fit into")
    yield InvalidSample([Shape(F32, (4, 4)), Shape(F32, (2, 2)), Shape(S32)], {}, "one start index for each")

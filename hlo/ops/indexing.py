"""Gather and scatter: reading and updating many slices of an array, each from a start index of its own.

Source of the semantics: "Gather" and "Scatter" in XLA's Operation Semantics; batching dimensions as StableHLO's
specification has them.
"""

from __future__ import annotations

import math

import numpy as np

from ..attributes import Boolean, CalledComputation, Integer, IntegerList
from ..builder import Builder, scalar_computation
from ..element_type import BF16, C64, F32, F64, PRED, S8, S32, S64, U8, U32, U64
from ..errors import require
from ..operation import ACTUAL_SIZES, APPLIES, DATA_MOVEMENT, InvalidSample, Sample, operation
from ..shape import Shape, merged_dynamic_dimensions
from ..slices import operand_indices, slice_dimensions
from .constraints import (
    one_or_tuple,
    require_array,
    require_dimensions,
    require_kind,
    require_signature,
    scalars_of,
)


def _require_ascending(opcode: str, name: str, dimensions: tuple[int, ...], rank: int) -> None:
    require_dimensions(opcode, name, dimensions, rank)
    require(dimensions == tuple(sorted(dimensions)), f"{opcode}: {name} must be in ascending order, got {dimensions}")


def _batch_sizes(indices: Shape, index_vector_dim: int) -> tuple[int, ...]:
    """The dimensions of the start indices without that of the index vector."""
    return (*indices.dimensions[:index_vector_dim], *indices.dimensions[index_vector_dim + 1 :])


def _require_index_vectors(
    opcode: str, names: dict[str, str], operand: Shape, indices: Shape, index_vector_dim: int, index_map: tuple[int, ...]
) -> None:
    """The start indices are integers, and their vectors have one element for each dimension in the index map."""
    require_kind(opcode, names["indices"], indices, ("signed", "unsigned"))
    require(
        0 <= index_vector_dim <= indices.rank,
        f"{opcode}: index_vector_dim must be in [0, {indices.rank}] for {names['indices']} {indices}, got {index_vector_dim}",
    )
    length = 1 if index_vector_dim == indices.rank else indices.dimensions[index_vector_dim]
    require(
        len(index_map) == length,
        f"{opcode}: {names['map']} must name one dimension for each of the {length} elements of an index vector, "
        f"got {index_map}",
    )
    require_dimensions(opcode, names["map"], index_map, operand.rank)


def _require_batching(
    opcode: str,
    names: dict[str, str],
    operand: Shape,
    indices: Shape,
    index_vector_dim: int,
    removed: tuple[int, ...],
    index_map: tuple[int, ...],
    operand_batching: tuple[int, ...],
    indices_batching: tuple[int, ...],
) -> None:
    """The batching dimensions of operand and start indices belong together, and have no other role."""
    _require_ascending(opcode, names["removed"], removed, operand.rank)
    _require_ascending(opcode, names["operand batching"], operand_batching, operand.rank)
    require_dimensions(opcode, names["indices batching"], indices_batching, indices.rank)
    for name, others in (("removed", removed), ("map", index_map)):
        both = sorted({*operand_batching} & {*others})
        message = f"{names[name]} and {names['operand batching']} must have no dimension in common, got {both}"
        require(not both, f"{opcode}: {message}")
    require(
        index_vector_dim not in indices_batching,
        f"{opcode}: {names['indices batching']} must not contain index_vector_dim, "
        f"got {indices_batching} and {index_vector_dim}",
    )
    require(
        len(operand_batching) == len(indices_batching),
        f"{opcode}: {names['operand batching']} and {names['indices batching']} must have equally many dimensions, "
        f"got {operand_batching} and {indices_batching}",
    )
    for mine, other in zip(operand_batching, indices_batching):
        require(
            operand.dimensions[mine] == indices.dimensions[other],
            f"{opcode}: batching dimensions {mine} of operand {operand} and {other} of {names['indices']} {indices} must have "
            "the same size",
        )


_GATHER_NAMES = {
    "indices": "start_indices",
    "map": "start_index_map",
    "removed": "collapsed_slice_dims",
    "operand batching": "operand_batching_dims",
    "indices batching": "start_indices_batching_dims",
}


@operation(
    "gather", "operand", "start_indices", builder="Gather", traits={DATA_MOVEMENT}, cost=6.0, dynamic=ACTUAL_SIZES,
    offset_dims=IntegerList(), collapsed_slice_dims=IntegerList(), start_index_map=IntegerList(),
    operand_batching_dims=IntegerList(()), start_indices_batching_dims=IntegerList(()), index_vector_dim=Integer(),
    slice_sizes=IntegerList(), indices_are_sorted=Boolean(False),
)  # fmt: skip
def gather(
    operand, start_indices, *, offset_dims, collapsed_slice_dims, start_index_map, operand_batching_dims,
    start_indices_batching_dims, index_vector_dim, slice_sizes, indices_are_sorted,
):  # fmt: skip
    """Gather(operand, start_indices, dimension numbers, slice_sizes, indices_are_sorted): slices of the operand, stitched
    together.

    Each vector along index_vector_dim of start_indices (an element, where index_vector_dim is their rank) is the start of a
    slice of slice_sizes: its element k counts along dimension start_index_map[k] of the operand. Starts are clamped so that
    the slice lies inside. The result's offset_dims run through the slices, without the dimensions in collapsed_slice_dims, its
    other dimensions through the start indices. A dimension in operand_batching_dims starts at the index along the start
    indices' dimension that corresponds to it in start_indices_batching_dims. That the indices are sorted is a promise.
    """
    require_array("gather", "operand", operand)
    _require_index_vectors("gather", _GATHER_NAMES, operand, start_indices, index_vector_dim, start_index_map)
    _require_batching(
        "gather", _GATHER_NAMES, operand, start_indices, index_vector_dim, collapsed_slice_dims, start_index_map,
        operand_batching_dims, start_indices_batching_dims,
    )  # fmt: skip
    require(
        len(slice_sizes) == operand.rank,
        f"gather: one slice size for each of the {operand.rank} dimensions of {operand} is required, got {slice_sizes}",
    )
    for dimension, (size, full) in enumerate(zip(slice_sizes, operand.dimensions)):
        require(0 <= size <= full, f"gather: slice size {dimension} must be in [0, {full}], got {size}")
    for dimension in collapsed_slice_dims:
        size = slice_sizes[dimension]
        require(size == 1, f"gather: the slice size of collapsed dimension {dimension} must be 1, got {size}")
    for dimension in operand_batching_dims:
        size = slice_sizes[dimension]
        require(size <= 1, f"gather: the slice size of batching dimension {dimension} must be at most 1, got {size}")
    removed = (*collapsed_slice_dims, *operand_batching_dims)
    require(
        len(offset_dims) + len(removed) == operand.rank,
        f"gather: offset_dims, collapsed_slice_dims and operand_batching_dims must be as many as the {operand.rank} dimensions "
        f"of {operand}, got {offset_dims}, {collapsed_slice_dims} and {operand_batching_dims}",
    )
    batch_sizes = iter(_batch_sizes(start_indices, index_vector_dim))
    window_sizes = iter([size for dimension, size in enumerate(slice_sizes) if dimension not in removed])
    rank = len(offset_dims) + start_indices.rank - (index_vector_dim < start_indices.rank)
    _require_ascending("gather", "offset_dims", offset_dims, rank)
    sizes = tuple([next(window_sizes if d in offset_dims else batch_sizes) for d in range(rank)])
    if not operand.dynamic_dimensions and not start_indices.dynamic_dimensions:
        return operand.with_dimensions(sizes)
    for dimension in operand_batching_dims:
        other = start_indices_batching_dims[operand_batching_dims.index(dimension)]
        same = operand.is_dynamic(dimension) == start_indices.is_dynamic(other)
        require(same, f"gather: batching dimension {dimension} of {operand} must be dynamic where that of {start_indices} is")
    of_batch = iter([start_indices.is_dynamic(d) for d in range(start_indices.rank) if d != index_vector_dim])
    kept = [d for d in range(operand.rank) if d not in removed]
    of_slices = iter([operand.is_dynamic(d) and slice_sizes[d] == operand.dimensions[d] for d in kept])
    return operand.with_dimensions(sizes, [next(of_slices if d in offset_dims else of_batch) for d in range(rank)])


@gather.evaluation
def _(operand, start_indices, *, slice_sizes, shape, **attributes):
    dimensions = slice_dimensions("gather", np.ndim(operand), np.ndim(start_indices), attributes)
    limits = tuple(full - size for full, size in zip(np.shape(operand), slice_sizes))
    found = operand_indices(dimensions, start_indices, shape.dimensions, limits)
    return np.broadcast_to(np.asarray(operand)[tuple(found)], shape.dimensions)


@gather.sampling
def _():
    matrix = np.arange(16 * 11, dtype=np.float32).reshape(16, 11)
    # The document's examples: slices of [8,6] from [16,11], at 5 and at 4x5 places; then whole rows (tf.gather_nd).
    slices = {"collapsed_slice_dims": (), "start_index_map": (0, 1), "slice_sizes": (8, 6)}
    starts = np.array([[0, 0], [8, 5], [3, 1], [1, 4], [7, 2]], np.int64)
    expected = np.stack([matrix[x : x + 8, y : y + 6] for x, y in starts])
    yield Sample([matrix, starts], {**slices, "offset_dims": (1, 2), "index_vector_dim": 1}, expected=expected)
    many = np.stack([(starts + k) % (9, 6) for k in range(4)])
    expected = np.stack([[matrix[x : x + 8, y : y + 6] for x, y in row] for row in many])
    yield Sample([matrix, many], {**slices, "offset_dims": (2, 3), "index_vector_dim": 2}, expected=expected)
    transposed = {**slices, "offset_dims": (0, 2), "index_vector_dim": 0}
    yield Sample([matrix, many.transpose(2, 0, 1)], transposed, expected=expected.transpose(2, 0, 3, 1))
    rows = {"offset_dims": (2,), "collapsed_slice_dims": (0,), "start_index_map": (0,), "slice_sizes": (1, 11)}
    places = np.array([[0, 15, 3], [3, 8, 9]], np.int32)
    yield Sample([matrix, places[..., None]], {**rows, "index_vector_dim": 2}, expected=matrix[places])
    yield Sample([matrix, places], {**rows, "index_vector_dim": 2}, expected=matrix[places])
    columns = {"offset_dims": (0,), "collapsed_slice_dims": (1,), "start_index_map": (1,), "slice_sizes": (16, 1)}
    yield Sample([matrix, places % 11], {**columns, "index_vector_dim": 2}, expected=matrix[:, places % 11])
    # Starts are clamped so that the slice lies inside.
    outside = np.array([[-5, 3], [100, 9], [2**40, -(2**40)]], np.int64)
    expected = np.stack([matrix[x : x + 8, y : y + 6] for x, y in ((0, 3), (8, 5), (8, 0))])
    yield Sample([matrix, outside], {**slices, "offset_dims": (1, 2), "index_vector_dim": 1}, expected=expected)
    points = {"offset_dims": (), "collapsed_slice_dims": (0,), "start_index_map": (0,), "slice_sizes": (1,)}
    points["index_vector_dim"] = 1
    huge = np.array([0, 2**64 - 1, 2**63, 2], np.uint64)
    yield Sample([np.array([5, 6, 7], np.int32), huge], points, expected=np.array([5, 7, 7, 7], np.int32))
    for element_type in (F64, BF16, C64, PRED, S8, U64):
        for index_type in (S8, U8, S32, U32, S64):
            yield Sample([Shape(element_type, (13,)), Shape(index_type, (35,))], {**points, "indices_are_sorted": True})
    scalar = {**points, "index_vector_dim": 0}
    yield Sample([np.array([4, 5, 6], np.int32), np.int32(1)], scalar, expected=np.int32(5))
    yield Sample([np.float32(3), np.zeros((2, 0), np.int32)], {**points, "collapsed_slice_dims": (), "start_index_map": (),
                 "slice_sizes": ()}, expected=np.full(2, 3, np.float32))  # fmt: skip
    batched = {"offset_dims": (), "collapsed_slice_dims": (1,), "start_index_map": (1,), "operand_batching_dims": (0,)}
    batched |= {"start_indices_batching_dims": (0,), "slice_sizes": (1, 1), "index_vector_dim": 2}
    table = np.array([[10, 11, 12], [20, 21, 22]], np.int32)
    chosen = np.array([[2, 0, 0, 1], [1, 1, 2, 9]], np.int32)
    expected = np.array([[12, 10, 10, 11], [21, 21, 22, 22]], np.int32)
    yield Sample([table, chosen], batched, expected=expected)
    yield Sample([Shape(F32, (3, 40)), Shape(S32, (3, 33, 1))], batched)
    several = {"offset_dims": (1,), "collapsed_slice_dims": (1,), "start_index_map": (1, 2), "operand_batching_dims": (0, 3)}
    several |= {"start_indices_batching_dims": (3, 1), "slice_sizes": (1, 1, 2, 1), "index_vector_dim": 2}
    yield Sample([Shape(S32, (2, 5, 6, 4)), Shape(S64, (7, 4, 2, 2))], several)
    part = {**rows, "offset_dims": (1,), "slice_sizes": (1, 33), "index_vector_dim": 1}
    yield Sample([Shape(F32, (5, 40)), Shape(S32, (9,))], part)
    yield Sample([Shape(F32, (0, 4)), Shape(S32, (0,))], {**batched, "slice_sizes": (0, 1), "index_vector_dim": 1})
    yield Sample([Shape(F32, (5,)), Shape(S32, (0,))], points, expected=np.zeros(0, np.float32))
    matrix_, indices = Shape(F32, (16, 11)), Shape(S32, (6, 2))
    good = {**slices, "offset_dims": (1, 2), "index_vector_dim": 1}
    for change, match in (
        ({"index_vector_dim": 3}, r"index_vector_dim must be in \[0, 2\]"),
        ({"start_index_map": (0,)}, "start_index_map must name one dimension for each of the 2 elements"),
        ({"index_vector_dim": 2}, "start_index_map must name one dimension for each of the 1 elements"),
        ({"start_index_map": (0, 2)}, r"start_index_map must be in \[0, 2\)"),
        ({"start_index_map": (1, 1)}, "start_index_map must be distinct"),
        ({"offset_dims": (2, 1)}, "offset_dims must be in ascending order"),
        ({"offset_dims": (1, 3)}, r"offset_dims must be in \[0, 3\)"),
        ({"offset_dims": (1, 1)}, "offset_dims must be distinct"),
        ({"offset_dims": (1,)}, "must be as many as the 2 dimensions"),
        ({"collapsed_slice_dims": (2,)}, r"collapsed_slice_dims must be in \[0, 2\)"),
        ({"collapsed_slice_dims": (1, 0)}, "collapsed_slice_dims must be in ascending order"),
        ({"collapsed_slice_dims": (0,), "offset_dims": (1,)}, "slice size of collapsed dimension 0 must be 1, got 8"),
        ({"slice_sizes": (8,)}, "one slice size for each of the 2 dimensions"),
        ({"slice_sizes": (17, 6)}, r"slice size 0 must be in \[0, 16\], got 17"),
        ({"slice_sizes": (8, -1)}, r"slice size 1 must be in \[0, 11\], got -1"),
    ):
        yield InvalidSample([matrix_, indices], {**good, **change}, match)
    yield InvalidSample([matrix_, Shape(F32, (6, 2))], good, "start_indices must have a signed integer, unsigned integer")
    table_, chosen_ = Shape(F32, (2, 3)), Shape(S32, (2, 4))
    for change, match in (
        ({"start_indices_batching_dims": ()}, "must have equally many dimensions"),
        ({"start_indices_batching_dims": (1,)}, "must have the same size"),
        ({"start_indices_batching_dims": (2,)}, r"start_indices_batching_dims must be in \[0, 2\)"),
        ({"operand_batching_dims": (1,)}, "collapsed_slice_dims and operand_batching_dims must have no dimension in common"),
        ({"start_index_map": (0,)}, "start_index_map and operand_batching_dims must have no dimension in common"),
        ({"slice_sizes": (2, 1)}, "slice size of batching dimension 0 must be at most 1, got 2"),
        ({"operand_batching_dims": (0, 0)}, "operand_batching_dims must be distinct"),
    ):
        yield InvalidSample([table_, chosen_], {**batched, **change}, match)
    vector = {**batched, "index_vector_dim": 0, "start_index_map": (0, 1)}
    yield InvalidSample([table_, chosen_], {**vector, "operand_batching_dims": ()}, "must not contain index_vector_dim")


_SCATTER_NAMES = {
    "indices": "scatter_indices",
    "map": "scatter_dims_to_operand_dims",
    "removed": "inserted_window_dims",
    "operand batching": "input_batching_dims",
    "indices batching": "scatter_indices_batching_dims",
}


@operation(
    "scatter", "*operands_indices_and_updates", builder="Scatter", traits={APPLIES}, updated_operand=0, dynamic=ACTUAL_SIZES,
    update_window_dims=IntegerList(), inserted_window_dims=IntegerList(), scatter_dims_to_operand_dims=IntegerList(),
    input_batching_dims=IntegerList(()), scatter_indices_batching_dims=IntegerList(()), index_vector_dim=Integer(),
    indices_are_sorted=Boolean(False), unique_indices=Boolean(False), to_apply=CalledComputation(),
)  # fmt: skip
def scatter(
    *operands, update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims, input_batching_dims,
    scatter_indices_batching_dims, index_vector_dim, indices_are_sorted, unique_indices, to_apply,
):  # fmt: skip
    """Scatter(operands..., scatter_indices, updates..., update_computation, dimension numbers, ...): the operands with slices
    updated.

    The updates' update_window_dims run through slices of the operands, without the dimensions in inserted_window_dims, their
    other dimensions through the scatter indices, whose vectors say where the slices start as those of a gather do. Each element
    of the updates replaces the element of the operands that it falls on by to_apply(current values..., updates...). A slice of
    which any part lies outside of the operands is skipped as a whole, as XLA does (the document's formula would skip its
    elements outside alone). Where several updates fall on one element their order is not defined by the document; here it is
    that of the scatter indices, but that a backend may combine many of them in groups, by an operation that allows for it, as
    it does in a reduction. That the indices are sorted, or that no element is updated twice, are promises.
    """
    require(
        len(operands) >= 3 and len(operands) % 2 == 1,
        f"scatter: N operands, scatter indices and N updates are required, got {len(operands)} in all",
    )
    count = len(operands) // 2
    arrays, indices, updates = operands[:count], operands[count], operands[count + 1 :]
    for number, (array, update) in enumerate(zip(arrays, updates)):
        require_array("scatter", f"operand {number}", array)
        require_array("scatter", f"updates {number}", update)
        same = array.dimensions == arrays[0].dimensions
        require(same, f"scatter: all operands must have the same dimensions, got {arrays[0]} and {array}")
        same = update.dimensions == updates[0].dimensions
        require(same, f"scatter: all updates must have the same dimensions, got {updates[0]} and {update}")
        require(
            update.element_type is array.element_type,
            f"scatter: updates {number} {update} must have the element type of operand {number} {array}",
        )
    operand, update = arrays[0], updates[0]
    _require_index_vectors("scatter", _SCATTER_NAMES, operand, indices, index_vector_dim, scatter_dims_to_operand_dims)
    _require_batching(
        "scatter", _SCATTER_NAMES, operand, indices, index_vector_dim, inserted_window_dims, scatter_dims_to_operand_dims,
        input_batching_dims, scatter_indices_batching_dims,
    )  # fmt: skip
    removed = (*inserted_window_dims, *input_batching_dims)
    require(
        len(update_window_dims) + len(removed) == operand.rank,
        f"scatter: update_window_dims, inserted_window_dims and input_batching_dims must be as many as the {operand.rank} "
        f"dimensions of {operand}, got {update_window_dims}, {inserted_window_dims} and {input_batching_dims}",
    )
    batch_sizes = _batch_sizes(indices, index_vector_dim)
    rank = len(update_window_dims) + len(batch_sizes)
    require(
        update.rank == rank,
        f"scatter: updates must have {rank} dimensions, one for each in update_window_dims and each of scatter_indices "
        f"{indices} but index_vector_dim, got {update}",
    )
    _require_ascending("scatter", "update_window_dims", update_window_dims, rank)
    bounds = [size for dimension, size in enumerate(operand.dimensions) if dimension not in removed]
    for dimension, bound in zip(update_window_dims, bounds):
        size = update.dimensions[dimension]
        require(
            size <= bound,
            f"scatter: window dimension {dimension} of updates {update} must not exceed {bound}, the size of operand {operand} "
            "there",
        )
    others = [dimension for dimension in range(rank) if dimension not in update_window_dims]
    for dimension, size in zip(others, batch_sizes):
        require(
            update.dimensions[dimension] == size,
            f"scatter: dimension {dimension} of updates {update} must have the size {size}, as scatter_indices {indices} has",
        )
    scalars = scalars_of(arrays)
    require_signature("scatter", "to_apply", to_apply, scalars * 2, one_or_tuple(list(scalars)))
    dynamic = merged_dynamic_dimensions(arrays)
    return one_or_tuple([array.with_dimensions(array.dimensions, dynamic) for array in arrays])


@scatter.counting
def _(operands, shape, attributes):
    return operands[-1].size


@scatter.evaluation
def _(*operands, to_apply, run, **attributes):
    """In rounds: each updates every element at most once, with the earliest of the updates that wait for it."""
    count = len(operands) // 2
    arrays, indices, updates = operands[:count], operands[count], operands[count + 1 :]
    results = [np.array(array) for array in arrays]
    sizes, full = np.shape(updates[0]), results[0].shape
    dimensions = slice_dimensions("scatter", len(full), np.ndim(indices), attributes)
    order = (*dimensions.batch_dims, *dimensions.offset_dims)
    found = [np.broadcast_to(i, sizes).transpose(order).ravel() for i in operand_indices(dimensions, indices, sizes, None)]
    inside = np.ones(np.size(updates[0]), bool)
    for index, size in zip(found, full):
        inside &= (index >= 0) & (index < size)
    windows = math.prod(sizes[d] for d in dimensions.batch_dims)
    inside = inside.reshape(windows, inside.size // max(windows, 1))
    inside = np.broadcast_to(inside.all(axis=1, keepdims=True), inside.shape).ravel()
    values = [np.transpose(update, order).ravel()[inside] for update in updates]
    flat = [result.reshape(-1) for result in results]
    targets = np.zeros(np.count_nonzero(inside), np.int64)
    for index, size in zip(found, full):
        targets = targets * size + index[inside]
    by_target = np.argsort(targets, kind="stable")
    is_first = np.append(True, np.diff(targets[by_target]) != 0)[: len(targets)]
    starts = np.flatnonzero(is_first)
    turns = np.arange(len(targets)) - np.repeat(starts, np.diff(np.append(starts, len(targets))))
    for turn in range(turns.max(initial=-1) + 1):
        chosen = by_target[turns == turn]
        places = targets[chosen]
        combined = run.elementwise(to_apply, *(one[places] for one in flat), *(value[chosen] for value in values))
        for one, new in zip(flat, combined):
            one[places] = new
    shaped = tuple(one.reshape(full) for one in flat)
    return shaped if count > 1 else shaped[0]


@scatter.sampling
def _():
    def second(element_type):
        b = Builder("assign")
        b.parameter(Shape(element_type), "current")
        return b.build(b.parameter(Shape(element_type), "update"))

    points = {"update_window_dims": (), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}
    points |= {"index_vector_dim": 1, "to_apply": scalar_computation("add", S32)}
    base, places = np.array([10, 20, 30, 40], np.int32), np.array([1, 3, 1, -1, 4, 1], np.int64)
    amounts = np.array([1, 2, 3, 4, 5, 6], np.int32)
    yield Sample([base, places, amounts], points, expected=np.array([10, 30, 30, 42], np.int32))
    assign = {**points, "to_apply": second(S32)}
    yield Sample([base, places, amounts], assign, expected=np.array([10, 6, 30, 2], np.int32))
    subtract = {**points, "to_apply": scalar_computation("subtract", S32)}
    yield Sample([base, places[:, None], amounts], subtract, expected=np.array([10, 10, 30, 38], np.int32))
    huge = np.array([2**64 - 1, 2, 2**63], np.uint64)
    yield Sample([base, huge, amounts[:3]], points, expected=np.array([10, 20, 32, 40], np.int32))
    scalar = {**points, "index_vector_dim": 0}
    yield Sample([base, np.int32(2), np.int32(7)], scalar, expected=np.array([10, 20, 37, 40], np.int32))
    nothing = {**points, "inserted_window_dims": (), "scatter_dims_to_operand_dims": ()}
    yield Sample([np.int32(5), np.zeros((3, 0), np.int32), amounts[:3]], nothing, expected=np.int32(11))
    for element_type in (F32, F64, BF16, C64, S8, U64):
        add = {**points, "to_apply": scalar_computation("add", element_type)}
        for index_type in (S8, U8, S32, U32, S64):
            index = np.arange(35).astype(index_type.dtype) * 5 % 13
            yield Sample([Shape(element_type, (11,)), index, Shape(element_type, (35,))], add)
    either = {**points, "to_apply": scalar_computation("or", PRED)}
    yield Sample([Shape(PRED, (9,)), Shape(S32, (3,)), Shape(PRED, (3,))], either)
    rows = {"update_window_dims": (1,), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}
    rows |= {"index_vector_dim": 1, "to_apply": scalar_computation("add", F32)}
    matrix, update = np.zeros((4, 37), np.float32), np.arange(1, 3 * 37 + 1, dtype=np.float32).reshape(3, 37)
    expected = np.stack([0 * update[0], update[0] + update[2], 0 * update[0], update[1]])
    yield Sample([matrix, np.array([1, 3, 1], np.int32), update], rows, expected=expected)
    yield Sample([Shape(F32, (4, 37)), Shape(S32, (6,)), Shape(F32, (6, 20))], rows)
    # The windows of a scatter lie where the slices of a gather do, but they are not clamped: one that lies outside in part is
    # skipped as a whole.
    windows = {"update_window_dims": (1, 2), "inserted_window_dims": (), "scatter_dims_to_operand_dims": (0, 1)}
    windows |= {"index_vector_dim": 1, "to_apply": scalar_computation("add", F32)}
    expected = np.zeros((4, 5), np.float32)
    expected[:2, :3] += 1
    expected[2:, 1:4] += 1
    starts = np.array([[-1, 0], [2, 1], [3, 0], [0, 3], [0, 0], [2**62, 0]], np.int64)
    yield Sample([np.zeros((4, 5), np.float32), starts, np.ones((6, 2, 3), np.float32)], windows, expected=expected)
    wide = {**windows, "update_window_dims": (1,), "inserted_window_dims": (0,)}
    expected = np.zeros((4, 37), np.float32)
    expected[1, 4:] += 1
    starts = np.array([[1, 4], [4, 0], [0, 5], [-1, 2], [2, -1]], np.int32)
    yield Sample([np.zeros((4, 37), np.float32), starts, np.ones((5, 33), np.float32)], wide, expected=expected)
    across = {**windows, "update_window_dims": (0, 2), "scatter_dims_to_operand_dims": (1, 0), "index_vector_dim": 0}
    yield Sample([Shape(F32, (7, 40)), Shape(S32, (2, 5)), Shape(F32, (3, 5, 35))], across)
    batched = {"update_window_dims": (), "inserted_window_dims": (1,), "scatter_dims_to_operand_dims": (1,)}
    batched |= {"input_batching_dims": (0,), "scatter_indices_batching_dims": (0,), "index_vector_dim": 2}
    batched |= {"to_apply": second(S32), "unique_indices": True, "indices_are_sorted": True}
    table, chosen = np.zeros((2, 3), np.int32), np.array([[0, 2], [1, 5]], np.int32)
    expected = np.array([[7, 0, 8], [0, 9, 0]], np.int32)
    yield Sample([table, chosen, np.array([[7, 8], [9, 9]], np.int32)], batched, expected=expected)
    yield Sample([Shape(S32, (0, 3)), Shape(S32, (0, 2)), Shape(S32, (0, 2))], batched)
    yield Sample([Shape(S32, (3,)), Shape(S64, (0,)), Shape(S32, (0,))], points)
    yield Sample([Shape(S32, (0,)), Shape(S64, (2,)), Shape(S32, (2,))], points)
    pair = _sum_and_maximum()
    both = [Shape(F32, (9,)), Shape(S32, (9,)), np.arange(12, dtype=np.int32) % 7, Shape(F32, (12,)), Shape(S32, (12,))]
    yield Sample(both, {**points, "to_apply": pair})
    operand, indices, updates = Shape(F32, (4, 37)), Shape(S32, (6, 1)), Shape(F32, (6, 20))
    for change, match in (
        ({"index_vector_dim": 3}, r"index_vector_dim must be in \[0, 2\]"),
        ({"scatter_dims_to_operand_dims": (0, 1)}, "scatter_dims_to_operand_dims must name one dimension for each of the 1"),
        ({"scatter_dims_to_operand_dims": (2,)}, r"scatter_dims_to_operand_dims must be in \[0, 2\)"),
        ({"update_window_dims": (0, 1), "inserted_window_dims": ()}, "updates must have 3 dimensions"),
        ({"update_window_dims": (2,)}, r"update_window_dims must be in \[0, 2\)"),
        ({"update_window_dims": ()}, "must be as many as the 2 dimensions"),
        ({"inserted_window_dims": (2,)}, r"inserted_window_dims must be in \[0, 2\)"),
        ({"inserted_window_dims": (1, 0)}, "inserted_window_dims must be in ascending order"),
        ({"inserted_window_dims": (1,)}, "must not exceed 4"),
        ({"update_window_dims": (0,)}, "must have the size 6"),
        ({"input_batching_dims": (0,)}, "inserted_window_dims and input_batching_dims must have no dimension in common"),
        ({"scatter_indices_batching_dims": (0,)}, "must have equally many dimensions"),
        ({"to_apply": scalar_computation("add", S32)}, "to_apply must take"),
        ({"to_apply": pair}, "to_apply must take"),
    ):
        yield InvalidSample([operand, indices, updates], {**rows, **change}, match)
    yield InvalidSample([Shape(F32, (4, 4)), Shape(S32, (2, 1)), Shape(F32, (2, 5))], rows, "must not exceed 4, the size of")
    descending = {**windows, "update_window_dims": (2, 1)}
    yield InvalidSample([operand, Shape(S32, (6, 2)), Shape(F32, (6, 2, 2))], descending, "must be in ascending order")
    yield InvalidSample([operand, indices], rows, "N operands, scatter indices and N updates are required, got 2")
    yield InvalidSample([operand, indices, Shape(S32, (6, 20))], rows, "must have the element type of operand 0")
    yield InvalidSample([operand, Shape(F32, (6, 1)), updates], rows, "scatter_indices must have a signed integer")
    vectors = [Shape(F32, (9,)), Shape(S32, (8,)), Shape(S32, (3,)), Shape(F32, (3,)), Shape(S32, (3,))]
    yield InvalidSample(vectors, {**points, "to_apply": pair}, "all operands must have the same dimensions")
    vectors = [Shape(F32, (9,)), Shape(S32, (9,)), Shape(S32, (3,)), Shape(F32, (3,)), Shape(S32, (4,))]
    yield InvalidSample(vectors, {**points, "to_apply": pair}, "all updates must have the same dimensions")


def _sum_and_maximum():
    """The computation of a scatter of two operands: the sum of floats and the maximum of integers."""
    b = Builder("sum_and_maximum")
    total, largest, value, number = (b.parameter(Shape(t)) for t in (F32, S32, F32, S32))
    return b.build(b.emit("tuple", b.emit("add", total, value), b.emit("maximum", largest, number)))

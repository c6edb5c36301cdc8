"""How gather and scatter relate the dimensions of an operand, of start indices, and of the slices read or written.

Source: the formal description of "Gather" and "Scatter" in XLA's Operation Semantics; batching dimensions as in StableHLO's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class SliceDimensions(NamedTuple):
    """The dimension numbers of a gather or scatter, in one form for both.

    *Slices* is the result of a gather or the updates of a scatter. Its ``offset_dims`` run through the operand's
    ``window_dims``, in order; its ``batch_dims`` are all others, and run through the start indices. Element k of an index
    vector counts along dimension ``index_map[k]`` of the operand. ``batching`` maps dimensions of the operand to positions in
    ``batch_dims``. ``implicit_vector`` says that each start index is a vector of one element, without a dimension of its own.
    """

    rank: int
    offset_dims: tuple[int, ...]
    batch_dims: tuple[int, ...]
    window_dims: tuple[int, ...]
    index_map: tuple[int, ...]
    batching: dict[int, int]
    index_vector_dim: int
    implicit_vector: bool

    def start_index(self, batch: tuple, k: Any) -> tuple:
        """The index, in the start indices, of element k of the index vector that belongs to a batch index."""
        vector = () if self.implicit_vector else (k,)
        return (*batch[: self.index_vector_dim], *vector, *batch[self.index_vector_dim :])


_NAMES = {
    "gather": (
        "offset_dims", "collapsed_slice_dims", "start_index_map", "operand_batching_dims", "start_indices_batching_dims",
    ),
    "scatter": (
        "update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims", "input_batching_dims",
        "scatter_indices_batching_dims",
    ),
}  # fmt: skip


def slice_dimensions(opcode: str, operand_rank: int, indices_rank: int, attributes: dict[str, Any]) -> SliceDimensions:
    """The dimension numbers of a checked gather or scatter, from its attributes.

    >>> numbers = {"offset_dims": (1,), "collapsed_slice_dims": (0,), "start_index_map": (0,), "operand_batching_dims": ()}
    >>> numbers |= {"start_indices_batching_dims": (), "index_vector_dim": 1}
    >>> slice_dimensions("gather", 2, 1, numbers).start_index(("i",), 0)
    ('i',)
    """
    offset, removed, index_map, operand_batching, indices_batching = (attributes[name] for name in _NAMES[opcode])
    vector = attributes["index_vector_dim"]
    implicit = vector == indices_rank
    batch_rank = indices_rank - (not implicit)
    batch = tuple(d for d in range(batch_rank + len(offset)) if d not in offset)
    window = tuple(d for d in range(operand_rank) if d not in removed and d not in operand_batching)
    batching = {d: other - (other > vector) for d, other in zip(operand_batching, indices_batching)}
    return SliceDimensions(operand_rank, offset, batch, window, index_map, batching, vector, implicit)


def operand_indices(
    dimensions: SliceDimensions, start_indices: np.ndarray, sizes: tuple[int, ...], limits: tuple[int, ...] | None
) -> list[np.ndarray]:
    """For each dimension of the operand the index that each element of the slices (of these sizes) stands for.

    The arrays are int64 and broadcast to the sizes. ``limits`` are the largest starts, to which starts are clamped; without
    them they are as they are, but for those beyond +-2**62, which lie outside of any array.
    """
    rank = len(sizes)
    numbers = []
    for dimension, size in enumerate(sizes):
        along = [1] * rank
        along[dimension] = size
        numbers.append(np.arange(size, dtype=np.int64).reshape(along))
    batch = tuple(numbers[d] for d in dimensions.batch_dims)
    found = [np.zeros([1] * rank, np.int64) for _ in range(dimensions.rank)]
    for offset, window in zip(dimensions.offset_dims, dimensions.window_dims):
        found[window] = numbers[offset]
    for window, position in dimensions.batching.items():
        found[window] = batch[position]
    wide = np.asarray(start_indices)
    if wide.dtype == np.uint64:
        wide = np.minimum(wide, np.uint64(2**62))
    wide = np.clip(wide.astype(np.int64), -(2**62), 2**62)
    for k, window in enumerate(dimensions.index_map):
        start = wide[dimensions.start_index(batch, k)]
        if limits is not None:
            start = np.clip(start, 0, limits[window])
        found[window] = found[window] + start
    return found

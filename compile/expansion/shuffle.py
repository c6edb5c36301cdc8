"""Shuffle as slices and concatenations, or as a gather."""

from __future__ import annotations

from math import prod

import numpy as np

from ... import hlo
from ...hlo import Instruction
from ...hlo.ops.shuffle import origins
from .table import expansion


@expansion("shuffle")
def expand_shuffle(shuffle: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """shuffle(f32[4] x), shifts={1} -> concatenate(x[1:4], x[0:1]); with indices {3,1,0,2} -> gather(x, {3,1,0,2})"""
    (result,) = operands
    attributes, sizes = shuffle.attributes, shuffle.shape.dimensions
    if attributes["mode"] == "permute":
        return _permuted(result, origins(sizes, attributes["dimensions"], attributes["indices"]))
    for dimension, shift in zip(attributes["dimensions"], attributes["shifts"]):
        start = shift % sizes[dimension] if sizes[dimension] else 0
        if start:
            whole = [(0, size, 1) for size in sizes]
            parts = []
            for low, high in ((start, sizes[dimension]), (0, start)):
                whole[dimension] = (low, high, 1)
                parts.append(hlo.emit("slice", result, slice=tuple(whole)))
            result = hlo.concatenate(*parts, dimensions=(dimension,))
    return result


def _permuted(operand: Instruction, places: tuple[np.ndarray, ...]) -> Instruction:
    """The elements from these places, as a gather from the flattened operand."""
    sizes = operand.shape.dimensions
    count = prod(sizes)
    if not count:
        return operand
    flat = np.ravel_multi_index(np.broadcast_arrays(*places), sizes).reshape(count, 1)
    gathered = hlo.gather(
        hlo.reshape(operand, (count,)), hlo.constant(flat.astype(np.int32 if count < 2**31 else np.int64)),
        offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,), index_vector_dim=1, slice_sizes=(1,),
    )  # fmt: skip
    return hlo.reshape(gathered, sizes)

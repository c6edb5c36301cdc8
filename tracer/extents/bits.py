"""Bits packed into bytes, bytes into bits, and elements read as others, of arrays whose sizes are known at run time only."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, as_index, require_trace
from ..recording.dynamic_array import DynamicArray, Sizes, dynamic, padded_instruction, sizes_of, with_sizes
from ..recording.function_tables import FUNCTIONS, implements_dynamic
from ..recording.operands import normalize_axis
from ..recording.trace import Trace


def _with_zeros(trace: Trace, a: Any, axis: Any) -> tuple[TracedArray, int, Sizes]:
    """An array of the bounds with zeros behind the sizes, the axis, and the sizes; without an axis of all elements."""
    line = a.reshape(-1) if axis is None else a
    axis = 0 if axis is None else normalize_axis(axis, line.ndim)
    if not isinstance(line, DynamicArray):
        return line, axis, {}
    return line.filled(trace, 0), axis, line.sizes(trace)


@implements_dynamic(np.packbits)
def packbits(a, /, axis=None, bitorder="big"):
    if a.dtype.kind not in "iub":
        raise TypeError("Expected an input array of integer or boolean data type")
    trace = require_trace(a)
    bits, axis, sizes = _with_zeros(trace, a, axis)
    packed = FUNCTIONS[np.packbits](bits, axis, bitorder)
    if axis in sizes:
        sizes = {**sizes, axis: hlo.divide(hlo.add(sizes[axis], 7), 8)}
    return dynamic(trace, packed, sizes)


@implements_dynamic(np.unpackbits)
def unpackbits(a, /, axis=None, count=None, bitorder="big"):
    """The number of bits must be known while tracing."""
    if a.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    trace = require_trace(a)
    packed, axis, sizes = _with_zeros(trace, a, axis)
    count = None if count is None else as_index(count, "as a number of bits")
    if axis not in sizes or count is None:
        bits = FUNCTIONS[np.unpackbits](packed, axis, count, bitorder)
        return dynamic(trace, bits, {**sizes, axis: hlo.multiply(sizes[axis], 8)} if axis in sizes else sizes)
    if count < 0:
        raise NotImplementedError(
            "np.unpackbits with a negative count of an array whose size is known at run time only is not implemented"
        )
    bits = FUNCTIONS[np.unpackbits](packed, axis, count, bitorder)
    return dynamic(trace, bits, {d: size for d, size in sizes.items() if d != axis})


@implements_dynamic(np.ndarray.view)
def view(a, dtype=None, type=None):
    """As wider elements where the size of the last dimension is known."""
    if a.has_other_order:
        raise NotImplementedError(f"a view of an array in the other byte order, {a!r}, is not implemented")
    last, of_array = a.ndim - 1, isinstance(dtype, builtins.type) and issubclass(dtype, np.ndarray)
    parts = 1 if dtype is None or of_array else a.itemsize // hlo.as_dtype(dtype).itemsize
    if a.bounds.is_dynamic(last) and not parts:
        raise NotImplementedError(
            "a view as wider elements of an array whose last size is known at run time only is not implemented"
        )
    like = a.padded(require_trace(a)).view(dtype, type)
    reads, writes = like.view_reader, like.view_writer

    def read(trace: Trace, base: hlo.Instruction) -> hlo.Instruction:
        sizes = sizes_of(base)
        sizes |= {d: hlo.multiply(size, parts) for d, size in sizes.items() if d == last}
        return with_sizes(reads(trace, padded_instruction(base)), sizes)

    def write(trace: Trace, base: hlo.Instruction, value: hlo.Instruction) -> hlo.Instruction:
        return with_sizes(writes(trace, padded_instruction(base), padded_instruction(value)), sizes_of(base))

    bounds = hlo.Shape(like.element_type, like.shape, dynamic_dimensions=a.bounds.dynamic_dimensions)
    return DynamicArray.view_on(a, bounds, read, write)

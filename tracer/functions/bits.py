"""Bits packed into bytes, and bytes into bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..recording.array import TracedArray, as_index
from ..recording.function_tables import implements
from ..recording.operands import as_strong, normalize_axis, prepare


def _shifts(bitorder: str) -> TracedArray:
    if not isinstance(bitorder, str):
        raise TypeError(f"the bit order must be a str, not {type(bitorder).__name__}")
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    shifts = list(range(8))
    return as_strong(shifts[::-1] if bitorder == "big" else shifts).astype(np.uint8)


def _last(array: Any, axis: Any) -> tuple[TracedArray, int]:
    """The array with the axis behind all others, and where that has been."""
    array = as_strong(prepare(array))
    if axis is None:
        return array.reshape(-1), 0
    axis = normalize_axis(axis, array.ndim)
    return np.moveaxis(array, axis, -1), axis


@implements(np.packbits)
def packbits(a, /, axis=None, bitorder="big"):
    shifts, (bits, axis) = _shifts(bitorder), _last(a, axis)
    if bits.dtype.kind not in "iub":
        raise TypeError("Expected an input array of integer or boolean data type")
    count = -(-bits.shape[-1] // 8)
    missing = [(0, 0)] * (bits.ndim - 1) + [(0, 8 * count - bits.shape[-1])]
    bits = np.pad((bits != 0).astype(np.uint8), missing).reshape((*bits.shape[:-1], count, 8))
    packed = np.bitwise_or.reduce(np.left_shift(bits, shifts), axis=-1)
    return np.moveaxis(packed, -1, axis)


@implements(np.unpackbits)
def unpackbits(a, /, axis=None, count=None, bitorder="big"):
    """The number of bits must be known while tracing."""
    shifts, (packed, axis) = _shifts(bitorder), _last(a, axis)
    if packed.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    size = 8 * packed.shape[-1]
    bits = (np.right_shift(packed[..., None], shifts) & 1).reshape((*packed.shape[:-1], size))
    if count is not None:
        count = as_index(count, "as a number of bits")
        if count < -size:
            raise ValueError(f"-count larger than number of elements: {-count} > {size}")
        count = count if count >= 0 else size + count
        bits = bits[..., :count]
        bits = np.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, max(count - size, 0))]) if count > size else bits
    return np.moveaxis(bits, -1, axis)

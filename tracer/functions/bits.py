"""Bits packed into bytes, and bytes into bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, as_index
from ..recording.function_tables import implements
from ..recording.memory_order import fresh, in_order_of
from ..recording.operands import as_strong, normalize_axis, prepare, require_no_bool, result, value


def _order(bitorder: str) -> list[int]:
    """The places of the bits in a byte, the first one's first."""
    if not isinstance(bitorder, str):
        raise TypeError(f"the bit order must be a str, not {type(bitorder).__name__}")
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    return list(range(7, -1, -1) if bitorder == "big" else range(8))


def _in_bytes(values: list[int]) -> int:
    """An integer of eight bytes, the first one the lowest."""
    return int.from_bytes(values, "little")


def _last(array: Any, axis: Any) -> tuple[TracedArray, Callable[[TracedArray], TracedArray]]:
    """The array with the axis behind all others, and what makes of the result, with the axis there, that of NumPy."""
    require_no_bool(axis)
    array = as_strong(prepare(array))
    if axis is None:
        return array.reshape(-1), lambda found: found
    axis = normalize_axis(axis, array.ndim)
    return np.moveaxis(array, axis, -1), lambda found: in_order_of(fresh(np.moveaxis(found, -1, axis)), array)


@implements(np.packbits)
def packbits(a, /, axis=None, bitorder="big"):
    order, (bits, in_place) = _order(bitorder), _last(a, axis)
    if bits.dtype.kind not in "iub":
        raise TypeError("Expected an input array of integer or boolean data type")
    count = -(-bits.shape[-1] // 8)
    missing = [(0, 0)] * (bits.ndim - 1) + [(0, 8 * count - bits.shape[-1])]
    bits = np.pad((bits != 0).astype(np.uint8), missing).reshape((*bits.shape[:-1], count, 8))
    trace, eights = value(bits)
    eights = result(trace, hlo.emit("bitcast-convert", eights, shape=hlo.Shape(hlo.U64, eights.shape.dimensions[:-1])))
    # The product's last byte is the sum of all eight, each moved to a place of its own.
    factor = np.uint64(_in_bytes([1 << place for place in reversed(order)]))
    packed = ((eights * factor) >> np.uint64(56)).astype(np.uint8)
    return in_place(packed)


@implements(np.unpackbits)
def unpackbits(a, /, axis=None, count=None, bitorder="big"):
    """The number of bits must be known while tracing."""
    order, (packed, in_place) = _order(bitorder), _last(a, axis)
    if packed.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    size = 8 * packed.shape[-1]
    places = np.uint64(_in_bytes([1 << place for place in order]))
    # Each byte is left with a bit of its own, and what adds to that up to its highest bit.
    alone = (packed.astype(np.uint64) * np.uint64(_in_bytes([1] * 8))) & places
    alone = ((alone + np.uint64(_in_bytes([0x7F] * 8))) >> np.uint64(7)) & np.uint64(_in_bytes([1] * 8))
    trace, eights = value(alone)
    bits = result(trace, hlo.emit("bitcast-convert", eights, shape=hlo.Shape(hlo.U8, (*alone.shape, 8))))
    bits = bits.reshape((*packed.shape[:-1], size))
    if count is not None:
        count = as_index(count, "as a number of bits")
        if count < -size:
            raise ValueError(f"-count larger than number of elements: {-count} > {size}")
        count = count if count >= 0 else size + count
        bits = bits[..., :count]
        bits = np.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, max(count - size, 0))]) if count > size else bits
    return in_place(bits)

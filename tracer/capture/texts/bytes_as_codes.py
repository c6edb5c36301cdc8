"""Bytes of arrays among the characters of the program, one character each, and the sums by which keys are found."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import hlo
from ...recording.array import TracedArray, require_trace
from .deferred import Deferred, bytes_of

Instruction = hlo.Instruction
_MULTIPLIER = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio
_OF_ARRAYS = {np.ndarray.tobytes, np.generic.tobytes, bytes_of}


def codes_of_bytes(value: Any) -> Instruction | None:
    """s32[n]; None where Python has to make the bytes."""
    if isinstance(value, bytes):
        return hlo.constant(np.frombuffer(value, np.uint8).astype(np.int32)) if value else None
    if type(value) is not Deferred or value.function not in _OF_ARRAYS or value.values[1:] not in ((), ("C",)):
        return None
    array = value.values[0]
    if not isinstance(array, TracedArray) or array.is_dynamic or not array.size or array.element_type.is_complex:
        return None
    base = array.instruction(require_trace())
    if base.shape.element_type is hlo.PRED:
        base = hlo.convert(base, hlo.U8)
    elif base.shape.element_type is not hlo.U8:
        base = hlo.bitcast_convert(base, hlo.U8)
    return hlo.convert(hlo.reshape(base, (base.shape.size,)), hlo.S32)


def _weights(places: Instruction) -> Instruction:
    mixed = hlo.multiply(hlo.add(hlo.convert(places, hlo.U64), np.uint64(1)), np.uint64(_MULTIPLIER))
    return hlo.multiply(hlo.xor(mixed, hlo.shift_right_logical(mixed, np.uint64(32))), np.uint64(_MULTIPLIER))


def weighed(total: Instruction, code: Instruction, place: Instruction) -> Instruction:
    """The sum with one character more; those of all may be added in any order."""
    return hlo.add(total, hlo.multiply(hlo.add(code, np.uint64(1)), _weights(place)))


def sum_of_codes(codes: Instruction) -> Instruction:
    """The same of all of them at once."""
    trace, places = require_trace(), hlo.iota(hlo.Shape(hlo.S64, codes.shape.dimensions), 0)
    terms = weighed(hlo.full(hlo.Shape(hlo.U64, codes.shape.dimensions), 0), hlo.convert(codes, hlo.U64), places)
    return np.sum(TracedArray.from_instruction(trace, terms, is_scalar=False)).instruction(trace)

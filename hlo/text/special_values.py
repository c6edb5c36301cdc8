"""What floating-point types have besides numbers: infinities and NaNs, in HLO text and as bits."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np

from ..element_type import ElementType

SPECIAL = re.compile(r"(-?)(inf|nan)(?:\(0x([0-9a-fA-F]+)\))?")

# Float types whose NaNs are not those of IEEE 754: the bits that nan and -nan stand for.
_OTHER_NANS = {
    "f4e2m1fn": (),
    "f8e4m3fn": (0x7F, 0xFF),
    "f8e4m3fnuz": (0x80, 0x80),
    "f8e4m3b11fnuz": (0x80, 0x80),
    "f8e5m2fnuz": (0x80, 0x80),
    "f8e8m0fnu": (0xFF,),
}


def nan_text(bits: int, element_type: ElementType) -> str:
    """The NaN with these bits."""
    if element_type.name in _OTHER_NANS:
        return "-nan" if _OTHER_NANS[element_type.name].index(bits) else "nan"
    mantissa_bits = int(ml_dtypes.finfo(element_type.dtype).nmant)
    sign = "-" if bits >> (element_type.bits - 1) else ""
    payload = bits & (2**mantissa_bits - 1)
    return f"{sign}nan" if payload == 2 ** (mantissa_bits - 1) else f"{sign}nan(0x{payload:x})"


def set_special(values: np.ndarray, number: int, token: str, element_type: ElementType) -> bool:
    """Put the infinity or NaN that the token spells into its place; False if the type has none such."""
    sign, word, payload = SPECIAL.fullmatch(token).groups()
    special = _infinity_bits(element_type, bool(sign)) if word == "inf" else _nan_bits(element_type, bool(sign), payload)
    if special is None or (word == "inf" and payload):
        return False
    values.view(np.dtype(f"u{values.dtype.itemsize}"))[number] = special
    return True


def out_of_range(wide: np.ndarray, element_type: ElementType) -> np.ndarray:
    """Where a type that saturates, or has no signs, would give another number."""
    if element_type.name == "f4e2m1fn":
        return np.abs(wide) > 7
    if element_type.name == "f8e8m0fnu":
        return wide < 0
    return np.zeros(wide.shape, np.bool_)


def _infinity_bits(element_type: ElementType, negative: bool) -> int | None:
    if element_type.name in _OTHER_NANS:
        return None
    mantissa_bits = int(ml_dtypes.finfo(element_type.dtype).nmant)
    exponent = (1 << (element_type.bits - 1 - mantissa_bits)) - 1
    return exponent << mantissa_bits | negative << (element_type.bits - 1)


def _nan_bits(element_type: ElementType, negative: bool, payload: str | None) -> int | None:
    if element_type.name in _OTHER_NANS:
        nans = _OTHER_NANS[element_type.name]
        return nans[negative] if negative < len(nans) and payload is None else None
    mantissa_bits = int(ml_dtypes.finfo(element_type.dtype).nmant)
    mantissa = 1 << (mantissa_bits - 1) if payload is None else int(payload, 16) if len(payload) <= 16 else 0
    if not 0 < mantissa < 1 << mantissa_bits:
        return None
    return _infinity_bits(element_type, negative) | mantissa

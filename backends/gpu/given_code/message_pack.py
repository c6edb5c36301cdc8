"""MessagePack, as far as the metadata of code objects has it. Source: the MessagePack specification."""

from __future__ import annotations

import struct
from typing import Any

_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
_NUMBERS = dict(zip(range(0xCA, 0xD4), (">f", ">d", ">B", ">H", ">I", ">Q", ">b", ">h", ">i", ">q")))
# What has a length before it: how the length is stored.
_TEXTS = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
_BYTES = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I"}
_LISTS = {0xDC: ">H", 0xDD: ">I"}
_MAPS = {0xDE: ">H", 0xDF: ">I"}


def unpacked(data: bytes) -> Any:
    """The value. Raises ValueError where the data ends too early, or has what is none.

    >>> unpacked(b"\\x82\\xa1a\\x01\\xa1b\\x92\\xc3\\xcd\\x01\\x00")
    {'a': 1, 'b': [True, 256]}
    """
    try:
        return _value(data, 0)[0]
    except (struct.error, IndexError, TypeError) as error:
        raise ValueError(f"no whole MessagePack value: {error}") from None


def _value(data: bytes, at: int) -> tuple[Any, int]:
    """The value that begins there, and where it ends."""
    kind = data[at]
    at += 1
    if kind <= 0x7F or kind >= 0xE0:
        return kind - (0x100 if kind >= 0xE0 else 0), at
    if kind in _CONSTANTS:
        return _CONSTANTS[kind], at
    if kind in _NUMBERS:
        return _number(_NUMBERS[kind], data, at)
    if 0xA0 <= kind <= 0xBF or kind in _TEXTS or kind in _BYTES:
        count, at = (kind & 0x1F, at) if kind <= 0xBF else _number((_TEXTS | _BYTES)[kind], data, at)
        content = data[at : at + count]
        if len(content) < count:
            raise IndexError(f"{count} bytes are said, {len(content)} are left")
        return content if kind in _BYTES else content.decode(errors="replace"), at + count
    if 0x90 <= kind <= 0x9F or kind in _LISTS:
        count, at = _number(_LISTS[kind], data, at) if kind in _LISTS else (kind & 0x0F, at)
        return _values(data, at, count)
    if 0x80 <= kind <= 0x8F or kind in _MAPS:
        count, at = _number(_MAPS[kind], data, at) if kind in _MAPS else (kind & 0x0F, at)
        items, at = _values(data, at, 2 * count)
        return dict(zip(items[::2], items[1::2])), at
    raise ValueError(f"MessagePack of kind {kind:#x} is not known")


def _number(form: str, data: bytes, at: int) -> tuple[Any, int]:
    return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)


def _values(data: bytes, at: int, count: int) -> tuple[list[Any], int]:
    values = []
    for _ in range(count):
        value, at = _value(data, at)
        values.append(value)
    return values, at

"""What an error flag holds: 0, or the number of what is raised, and above it the value that its message has."""

from __future__ import annotations

import re

from ... import hlo

_NUMBER_BITS = 20
_NO_VALUE = re.compile(r"\S*\{\}\S* ")
_LARGEST = 2 ** (62 - _NUMBER_BITS)  # values that are as large as this are not shown


def with_value(number: int, value: hlo.Instruction) -> hlo.Instruction:
    if value.shape.element_type is hlo.U64:  # its upper half would turn negative
        value = hlo.minimum(value, _LARGEST)
    value = hlo.clamp(hlo.constant(-_LARGEST, hlo.S64), hlo.convert(value, hlo.S64), hlo.constant(_LARGEST, hlo.S64))
    return hlo.add(hlo.multiply(value, 2**_NUMBER_BITS), number)


def number_of(flag: hlo.Instruction) -> hlo.Instruction:
    return hlo.and_(flag, 2**_NUMBER_BITS - 1)


def number_and_value(flag: int) -> tuple[int, int]:
    return flag & (2**_NUMBER_BITS - 1), flag >> _NUMBER_BITS


def with_value_shown(message: str, value: int) -> str:
    """The message with the value in the place of ``{}``.

    >>> with_value_shown("index {} is out of bounds", -7)
    'index -7 is out of bounds'
    >>> with_value_shown("index [{}] is out of bounds", 2**60)
    'index is out of bounds'
    """
    return message.replace("{}", str(value)) if abs(value) < _LARGEST else _NO_VALUE.sub("", message)

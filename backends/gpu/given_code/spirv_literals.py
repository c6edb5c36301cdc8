"""Literals of SPIR-V's text as words: strings, integers and floating-point numbers of any width.

Numbers are rounded once, to the nearest, ties to even. In base 16 an exponent beyond the largest makes infinities (``0x1p+128``
of 32 bits) and NaNs (``0x1.8p+128``), as in SPIR-V Tools.
"""

from __future__ import annotations

import re
from decimal import Decimal, DecimalException
from fractions import Fraction
from typing import NamedTuple

_HEXADECIMAL = re.compile(r"0[xX]([0-9a-fA-F]*)(?:\.([0-9a-fA-F]*))?[pP]([+-]?\d+)")
_INTEGER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|[0-9]+)")
# Exponents that no type has: numbers as long as these say are not written out.
_MOST_EXPONENT = 1 << 16


class IntegerType(NamedTuple):
    """OpTypeInt: how many bits, and whether one of them is the sign."""

    width: int
    is_signed: bool

    def __str__(self) -> str:
        return f"{'a signed' if self.is_signed else 'an unsigned'} integer of {self.width} bits"


class FloatType(NamedTuple):
    """OpTypeFloat: how many bits, and those of the exponent and of the fraction among them."""

    width: int
    exponent: int
    fraction: int

    def __str__(self) -> str:
        return f"a floating-point number of {self.width} bits"


FLOAT_TYPES = {16: FloatType(16, 5, 10), 32: FloatType(32, 8, 23), 64: FloatType(64, 11, 52)}
BFLOAT16 = FloatType(16, 8, 7)
WORD = IntegerType(32, False)


def number_words(text: str, type_: IntegerType | FloatType) -> list[int]:
    """A number of the type, low words first. Raises ValueError for what is none, or lies outside.

    >>> number_words("-2", IntegerType(16, True)), number_words("1.5", FLOAT_TYPES[16])
    ([4294967294], [15872])
    """
    bits = _integer_bits(text, type_) if isinstance(type_, IntegerType) else _float_bits(text, type_)
    return [bits >> at & 0xFFFFFFFF for at in range(0, type_.width, 32)]


def _integer_bits(text: str, type_: IntegerType) -> int:
    """The integer in whole words: narrow ones have their sign in all bits above."""
    found = _INTEGER.fullmatch(text)
    if found is None:
        raise ValueError(f"{type_} is required")
    sign, digits = found.groups()
    value = int(digits, 0 if digits[:2] in ("0x", "0X") else 10)
    most = 1 << type_.width
    if type_.is_signed and digits != str(value) and not sign and value < most:
        value -= most if value >= most // 2 else 0  # base 16 gives all bits
    value = -value if sign == "-" else value
    least = -most // 2 if type_.is_signed else 0
    if sign == "-" and not type_.is_signed or not least <= value < least + most:
        raise ValueError(f"{type_} is required, between {least} and {least + most - 1}")
    return value


def _float_bits(text: str, type_: FloatType) -> int:
    sign, digits = text[:1] == "-", text.lstrip("+-") if text[1:2] not in ("+", "-") else ""
    bias = (1 << type_.exponent - 1) - 1
    infinity = (1 << type_.exponent) - 1 << type_.fraction
    hexadecimal = _HEXADECIMAL.fullmatch(digits)
    if hexadecimal is not None and int(hexadecimal[3]) == bias + 1 and hexadecimal[1] == "1":
        bits = infinity | _nan_fraction(hexadecimal[2] or "", type_)
    else:
        value = _value(digits, hexadecimal)
        if value is None:
            raise ValueError(f"{type_} is required")
        bits = _rounded(value, bias, type_.fraction)
        if bits >= infinity:
            raise ValueError(f"{type_} is required, which is finite; infinity is 0x1p+{bias + 1}")
    return bits | sign << type_.width - 1


def _nan_fraction(digits: str, type_: FloatType) -> int:
    fraction, rest = divmod(int(digits or "0", 16) << type_.fraction, 1 << 4 * len(digits))
    if rest:
        raise ValueError(f"{type_} is required; its NaNs have {type_.fraction} bits behind the point")
    return fraction


def _value(digits: str, hexadecimal: re.Match | None) -> Fraction | None:
    """The number without a sign, None if there is none."""
    if hexadecimal is not None:
        whole, fraction, exponent = hexadecimal[1], hexadecimal[2] or "", int(hexadecimal[3])
        if not whole + fraction:
            return None
        scale = max(-_MOST_EXPONENT, min(exponent, _MOST_EXPONENT)) - 4 * len(fraction)
        return Fraction(int(whole + fraction, 16)) * Fraction(2) ** scale
    if _INTEGER.fullmatch(digits) is None and re.fullmatch(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", digits) is None:
        return None
    try:
        value = Decimal(digits)
    except (DecimalException, ValueError):
        return None
    if value and abs(value.adjusted()) > _MOST_EXPONENT:
        return Fraction(10) ** 400 if value.adjusted() > 0 else Fraction(0)
    return Fraction(value)


def _rounded(value: Fraction, bias: int, fraction: int) -> int:
    """The bits of a number that is not negative."""
    if not value:
        return 0
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if value < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, 1 - bias)
    return round(value / Fraction(2) ** (exponent - fraction)) + (exponent + bias - 1 << fraction)

"""The text of SPIR-V that LLVM prints, as SPIR-V Tools read it.

LLVM writes numbers of 16 bits as their bits, and infinities and NaNs of 64 bits as those of 32; of NaNs it keeps no more than
that they are some.
"""

from __future__ import annotations

import re

import numpy as np

_FLOAT_TYPE = re.compile(r"(%\d+) = OpTypeFloat (\d+)$", re.MULTILINE)
_CONSTANT = re.compile(r"(OpConstant (%\d+) )(\S+)")
_INFINITY_OR_NAN = re.compile(r"-?0x1(?:\.8)?p\+128")


def with_own_numbers(text: str) -> str:
    """LLVM's text with constants that are numbers of their types.

    >>> print(with_own_numbers("%1 = OpTypeFloat 64\\n%2 = OpConstant %1 -0x1p+128"))
    %1 = OpTypeFloat 64
    %2 = OpConstant %1 -0x1p+1024
    """
    widths = dict(_FLOAT_TYPE.findall(text))

    def own(found: re.Match) -> str:
        begin, type_, number = found.groups()
        match widths.get(type_):
            case "16":
                number = _half(int(number))
            case "64" if _INFINITY_OR_NAN.fullmatch(number):
                number = number.removesuffix("128") + "1024"
        return begin + number

    return _CONSTANT.sub(own, text) if widths.keys() else text


def _half(bits: int) -> str:
    """The number that has these bits.

    >>> _half(0x3C00), _half(0xFC00), _half(0x7E00)
    ('1.0', '-0x1p+16', '0x1.8p+16')
    """
    value = float(np.uint16(bits).view(np.float16))
    if np.isfinite(value):
        return repr(value)
    fraction = f"{(bits & 0x3FF) << 2:03x}".rstrip("0")
    return f"{'-' if bits >> 15 else ''}0x1{fraction and '.' + fraction}p+16"

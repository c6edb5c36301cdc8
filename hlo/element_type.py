"""The element types of XLA, and the NumPy dtypes that store them.

The names are those of XLA's ``PrimitiveType`` as HLO text spells them. The types that NumPy lacks (4 and 2 bit integers,
bfloat16 and the float8 and float4 families) are stored in the dtypes of ``ml_dtypes``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True, eq=False, slots=True)
class ElementType:
    """One element type: its name in HLO text, its kind, its width in bits and the dtype that stores it.

    ``kind`` is one of ``pred signed unsigned float complex token opaque``. Each type exists once, so types are
    compared by identity.

    >>> F32.name, F32.kind, F32.bits, F32.dtype
    ('f32', 'float', 32, dtype('float32'))
    """

    name: str
    kind: str
    bits: int
    dtype: np.dtype | None

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple:
        return element_type_named, (self.name,)

    @property
    def is_integer(self) -> bool:
        return self.kind in ("signed", "unsigned")

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_complex(self) -> bool:
        return self.kind == "complex"

    @property
    def has_order_of_bytes(self) -> bool:
        """Whether elements are ordered as the integers, or numbers of sign and magnitude, that their bytes are."""
        fills_bytes = self.bits >= 8 or self.kind == "pred"
        return fills_bytes and not self.is_complex and not self.name.endswith(("fnuz", "fnu"))

    @property
    def byte_size(self) -> int:
        """Bytes that one element occupies in an array (types below 8 bits occupy a whole byte)."""
        return max(1, self.bits // 8)


_TABLE = [
    ("pred", "pred", 1, np.bool_),
    ("s2", "signed", 2, ml_dtypes.int2),
    ("s4", "signed", 4, ml_dtypes.int4),
    ("s8", "signed", 8, np.int8),
    ("s16", "signed", 16, np.int16),
    ("s32", "signed", 32, np.int32),
    ("s64", "signed", 64, np.int64),
    ("u2", "unsigned", 2, ml_dtypes.uint2),
    ("u4", "unsigned", 4, ml_dtypes.uint4),
    ("u8", "unsigned", 8, np.uint8),
    ("u16", "unsigned", 16, np.uint16),
    ("u32", "unsigned", 32, np.uint32),
    ("u64", "unsigned", 64, np.uint64),
    ("f4e2m1fn", "float", 4, ml_dtypes.float4_e2m1fn),
    ("f8e3m4", "float", 8, ml_dtypes.float8_e3m4),
    ("f8e4m3", "float", 8, ml_dtypes.float8_e4m3),
    ("f8e4m3fn", "float", 8, ml_dtypes.float8_e4m3fn),
    ("f8e4m3fnuz", "float", 8, ml_dtypes.float8_e4m3fnuz),
    ("f8e4m3b11fnuz", "float", 8, ml_dtypes.float8_e4m3b11fnuz),
    ("f8e5m2", "float", 8, ml_dtypes.float8_e5m2),
    ("f8e5m2fnuz", "float", 8, ml_dtypes.float8_e5m2fnuz),
    ("f8e8m0fnu", "float", 8, ml_dtypes.float8_e8m0fnu),
    ("bf16", "float", 16, ml_dtypes.bfloat16),
    ("f16", "float", 16, np.float16),
    ("f32", "float", 32, np.float32),
    ("f64", "float", 64, np.float64),
    ("c64", "complex", 64, np.complex64),
    ("c128", "complex", 128, np.complex128),
    ("token", "token", 0, None),
    ("opaque", "opaque", 0, None),
]

ELEMENT_TYPES: dict[str, ElementType] = {
    name: ElementType(name, kind, bits, None if dtype is None else np.dtype(dtype)) for name, kind, bits, dtype in _TABLE
}
_BY_DTYPE = {element_type.dtype: element_type for element_type in ELEMENT_TYPES.values() if element_type.dtype is not None}

PRED = ELEMENT_TYPES["pred"]
S8, S16, S32, S64 = (ELEMENT_TYPES[name] for name in ("s8", "s16", "s32", "s64"))
U8, U16, U32, U64 = (ELEMENT_TYPES[name] for name in ("u8", "u16", "u32", "u64"))
BF16, F16, F32, F64 = (ELEMENT_TYPES[name] for name in ("bf16", "f16", "f32", "f64"))
C64, C128 = ELEMENT_TYPES["c64"], ELEMENT_TYPES["c128"]
TOKEN, OPAQUE = ELEMENT_TYPES["token"], ELEMENT_TYPES["opaque"]


def element_type_named(name: str) -> ElementType:
    """The element type with this name in HLO text; KeyError if there is none."""
    return ELEMENT_TYPES[name]


def as_dtype(dtype: Any) -> np.dtype:
    """`np.dtype` that takes classes of dtypes as NumPy's functions do; itself it takes them for types of objects.

    >>> as_dtype(np.dtypes.Float32DType), as_dtype("i2")
    (dtype('float32'), dtype('int16'))
    """
    if isinstance(dtype, type) and issubclass(dtype, np.dtype):
        return dtype()
    try:
        return np.dtype(dtype)
    except TypeError as error:  # the user's, not the compiler's, as its traceback would say
        raise error.with_traceback(None) from None


def element_type_of(dtype: np.dtype | type[np.dtype]) -> ElementType:
    """The element type that this dtype, or the only one of this class of dtypes, stores.

    Raises TypeError for dtypes that XLA has no type for (object, string, datetime, longdouble, structured); byte order
    does not matter.

    >>> element_type_of(np.dtype(">i4")), element_type_of(np.dtypes.Int32DType)
    (s32, s32)
    """
    dtype = as_dtype(dtype)
    found = _BY_DTYPE.get(dtype) or _BY_DTYPE.get(dtype.newbyteorder("="))
    if found is None:
        raise TypeError(f"dtype {dtype} has no XLA element type; supported are {', '.join(str(d) for d in _BY_DTYPE)}")
    return found


_COMPONENTS = {C64: F32, C128: F64}


def component_type(element_type: ElementType) -> ElementType:
    """The type of the real and imaginary parts of a complex type; any other type itself.

    >>> component_type(C64), component_type(S32)
    (f32, s32)
    """
    return _COMPONENTS.get(element_type, element_type)

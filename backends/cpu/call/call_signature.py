"""What one compiled entry accepts and returns: guards for the arguments, captured arrays, results.

A signature is plain data (it can be pickled, and with it the plan of an entry); the objects it speaks of, static arguments and
captured arrays, are given when the entry is bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from . import object_layout

RESULT_STRUCTURES = ("none", "single", "tuple", "call")


@dataclass(frozen=True, slots=True)
class ArrayGuard:
    """An ndarray (not a subclass) of exactly this dtype and shape, contiguous in `order`, aligned.

    The kernel receives its data pointer. order: "C" or "F"; where both describe the same memory (rank below 2, one element,
    none) either is satisfied. writeable: also require the WRITEABLE flag.
    """

    dtype: np.dtype
    shape: tuple[int, ...]
    order: str = "C"
    writeable: bool = False

    def __post_init__(self) -> None:
        _check_array_type("ArrayGuard", self.dtype, self.shape, self.order)


@dataclass(frozen=True, slots=True)
class PythonScalarGuard:
    """A Python float, int, bool or complex, by exact type.

    The kernel receives a pointer to an f64, an s64, a byte (0 or 1) or a c128. An int below ``least`` or above ``greatest``
    does not satisfy the guard.
    """

    type: type
    least: int = -(2**63)
    greatest: int = 2**63 - 1

    def __post_init__(self) -> None:
        if self.type not in (float, int, bool, complex):
            raise TypeError(f"PythonScalarGuard requires float, int, bool or complex; given {self.type!r}")


@dataclass(frozen=True, slots=True)
class NumPyScalarGuard:
    """A NumPy scalar (``np.float64(1)``, not a 0-d array) of this dtype, by exact type.

    The kernel receives a pointer to its value.
    """

    dtype: np.dtype

    def __post_init__(self) -> None:
        _check_dtype("NumPyScalarGuard", self.dtype)
        if not object_layout.scalar_value_is_inline(self.dtype):
            raise NotImplementedError(f"NumPyScalarGuard: the object layout of {self.dtype.type!r} is not known")


@dataclass(frozen=True, slots=True)
class StaticGuard:
    """One given object, by identity. The kernel does not see it. The objects are given to `bind_entry`, in this order."""


ArgumentGuard = ArrayGuard | PythonScalarGuard | NumPyScalarGuard | StaticGuard


@dataclass(frozen=True, slots=True)
class ResultSpec:
    """A result that the kernel writes: a fresh, contiguous ndarray, or a NumPy scalar where the shape is ().

    The kernel receives a pointer to uninitialized memory for it, aligned to 16 bytes.
    """

    dtype: np.dtype
    shape: tuple[int, ...]
    order: str = "C"

    def __post_init__(self) -> None:
        _check_array_type("ResultSpec", self.dtype, self.shape, self.order)

    @property
    def nbytes(self) -> int:
        """The size of the result in bytes."""
        return prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class ArgumentResult:
    """A result that is the argument at position `index` itself, the same object. The kernel does not see it."""

    index: int


@dataclass(frozen=True, slots=True)
class CallSignature:
    """One form of call, what the kernel reads, and what the call returns.

    arguments: one guard for each argument, in the order of the call.
    keyword_names: the names of the trailing arguments if the call gives them as keywords, in the order of the call.
    captures: guards of captured arrays; the kernel receives their data pointers after those of the arguments.
    results: what the kernel writes, and arguments that are returned.
    result_structure: "none" (no results, the call returns None), "single" (the one result), "tuple" (a tuple of the results) or
        "call" (what a callable, given to `bind_entry`, makes of that tuple).
    has_error_code: the kernel writes one more result, an s32, which is not returned; where it is not 0 the call raises what
        ``raise_error``, given to `bind_entry`, does of its negative.
    release_gil: run the kernel without the global interpreter lock; an executable decides it for its own calls.

    Raises TypeError or ValueError with what was required and given.

    >>> CallSignature((ArrayGuard(np.dtype("f8"), (8,)),), results=(ResultSpec(np.dtype("f8"), (8,)),)).result_structure
    'single'
    """

    arguments: tuple[ArgumentGuard, ...]
    keyword_names: tuple[str, ...] = ()
    captures: tuple[ArrayGuard, ...] = ()
    results: tuple[ResultSpec | ArgumentResult, ...] = ()
    result_structure: str = "single"
    release_gil: bool = False
    has_error_code: bool = False

    def __post_init__(self) -> None:
        for guard in self.arguments:
            if not isinstance(guard, ArgumentGuard):
                raise TypeError(f"CallSignature.arguments requires argument guards; given {guard!r}")
        for guard in self.captures:
            if not isinstance(guard, ArrayGuard):
                raise TypeError(f"CallSignature.captures requires ArrayGuard; given {guard!r}")
        if len(self.keyword_names) > len(self.arguments):
            raise ValueError(
                f"CallSignature.keyword_names requires at most one name per argument ({len(self.arguments)}); "
                f"given {self.keyword_names!r}"
            )
        if self.result_structure not in RESULT_STRUCTURES:
            raise ValueError(
                f"CallSignature.result_structure requires one of {RESULT_STRUCTURES}; given {self.result_structure!r}"
            )
        expected = {"none": 0, "single": 1}.get(self.result_structure)
        if expected is not None and len(self.results) != expected:
            raise ValueError(
                f"CallSignature with result_structure {self.result_structure!r} requires {expected} results; "
                f"given {len(self.results)}"
            )
        for result in self.results:
            if isinstance(result, ArgumentResult) and not 0 <= result.index < len(self.arguments):
                raise ValueError(
                    f"ArgumentResult requires the position of one of {len(self.arguments)} arguments; given {result.index}"
                )
            if not isinstance(result, ResultSpec | ArgumentResult):
                raise TypeError(f"CallSignature.results requires ResultSpec or ArgumentResult; given {result!r}")


def _check_array_type(where: str, dtype: np.dtype, shape: tuple[int, ...], order: str) -> None:
    _check_dtype(where, dtype)
    if not isinstance(shape, tuple) or not all(isinstance(size, int) and size >= 0 for size in shape):
        raise ValueError(f"{where} requires a shape of non-negative integers; given {shape!r}")
    if len(shape) > 64:
        raise ValueError(f"{where} requires a rank of at most 64, NumPy's limit; given {len(shape)}")
    if order not in ("C", "F"):
        raise ValueError(f"{where} requires order 'C' or 'F'; given {order!r}")


def _check_dtype(where: str, dtype: np.dtype) -> None:
    if not isinstance(dtype, np.dtype):
        raise TypeError(f"{where} requires a numpy.dtype; given {dtype!r}")
    # User-defined dtypes (ml_dtypes) have type numbers from 256 (NPY_USERDEF); their kind is "V" or "f".
    numeric = dtype.kind in "biufc" and dtype.char not in "gG" or dtype.num >= 256
    if not numeric or not dtype.isnative or dtype.hasobject or dtype.itemsize > 16:
        raise TypeError(f"{where} requires a numeric dtype of at most 16 bytes in native byte order; given {dtype!r}")

"""What one compiled entry accepts and returns: guards for the arguments, captured arrays, results.

A signature is plain data (it can be pickled, and with it the plan of an entry); the objects it speaks of, static arguments and
captured arrays, are given when the entry is bound.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from . import object_layout

RESULT_STRUCTURES = ("none", "single", "tuple", "steps")
# What becomes of the memory of a result.
RESULT_FORMS = ("new", "python", "contents", "in place", "hidden")


# The dtypes of which Python's numbers are made.
PYTHON_RESULTS = tuple(map(np.dtype, (np.float64, np.int64, np.bool_, np.complex128, np.int32)))


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

    @property
    def nbytes(self) -> int:
        """The size of the array in bytes."""
        return prod(self.shape) * self.dtype.itemsize


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
    """One given object, by identity; with ``is_as_good`` another one of its type for which that function says True, too.

    The kernel does not see it. The objects are given to `bind_entry`, in this order.
    """

    is_as_good: Callable[[Any], bool] | None = None


@dataclass(frozen=True, slots=True)
class TypeGuard:
    """An object of exactly this type. The kernel does not see it."""

    type: type


@dataclass(frozen=True, slots=True)
class SizeGuard:
    """A tuple or a list of so many elements, by exact type. The kernel does not see it."""

    type: type
    size: int

    def __post_init__(self) -> None:
        if not issubclass(self.type, (tuple, list)):
            raise TypeError(f"SizeGuard requires a type of tuples or lists; given {self.type!r}")


@dataclass(frozen=True, slots=True)
class KeysGuard:
    """A dict, by exact type, with these keys in this order: the very objects, or equal texts. The kernel does not see it.

    type: another class of dicts that keep their order as dict does.
    """

    keys: tuple
    type: type = dict


@dataclass(frozen=True, slots=True)
class ValueGuard:
    """A Python float or int of this value, of 64 bits; the sign of zero counts. The kernel does not see it."""

    value: float | int


@dataclass(frozen=True, slots=True)
class AddressGuard:
    """An object of exactly this type. The kernel receives a pointer to its address, as a u64, with an offset added."""

    type: type
    offset: int = 0


GuardWithData = ArrayGuard | PythonScalarGuard | NumPyScalarGuard | AddressGuard
ArgumentGuard = GuardWithData | StaticGuard | TypeGuard | SizeGuard | KeysGuard | ValueGuard


def has_data(guard: object) -> bool:
    """Whether the kernel gets a pointer for what passes this guard."""
    return isinstance(guard, GuardWithData)


@dataclass(frozen=True, slots=True)
class ResultSpec:
    """A result that the kernel writes. It receives a pointer to uninitialized memory for it, aligned to 16 bytes.

    form: "new" (a fresh, contiguous ndarray, or a NumPy scalar where the shape is ()), "python" (one of Python's numbers),
        "contents" (it becomes what the array holds whose pointer the kernel gets as number ``target``), "in place" (the kernel
        writes it there itself), or "hidden" (no object is made of it).
    size: the number of a hidden s32 result that says how many elements a new array has along its first dimension, which the
        shape gives the bound of.
    """

    dtype: np.dtype
    shape: tuple[int, ...]
    order: str = "C"
    form: str = "new"
    target: int | None = None
    size: int | None = None

    def __post_init__(self) -> None:
        _check_array_type("ResultSpec", self.dtype, self.shape, self.order)
        if self.form not in RESULT_FORMS:
            raise ValueError(f"ResultSpec requires one of {RESULT_FORMS} as its form; given {self.form!r}")
        if self.form == "python" and (self.shape or self.dtype not in PYTHON_RESULTS):
            raise TypeError(
                f"a Python number is made of f64, s64, s32, c128 or pred without dimensions; given {self.dtype}{self.shape}"
            )
        if self.form == "hidden" and self.shape:
            raise ValueError(f"a hidden result has no dimensions; given {self.shape}")
        if (self.form in ("contents", "in place")) != (self.target is not None):
            raise ValueError(f"ResultSpec requires a target for contents, and only for these; given {self.target}")
        if self.size is not None and (self.form != "new" or not self.shape or self.order != "C"):
            raise ValueError("ResultSpec takes a size for new arrays in C order alone")

    @property
    def nbytes(self) -> int:
        """The size of the result in bytes."""
        return prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class CallSignature:
    """One form of call, what the kernel reads, and what the call returns.

    arguments: one guard for each argument, in the order of the call.
    keyword_names: the names of the trailing arguments if the call gives them as keywords, in the order of the call.
    slots: for each argument the number of the data pointer that the kernel gets, None for those that it does not see; by
        default they are counted through.
    results: what the kernel writes.
    errors: the numbers of hidden s32 or s64 results whose lower 32 bits are not 0 where Python has to take the call, before
        anything is changed.
    result_structure: "none" (no results, the call returns None), "single" (the one result), "tuple" (a tuple of the results) or
        "steps" (what steps, given to `bind_entry`, leave).
    release_gil: run the kernel without the global interpreter lock; an executable decides it for its own calls.

    Raises TypeError or ValueError with what was required and given.

    >>> CallSignature((ArrayGuard(np.dtype("f8"), (8,)),), results=(ResultSpec(np.dtype("f8"), (8,)),)).result_structure
    'single'
    """

    arguments: tuple[ArgumentGuard, ...]
    keyword_names: tuple[str, ...] = ()
    results: tuple[ResultSpec, ...] = ()
    result_structure: str = "single"
    release_gil: bool = False
    slots: tuple[int | None, ...] | None = None
    errors: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for guard in self.arguments:
            if not isinstance(guard, ArgumentGuard):
                raise TypeError(f"CallSignature.arguments requires argument guards; given {guard!r}")
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
            if not isinstance(result, ResultSpec):
                raise TypeError(f"CallSignature.results requires ResultSpec; given {result!r}")
            if self.result_structure != "steps" and result.form in ("contents", "in place", "hidden"):
                raise ValueError(f"a result of the form {result.form!r} requires the result_structure 'steps'")
        for number in self.errors:
            self._require_hidden(number, (np.int32, np.int64))
        for result in self.results:
            if result.size is not None:
                self._require_hidden(result.size, (np.int32,))
        if self.slots is not None and [slot is not None for slot in self.slots] != list(map(has_data, self.arguments)):
            raise ValueError(f"CallSignature.slots requires a number for each argument with data; given {self.slots}")

    def _require_hidden(self, number: int, kinds: tuple[type, ...]) -> None:
        given = self.results[number] if 0 <= number < len(self.results) else None
        if given is None or given.form != "hidden" or given.dtype.type not in kinds:
            required = " or ".join([np.dtype(kind).name for kind in kinds])
            raise ValueError(f"CallSignature requires a hidden result of {required} as number {number}; given {given}")

    @property
    def argument_slots(self) -> tuple[int | None, ...]:
        """For each argument the number of its data pointer."""
        if self.slots is not None:
            return self.slots
        numbers = itertools.count()
        return tuple([next(numbers) if has_data(guard) else None for guard in self.arguments])


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

"""What decides whether two calls can share compiled code: the leaves of the arguments, one by one.

A leaf is *traced* (an array, a NumPy scalar, a Python int, float or complex: its shape and dtype count, its value does
not) or *static* (its value counts, and is what the traced function sees).
"""

from __future__ import annotations

import enum
import random
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ... import hlo
from ..outside.values import is_library_value
from ..recording.device_arrays import ArrayOnDevice
from ..recording.errors import StaticArgumentError
from ..recording.intervals import SMALL, Interval
from ..recording.ndarrays import array_form, element_type_of, memory_key, strides_with_gaps
from .integers import first_interval, interval_key

PYTHON_SCALARS: dict[type, Callable[[Any], np.generic]] = {int: np.int64, float: np.float64, complex: np.complex128}
RANDOM_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
STATIC_TYPES = (
    str, bytes, bool, np.dtype, type, enum.Enum, types.EllipsisType, types.NotImplementedType, np.ufunc, type(np.sum),
    types.BuiltinFunctionType, range,
)  # fmt: skip

# Further types whose objects are static: those of jitted functions.
STATIC_CALLABLES: list[type] = []
# Arrays of so many integers may become known.
MOST_KNOWN = 64
# So many numbers of one type in one argument are one parameter.
LEAST_PACKED = 32
_CHANGING_TYPES = (list, dict, set, deque, bytearray)


class ShapeDtype:
    """Stands for an array where only its shape and dtype are needed, as in ``f.lower(ShapeDtype((3,), np.float32))``.

    Anything else with ``shape`` and ``dtype`` attributes will do as well.

    >>> ShapeDtype([2, 3], "f4")
    ShapeDtype((2, 3), float32)
    """

    __slots__ = ("shape", "dtype")

    def __init__(self, shape: Iterable[int], dtype: DTypeLike) -> None:
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)

    def __repr__(self) -> str:
        return f"ShapeDtype({self.shape}, {self.dtype})"


@dataclass(frozen=True, slots=True)
class TracedLeaf:
    """A leaf of the arguments that becomes a parameter of the module.

    ``convert`` makes what the executable takes of what the caller gives; None where that is the same. ``interval`` has
    the values of a Python integer that the code is for, ``strides`` those of an array that is contiguous in no order;
    ``has_other_order`` is true of one in the other byte order.
    """

    path: str
    shape: hlo.Shape
    kind: str  # "array", "numpy scalar", "python scalar", "text", or of several parts "packed" or "texts"
    convert: Callable[[Any], Any] | None = None
    interval: Interval | None = None
    strides: tuple[int, ...] | None = None
    has_other_order: bool = False

    @property
    def weak_type(self) -> bool:
        """Whether it takes part in promotion as a Python scalar does (NEP 50)."""
        return self.kind == "python scalar"

    @property
    def is_python_number(self) -> bool:
        return self.kind == "python scalar" and self.shape.element_type is not hlo.PRED

    @property
    def is_number(self) -> bool:
        """Whether it can become static where the function needs its value: a number of Python's, or a scalar of NumPy's."""
        return self.kind in ("python scalar", "numpy scalar")

    @property
    def is_integer(self) -> bool:
        """Whether it is a number of which there are few in a program, as integers and truth values are."""
        element_type = self.shape.element_type
        return self.is_number and (element_type.is_integer or element_type is hlo.PRED)

    @property
    def is_short_row_of_integers(self) -> bool:
        """Whether it is an array that may be known where the function needs it: sizes, axes, an order of axes, pad widths."""
        return self.kind == "array" and self.shape.element_type.is_integer and self.shape.size <= MOST_KNOWN

    @property
    def facts(self) -> dict[str, str]:
        """What counts of it, in words."""
        order = "" if self.shape.is_row_major else "F"
        copied = "copied, not contiguous" if self.kind == "array" and self.convert is not None else ""
        return {
            "shape": str(self.shape.dimensions),
            "dtype": str(self.shape.dtype.newbyteorder() if self.has_other_order else self.shape.dtype),
            "kind": self.kind,
            "memory order": copied or order or "C",
            "values": "any" if self.interval is None else f"{self.interval[0]} to {self.interval[1]}",
        }

    @property
    def summary(self) -> str:
        scalar = {"array": "", "numpy scalar": " scalar", "python scalar": " Python scalar"}[self.kind]
        text = f"{self.shape.without_layout()}{scalar}"
        if self.interval not in (None, SMALL):
            text += f" from {self.interval[0]} to {self.interval[1]}"
        if not self.shape.is_row_major:
            text += " in Fortran order"
        elif self.kind == "array" and self.convert is not None:
            text += " (copied: not contiguous, aligned and in native byte order)"
        return text

    def __str__(self) -> str:
        return f"{self.path}: {self.summary}"


@dataclass(frozen=True, slots=True)
class PackedLeaf(TracedLeaf):
    """Many Python numbers of one type in one argument, which are one parameter: an array of them. ``members`` are their places
    among the leaves of the call's form, with their paths.
    """

    members: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TextLeaf(TracedLeaf):
    """A text whose characters are a part of a parameter, a `PackedLeaf` of the kind "texts".

    ``room``: how many characters all texts of the argument may have together.
    """

    room: int = 0

    @property
    def facts(self) -> dict[str, str]:
        return {"text": f"any, up to {self.room} characters in all"}

    @property
    def summary(self) -> str:
        return "text"


@dataclass(frozen=True, slots=True)
class StaticLeaf:
    """A leaf of the arguments whose value is part of the signature."""

    path: str
    value: Any

    @property
    def facts(self) -> dict[str, str]:
        return {"static value": repr(self.value)}

    @property
    def summary(self) -> str:
        text = repr(self.value)
        return "static " + (text if len(text) <= 60 else text[:57] + "...")

    def __str__(self) -> str:
        return f"{self.path}: {self.summary}"


@dataclass(frozen=True, slots=True)
class ObjectLeaf:
    """A leaf of the arguments that is an object of a class: what is read from it is an input, or guarded."""

    path: str
    type: type

    @property
    def facts(self) -> dict[str, str]:
        return {"type": self.type.__qualname__}

    @property
    def summary(self) -> str:
        return f"an object of type {self.type.__qualname__}"

    def __str__(self) -> str:
        return f"{self.path}: {self.summary}"


Leaf = TracedLeaf | StaticLeaf | ObjectLeaf


def leaf_key(value: Any) -> Any:
    """What counts of a leaf, hashable; the value itself in it only where it is static by its type.

    Raises TypeError for what cannot be an argument, as make_leaf does but without its path.
    """
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype, value.shape, memory_key(value)
    if kind is int:
        return interval_key(value, first_interval(value))
    if kind in PYTHON_SCALARS:
        return kind
    if isinstance(value, ArrayOnDevice):
        return ("scalar", value.dtype) if value.is_scalar else (value.dtype, value.shape, memory_key(value))
    if is_static(value):
        return static_key(value)
    return kind, getattr(value, "dtype", None), getattr(value, "shape", None)


def is_static(value: Any) -> bool:
    """Whether the value of a leaf counts, by its type."""
    return isinstance(value, (*STATIC_TYPES, *STATIC_CALLABLES)) or is_library_value(value)


def static_key(value: Any) -> Any:
    """A key for a static value that tells 1, 1.0 and True apart, and 0.0 from -0.0. Raises TypeError if it is not hashable."""
    kind = type(value)
    if kind is tuple:
        return kind, tuple(map(static_key, value))
    if kind is slice:
        return kind, static_key((value.start, value.stop, value.step))
    if kind in (float, complex) or isinstance(value, np.inexact):
        return kind, repr(value)
    if is_library_value(value):
        return kind, value, repr(value)
    hash(value)
    return kind, value


_IMMUTABLE_TYPES = frozenset({
    str, bytes, bool, int, float, complex, range, types.NoneType, types.EllipsisType, types.NotImplementedType,
    types.FunctionType, types.BuiltinFunctionType, types.ModuleType, np.ufunc,
})  # fmt: skip


def is_known_by_identity(value: Any) -> bool:
    """Whether a static value that is the same object as before is equal to what it was: it cannot change, or not in a way that
    equality sees.

    >>> is_known_by_identity(("axis", 1, np.float32)), is_known_by_identity(([],))
    (True, False)
    """
    kind = type(value)
    if kind in (tuple, frozenset):
        return all(map(is_known_by_identity, value))
    if isinstance(value, np.dtype):
        return value.names is None and value.subdtype is None
    if is_library_value(value):
        return True
    if isinstance(value, enum.Enum):
        return kind.__eq__ in (enum.Enum.__eq__, int.__eq__, str.__eq__) and kind.__hash__ in _ENUM_HASHES
    if kind in _IMMUTABLE_TYPES or kind is type:
        return True
    return issubclass(kind, np.generic) and kind.__module__ == "numpy" and not issubclass(kind, np.void)


def is_one_object(value: Any) -> bool:
    """Whether a static value that is another object is another value.

    >>> is_one_object(True), is_one_object(np.sin), is_one_object((1, 2))
    (True, True, False)
    """
    return isinstance(value, _TYPES_OF_ONE_OBJECT)


_TYPES_OF_ONE_OBJECT = (
    bool, types.NoneType, types.EllipsisType, types.NotImplementedType, types.FunctionType, types.ModuleType, type, np.ufunc,
    enum.Enum,
)  # fmt: skip
_ENUM_HASHES = (enum.Enum.__hash__, int.__hash__, str.__hash__)


def static_leaf(value: Any, path: str) -> StaticLeaf:
    """The leaf for a value that is static because the user, or its type, says so. Raises StaticArgumentError."""
    if isinstance(value, types.BuiltinFunctionType) and isinstance(value.__self__, _CHANGING_TYPES):
        raise StaticArgumentError(
            f"argument {path} is a method of a {type(value.__self__).__name__}, which would be changed while the function is "
            f"traced, and not at each call; pass a function that calls it: lambda *values: x.{value.__name__}(*values)"
        )
    try:
        static_key(value)
    except TypeError:
        hint = "a tuple instead of a list" if isinstance(value, list) else "a hashable value"
        if isinstance(value, np.ndarray):
            hint = "it as an ordinary (traced) argument"
        raise StaticArgumentError(
            f"argument {path} is static, so its value is part of the key of the compiled code and must be hashable, but "
            f"{type(value).__name__} is not; pass {hint}"
        ) from None
    return StaticLeaf(path, value)


def make_leaf(value: Any, path: str, descriptions: bool = False, interval: Interval | None = None) -> Leaf:
    """The leaf for a value, by its type alone; for a Python integer with the interval that it is traced for.

    With ``descriptions`` anything that has a shape and a dtype is taken for an array. Raises TypeError, naming the path, for
    a value that is neither an array that XLA has a type for nor static by its type.
    """
    kind = type(value)
    if isinstance(value, ArrayOnDevice):
        return TracedLeaf(path, array_form(value, f"argument {path}")[0], "numpy scalar" if value.is_scalar else "array")
    if isinstance(value, np.ndarray):
        if counts_by_contents(value):
            return ObjectLeaf(path, kind)
        shape, convert = array_form(value, f"argument {path}")
        return TracedLeaf(
            path, shape, "array", convert, strides=strides_with_gaps(value), has_other_order=not value.dtype.isnative
        )
    if kind in PYTHON_SCALARS:
        shape = hlo.Shape(hlo.element_type_of(np.dtype(PYTHON_SCALARS[kind])))
        return TracedLeaf(path, shape, "python scalar", partial(np.array, dtype=PYTHON_SCALARS[kind]), interval)
    if is_static(value):
        return static_leaf(value, path)
    if isinstance(value, np.generic):
        shape = hlo.Shape(element_type_of(value.dtype, f"argument {path}"))
        return TracedLeaf(path, shape, "numpy scalar", np.asarray)
    if descriptions and hasattr(value, "shape") and hasattr(value, "dtype"):
        shape = hlo.Shape(element_type_of(np.dtype(value.dtype), f"argument {path}"), tuple(value.shape))
        return TracedLeaf(path, shape, "array")
    if hasattr(value, "__array__"):
        raise TypeError(
            f"argument {path} is of type {kind.__module__}.{kind.__qualname__}, which is neither an array, a number nor a "
            "container of these; pass np.asarray(...) of it"
        )
    return ObjectLeaf(path, kind)


def packed(name: str, begin: int, leaves: list[Leaf]) -> Iterator[PackedLeaf]:
    """The leaves of an argument, those from ``begin`` on, that are parts of one parameter: floats, and small integers."""
    for kind, interval in ((float, None), (int, SMALL)):
        shape = hlo.Shape(hlo.element_type_of(np.dtype(PYTHON_SCALARS[kind])))
        members = [
            (number, leaf.path)
            for number, leaf in enumerate(leaves[begin:], begin)
            if isinstance(leaf, TracedLeaf) and leaf.weak_type and leaf.shape == shape and leaf.interval == interval
        ]
        if len(members) >= LEAST_PACKED:
            whole = hlo.Shape(shape.element_type, (len(members),))
            convert = partial(np.array, dtype=PYTHON_SCALARS[kind])
            yield PackedLeaf(name, whole, "packed", convert, interval, members=tuple(members))


def is_object(value: Any) -> bool:
    """Whether this is a leaf, static or not, that is looked into while the function is traced."""
    if isinstance(value, np.ndarray):
        return counts_by_contents(value)
    if type(value) in PYTHON_SCALARS or isinstance(value, (np.generic, ArrayOnDevice)) or is_static(value):
        return False
    return not isinstance(value, (types.NoneType, tuple))


def counts_by_contents(array: np.ndarray) -> bool:
    """Whether an array holds texts or dates: it is known while the function is traced."""
    return type(array) is np.ndarray and array.dtype.kind in "USmM"


def explain_difference(new: list[Leaf], old: list[Leaf]) -> list[str]:
    """In words, what the leaves of a call have that those of another lack: ``argument x: shape (4, 3) -> (5, 3)``."""
    before = {leaf.path: leaf for leaf in old}
    differences = []
    for leaf in new:
        known = before.pop(leaf.path, None)
        if known is None:
            differences.append(f"argument {leaf.path}: new")
            continue
        ours, theirs = leaf.facts, known.facts
        if ours.keys() != theirs.keys():
            differences.append(f"argument {leaf.path}: {known.summary} -> {leaf.summary}")
            continue
        changed = [fact for fact in ours if ours[fact] != theirs[fact]]
        differences.extend(f"argument {leaf.path}: {fact} {theirs[fact]} -> {ours[fact]}" for fact in changed)
    differences.extend(f"argument {path}: missing" for path in before)
    return differences

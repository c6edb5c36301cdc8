"""The functions that programs call by name: custom-call targets, native or Python.

A native target has the signature ``void name(void* out, void** in)`` ("CustomCall" of XLA's Operation Semantics): ``in`` points
to the operands' data, ``out`` is the result's data. For a tuple it is a table of pointers to the elements' data instead, and so
for operands.
"""

from __future__ import annotations

import copy
import ctypes
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..hlo import TOKEN, Shape, compatible, shape_of
from ..hlo.ops.known_calls import ALLOCATE, IDENTITY_TARGETS
from ..hlo.shape import AnyShape
from .call_attributes import call_attributes
from .locks import new_lock

_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class NativeTarget:
    """A function at an address; ``keep`` is kept alive with it."""

    def __init__(self, name: str, address: int, keep: Any = None) -> None:
        self.name, self.address, self._keep = name, address, keep
        self._function = _SIGNATURE(address)

    def __repr__(self) -> str:
        return f"native, at {self.address:#x}"

    def prepared(self, operand_shapes: Sequence[AnyShape], shape: AnyShape, config: str) -> Callable[[tuple[Any, ...]], Any]:
        """What runs it on arrays in the layouts of these shapes."""
        return lambda operands: self._run(operands, operand_shapes, shape)

    def _run(self, operands: tuple[Any, ...], operand_shapes: Sequence[AnyShape], shape: AnyShape) -> Any:
        kept: list[Any] = []
        table = _pointer_table([_place(value, s, kept) for value, s in zip(operands, operand_shapes)], kept)
        result = _empty(shape)
        self._function(_place(result, shape, kept, copies=False), ctypes.addressof(table))
        return _scalars(result)


class PythonTarget:
    """A function of arrays."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name, self.function = name, function
        self._wants = _wanted_keywords(function)

    def __repr__(self) -> str:
        return f"Python, {getattr(self.function, '__qualname__', repr(self.function))}"

    def prepared(self, operand_shapes: Sequence[AnyShape], shape: AnyShape, config: str) -> Callable[[tuple[Any, ...]], Any]:
        """What calls it with operands, and checks the result."""
        fixed: dict[str, Any] = {"shape": shape.without_layout()} if "shape" in self._wants else {}
        attributes = call_attributes(config) if "attributes" in self._wants else None

        def call(operands: tuple[Any, ...]) -> Any:
            keywords = fixed if attributes is None else {**fixed, "attributes": copy.deepcopy(attributes) if attributes else {}}
            try:
                result = self.function(*map(_read_only, operands), **keywords)
            except BaseException as error:
                error.add_note(f"in the custom-call of {self.name!r}, {', '.join(map(str, operand_shapes))} -> {shape}")
                raise
            return _checked_result(self.name, result, shape)

        return call


Target = NativeTarget | PythonTarget

_targets: dict[str, Target] = {}
_families: dict[str, Callable[[str], Target | None]] = {}
_lock = new_lock()


def register_custom_call(name: str, target: Any = None) -> Any:
    """Make a function callable from programs, under this name; returns the function. Without one it is a decorator.

    target: a Python function, called with one array (or tuple of arrays, nested as the operand is) for each operand, which
        returns an array of exactly the result's dtype and shape, or a tuple of them. The arrays cannot be written to. Where it
        has the keywords ``attributes`` or ``shape``, it gets the call's ``backend_config`` as a dictionary, and the result's
        `phlox.hlo.Shape`.
        Or a native function, ``void name(void* out, void** in)``: its address (an int), a function of a ctypes library, or a
        ctypes callback. Compiled code calls it without entering Python. It must not throw, and not write beyond the result.

    Registering a name again replaces the target for programs that are compiled afterwards. Raises TypeError or ValueError for
    anything else.

    >>> @register_custom_call("example_double")
    ... def double(x):
    ...     return x + x
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"register_custom_call: a name (a non-empty str) is required, got {name!r}")
    if name == ALLOCATE:
        raise ValueError(f"register_custom_call: {name!r} stands for an array that nobody fills, and cannot be a function")
    if name in IDENTITY_TARGETS:
        raise ValueError(f"register_custom_call: {name!r} stands for its operand, and cannot be another function")
    if target is None:
        return lambda function: register_custom_call(name, function)
    entry = _as_target(name, target)
    with _lock:
        _targets[name] = entry
    return target


def _as_target(name: str, target: Any) -> Target:
    if isinstance(target, bool):
        raise TypeError(f"register_custom_call: {name}: a function or an address is required, got {target!r}")
    if isinstance(target, int):
        if target <= 0:
            raise ValueError(f"register_custom_call: {name}: an address is required, got {target}")
        return NativeTarget(name, target)
    if isinstance(target, ctypes._CFuncPtr):
        address = ctypes.cast(target, ctypes.c_void_p).value
        if not address:
            raise ValueError(f"register_custom_call: {name}: the function's address is null")
        return NativeTarget(name, address, target)
    if callable(target):
        return PythonTarget(name, target)
    raise TypeError(f"register_custom_call: {name}: a function or an address is required, got {type(target).__name__}")


def unregister_custom_call(name: str) -> None:
    """Forget the target of this name. Raises KeyError where there is none."""
    with _lock:
        del _targets[name]


def load_custom_calls(path: str | os.PathLike[str], names: Iterable[str] | Mapping[str, str]) -> None:
    """Register functions of a shared library, ``void name(void* out, void** in)``, as custom-call targets.

    names: the functions' names, or a mapping from the targets' names to those of the functions. Raises OSError for a library
    that cannot be loaded, and AttributeError, before any is registered, for a function that it lacks.
    """
    if isinstance(names, str):
        raise TypeError(f"load_custom_calls: a sequence of names is required, got the str {names!r}")
    library = ctypes.CDLL(os.fspath(path))
    pairs = dict(names) if isinstance(names, Mapping) else {name: name for name in names}
    entries = {name: _as_target(name, getattr(library, symbol)) for name, symbol in pairs.items()}
    with _lock:
        _targets.update(entries)


def register_family(prefix: str, find: Callable[[str], Target | None]) -> None:
    """Ask ``find(name)`` for targets whose names begin so, where none is registered; it returns None or raises for others."""
    _families[prefix] = find


def find_target(name: str) -> Target:
    """The target of this name. Raises NotImplementedError, which says how to register one, where there is none."""
    target = _targets.get(name)
    if target is not None:
        return target
    for prefix, find in _families.items():
        if name.startswith(prefix):
            target = find(name)
            if target is not None:
                return target
    known = ", ".join(sorted(_targets)) or "none"
    raise NotImplementedError(
        f"custom-call to {name!r}: no target of this name is registered (registered: {known}); "
        f"register one with phlox.register_custom_call({name!r}, function)"
    )


# --- values ---


def _wanted_keywords(function: Callable[..., Any]) -> set[str]:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return set()
    return {"attributes", "shape"} & {name for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY}


def _read_only(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_read_only, value))
    if value is None:
        return None
    view = np.asarray(value).view()
    view.flags.writeable = False
    return view


def _checked_result(name: str, result: Any, shape: AnyShape) -> Any:
    """The result as the program takes it. Raises TypeError, which names both shapes, where it is another."""
    if shape.is_tuple and not shape.elements and result is None:
        return ()
    if isinstance(result, (np.ndarray, np.generic)) and isinstance(shape, Shape):
        if result.shape == shape.dimensions and result.dtype == shape.dtype:
            return result
    value = _arrays(result)
    try:
        given: Any = shape_of(value)
    except (TypeError, ValueError, NotImplementedError):
        given = f"a value of type {type(result).__name__}"
    if isinstance(given, str) or not compatible(given, shape):
        raise TypeError(
            f"custom-call to {name!r}: a result of shape {shape.without_layout()} is required, the function returned {given}"
        )
    return value


def _arrays(result: Any) -> Any:
    if isinstance(result, tuple | list):
        return tuple(map(_arrays, result)) if isinstance(result, tuple) else np.asarray(result)
    return None if result is None else np.asarray(result)[()]


def _in_layout(array: np.ndarray, shape: Shape) -> np.ndarray:
    """The elements in the order in which they lie in memory."""
    return array.transpose(shape.minor_to_major[::-1])


def _place(value: Any, shape: AnyShape, kept: list[Any], copies: bool = True) -> int | None:
    """The address of a value's data; that of a table of addresses for a tuple; null for a token."""
    if shape.is_tuple:
        table = _pointer_table([_place(v, s, kept, copies) for v, s in zip(value, shape.elements)], kept)
        return ctypes.addressof(table)
    if shape.element_type is TOKEN:
        return None
    array = np.array(_in_layout(np.asarray(value), shape), order="C") if copies else value
    kept.append(array)
    return array.ctypes.data


def _pointer_table(pointers: list[int | None], kept: list[Any]) -> Any:
    table = (ctypes.c_void_p * max(1, len(pointers)))(*pointers)
    kept.append(table)
    return table


def _empty(shape: AnyShape) -> Any:
    """Uninitialized memory for a result, as arrays seen in their logical order."""
    if shape.is_tuple:
        return tuple(map(_empty, shape.elements))
    if shape.element_type is TOKEN:
        return None
    major_to_minor = shape.minor_to_major[::-1]
    array = np.empty([shape.dimensions[d] for d in major_to_minor], shape.dtype)
    return array.transpose(np.argsort(major_to_minor).astype(int)) if shape.rank > 1 else array


def _scalars(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_scalars, value))
    return None if value is None else value[()]

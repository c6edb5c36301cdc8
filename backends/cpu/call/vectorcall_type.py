"""A type whose instances hold a vectorcall function pointer, built over an ordinary Python class.

CPython (PEP 590, and "The Vectorcall Protocol" in the C-API manual) calls an object through the function pointer that the
instance holds at its type's ``tp_vectorcall_offset``. As long as that pointer is NULL the call goes to the type's
``tp_call``, which here is the one that Python gives every class that defines ``__call__``: it calls
``instance.call_in_python(*args, **kwargs)``. So an instance is callable from the moment it exists, and `set_entries` turns its
calls into direct calls of native code.

What native code reads of an instance is out of reach of Python: a slot whose descriptor is in no class. The collector knows
the slot, as it knows all; an instance that it takes apart may still be called by others of the same cycle, with its entries or
without.
"""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from typing import Any

from . import object_layout

# Include/typeslots.h, Include/structmember.h (descrobject.h since 3.12), Include/object.h
_TP_MEMBERS = 72
_T_PYSSIZET = 19
_READONLY = 1
_TPFLAGS_HAVE_VECTORCALL = 1 << 11

# Where an instance keeps its entries, from its vectorcall pointer on.
ENTRIES_OFFSET = -8


class _MemberDefinition(ctypes.Structure):  # PyMemberDef
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class _TypeSlot(ctypes.Structure):  # PyType_Slot
    _fields_ = [("slot", ctypes.c_int), ("function", ctypes.c_void_p)]


class _TypeSpecification(ctypes.Structure):  # PyType_Spec
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_TypeSlot)),
    ]


# The specifications stay alive with the process: CPython may keep pointers into them.
_specifications: list[tuple[object, ...]] = []


@dataclass(frozen=True)
class _Layout:
    """Where the instances of a type hold the vectorcall pointer, None where they have none, and the descriptor of the slot."""

    offset: int | None
    slot: Any


_layouts: weakref.WeakKeyDictionary[type, _Layout] = weakref.WeakKeyDictionary()


def make_vectorcall_type(base: type) -> type:
    """A subclass of `base` whose instances can be called through native code.

    base: an ordinary class, with any methods, ``__slots__`` or ``__dict__``, that defines
        ``call_in_python(self, *args, **kwargs)`` and not ``__call__``. ``call_in_python`` receives every call that native code
        does not take, and every call made through the attribute ``instance.__call__``.

    The result carries `base`'s name, module and docstring, and cannot be subclassed: before Python 3.12 the subclass would not
    take native calls (its type would lack Py_TPFLAGS_HAVE_VECTORCALL). Weak references, garbage collection, ``__dict__``,
    ``__get__`` and pickling are what `base` makes of them; an instance without a ``__reduce__`` of its own refuses to be
    pickled or copied (TypeError), because a function pointer cannot be.

    On an interpreter for which `object_layout.unsupported_reason` gives a reason the result is a plain Python subclass, and
    `set_entries` raises RuntimeError on its instances.

    Raises TypeError if `base` is not such a class.

    >>> class Doubler:
    ...     def call_in_python(self, x):
    ...         return 2 * x
    >>> make_vectorcall_type(Doubler)()(21)
    42
    """
    if type(base) is not type:
        raise TypeError(f"make_vectorcall_type requires a class whose metaclass is type; given {base!r}")
    if not callable(getattr(base, "call_in_python", None)):
        required = "a class that defines call_in_python(self, *args, **kwargs)"
        raise TypeError(f"make_vectorcall_type requires {required}; given {base!r}")
    if any("__call__" in vars(parent) for parent in base.__mro__):
        raise TypeError(f"make_vectorcall_type requires a class that does not define __call__; given {base!r}")

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.call_in_python(*args, **kwargs)
        except BaseException as error:
            error.__traceback__ = error.__traceback__.tb_next  # without this frame
            raise

    call.__name__ = "__call__"
    call.__qualname__ = f"{base.__qualname__}.__call__"
    namespace = {
        "__module__": base.__module__,
        "__qualname__": base.__qualname__,
        "__doc__": base.__doc__,
        "__slots__": ("entries",),
        "__call__": call,
    }
    callable_type: Any = type(base.__name__, (base,), namespace)
    slot = callable_type.entries
    del callable_type.entries
    if object_layout.unsupported_reason() is not None:
        _layouts[callable_type] = _Layout(None, slot)
        return callable_type

    # Whatever this class holds already keeps its place, the slot is the last of it; the pointer follows behind it. tp_call,
    # tp_traverse, tp_clear and the flag for garbage collection are inherited, as are the dictionary and the list of weak
    # references.
    offset = callable_type.__basicsize__
    members = (_MemberDefinition * 2)(_MemberDefinition(b"__vectorcalloffset__", _T_PYSSIZET, offset, _READONLY, None))
    slots = (_TypeSlot * 2)(_TypeSlot(_TP_MEMBERS, ctypes.addressof(members)))
    name = f"{base.__module__}.{base.__name__}".encode()
    specification = _TypeSpecification(name, offset + ctypes.sizeof(ctypes.c_void_p), 0, _TPFLAGS_HAVE_VECTORCALL, slots)
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_TypeSpecification), ctypes.py_object)
    from_specification = prototype(("PyType_FromSpecWithBases", ctypes.pythonapi))
    result: type = from_specification(ctypes.byref(specification), (callable_type,))
    _specifications.append((members, slots, name, specification))
    for attribute in ("__module__", "__qualname__", "__doc__"):
        setattr(result, attribute, getattr(base, attribute))
    if ctypes.c_ssize_t.from_address(id(result) + object_layout.TYPE_VECTORCALL_OFFSET).value != offset:
        raise RuntimeError(f"tp_vectorcall_offset does not stand at offset {object_layout.TYPE_VECTORCALL_OFFSET} of a type")
    if offset != base.__basicsize__ + -ENTRIES_OFFSET:
        raise RuntimeError(f"the slot of {base!r}'s entries does not lie behind what its instances hold")
    _layouts[result] = _Layout(offset, slot)
    return result


def set_entries(instance: Any, function: int | None, entries: tuple[object, ...]) -> None:
    """Makes calls of `instance` go to the vectorcall function at address `function`; None ends that.

    entries: what the instance holds for that function to read. What they replace is dropped: a call that runs must hold a
        reference of its own.

    Raises TypeError if the type of `instance` was not made by `make_vectorcall_type`, RuntimeError if this interpreter takes no
    native entries.
    """
    layout = _layout(instance)
    layout.slot.__set__(instance, entries)
    ctypes.c_void_p.from_address(id(instance) + layout.offset).value = function


def get_entries(instance: Any) -> tuple[object, ...]:
    """The entries that the instance holds. Raises as `set_entries` does."""
    try:
        return _layout(instance).slot.__get__(instance)
    except AttributeError:  # none were ever set
        return ()


def _layout(instance: Any) -> Any:
    layout = _layouts.get(type(instance))
    if layout is None:
        raise TypeError(f"native entries require an instance of a type made by make_vectorcall_type; given {type(instance)!r}")
    if layout.offset is None:
        raise RuntimeError(f"native entries are not available: {object_layout.unsupported_reason()}")
    return layout

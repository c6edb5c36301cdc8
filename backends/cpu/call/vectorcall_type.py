"""A type whose instances hold a vectorcall function pointer, built over an ordinary Python class.

CPython (PEP 590, and "The Vectorcall Protocol" in the C-API manual) calls an object through the function pointer that the
instance holds at its type's ``tp_vectorcall_offset``. As long as that pointer is NULL the call goes to the type's
``tp_call``, which here is the one that Python gives every class that defines ``__call__``: it calls
``instance._miss(*args, **kwargs)``. So an instance is callable from the moment it exists, and `set_entry` turns its calls
into direct calls of native code.
"""

from __future__ import annotations

import ctypes
from typing import Any

from . import object_layout

# Include/typeslots.h, Include/structmember.h (descrobject.h since 3.12), Include/object.h
_TP_MEMBERS = 72
_T_PYSSIZET = 19
_READONLY = 1
_TPFLAGS_HAVE_VECTORCALL = 1 << 11


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


def make_vectorcall_type(base: type) -> type:
    """A subclass of `base` whose instances can be called through native code.

    base: an ordinary class, with any methods, ``__slots__`` or ``__dict__``, that defines ``_miss(self, *args, **kwargs)`` and
        not ``__call__``. ``_miss`` receives every call that native code does not take, and every call made through the
        attribute ``instance.__call__``.

    The result carries `base`'s name, module and docstring, and cannot be subclassed: before Python 3.12 the subclass would not
    take native calls (its type would lack Py_TPFLAGS_HAVE_VECTORCALL). Weak references, garbage collection, ``__dict__``,
    ``__get__`` and pickling are what `base` makes of them; an instance without a ``__reduce__`` of its own refuses to be
    pickled or copied (TypeError), because a function pointer cannot be.

    On an interpreter for which `object_layout.unsupported_reason` gives a reason the result is a plain Python subclass, and
    `set_entry` raises RuntimeError on its instances.

    Raises TypeError if `base` is not such a class.

    >>> class Doubler:
    ...     def _miss(self, x):
    ...         return 2 * x
    >>> make_vectorcall_type(Doubler)()(21)
    42
    """
    if type(base) is not type:
        raise TypeError(f"make_vectorcall_type requires a class whose metaclass is type; given {base!r}")
    if not callable(getattr(base, "_miss", None)):
        raise TypeError(f"make_vectorcall_type requires a class that defines _miss(self, *args, **kwargs); given {base!r}")
    if hasattr(base, "_vectorcall_offset") or any("__call__" in vars(parent) for parent in base.__mro__):
        raise TypeError(f"make_vectorcall_type requires a class that does not define __call__; given {base!r}")

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True  # IPython and pytest leave such frames out
        return self._miss(*args, **kwargs)

    call.__name__ = "__call__"
    call.__qualname__ = f"{base.__qualname__}.__call__"
    namespace = {
        "__module__": base.__module__,
        "__qualname__": base.__qualname__,
        "__doc__": base.__doc__,
        "__slots__": ("_bound_entries",),
        "__call__": call,
        "_vectorcall_offset": None,
    }
    callable_type = type(base.__name__, (base,), namespace)
    if object_layout.unsupported_reason() is not None:
        return callable_type

    # Whatever this class holds already keeps its place; the two pointers follow behind it. tp_call, tp_traverse, tp_clear and
    # the flag for garbage collection are inherited, as are the dictionary and the list of weak references.
    offset = callable_type.__basicsize__
    members = (_MemberDefinition * 2)(_MemberDefinition(b"__vectorcalloffset__", _T_PYSSIZET, offset, _READONLY, None))
    slots = (_TypeSlot * 2)(_TypeSlot(_TP_MEMBERS, ctypes.addressof(members)))
    name = f"{base.__module__}.{base.__name__}".encode()
    specification = _TypeSpecification(name, offset + 2 * ctypes.sizeof(ctypes.c_void_p), 0, _TPFLAGS_HAVE_VECTORCALL, slots)
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_TypeSpecification), ctypes.py_object)
    from_specification = prototype(("PyType_FromSpecWithBases", ctypes.pythonapi))
    result: type = from_specification(ctypes.byref(specification), (callable_type,))
    _specifications.append((members, slots, name, specification))
    for attribute in ("__module__", "__qualname__", "__doc__"):
        setattr(result, attribute, getattr(base, attribute))
    if ctypes.c_ssize_t.from_address(id(result) + object_layout.TYPE_VECTORCALL_OFFSET).value != offset:
        raise RuntimeError(f"tp_vectorcall_offset does not stand at offset {object_layout.TYPE_VECTORCALL_OFFSET} of a type")
    result._vectorcall_offset = offset  # type: ignore[attr-defined]
    return result


def set_entry(instance: Any, function: int | None, entry: int | None) -> None:
    """Makes calls of `instance` go to the vectorcall function at address `function`; None gives them back to ``_miss``.

    entry: the address that the instance holds behind the function pointer, for that function to read.

    The caller keeps alive what both addresses stand for, and what they replace, as long as the instance lives: another thread
    may be executing it. `install_entry` does that.

    Raises TypeError if the type of `instance` was not made by `make_vectorcall_type`, RuntimeError if this interpreter takes no
    native entries.
    """
    words = _words(instance)
    # In this order a thread that calls the instance meanwhile finds an entry, or none, behind the function.
    if function is None:
        words[0], words[1] = None, entry
    else:
        words[1] = entry
        words[0] = function


def get_entry(instance: Any) -> tuple[int | None, int | None]:
    """The two addresses that `set_entry` writes, None where there is none. Raises as `set_entry` does."""
    words = _words(instance)
    return words[0], words[1]


def _words(instance: Any) -> ctypes.Array[ctypes.c_void_p]:
    # The type's own attribute, so that no __getattr__ of the instance is asked.
    offset = getattr(type(instance), "_vectorcall_offset", 0)
    if offset == 0:
        raise TypeError(f"native entries require an instance of a type made by make_vectorcall_type; given {type(instance)!r}")
    if offset is None:
        raise RuntimeError(f"native entries are not available: {object_layout.unsupported_reason()}")
    return (ctypes.c_void_p * 2).from_address(id(instance) + offset)

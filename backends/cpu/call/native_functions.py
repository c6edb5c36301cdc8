"""Loading of the native functions that all compiled functions of the process share."""

from __future__ import annotations

import ctypes

from ....runtime.locks import new_lock
from ..kept_code import kept_object_code
from ..machine_code import LoadedCode
from ..target import host_target
from . import entry_code, object_layout, python_calls, records

# Native code holds the address of this string.
_CALL_IN_PYTHON = "call_in_python"
_lock = new_lock()
_addresses: dict[str, int] | None = None


def entry_address() -> int:
    """The address of the vectorcall function of all instances that have entries; compiles and loads it at first use."""
    return _function_addresses()["entry"]


def python_call_addresses() -> dict[str, int]:
    """The addresses of the functions of `python_calls` by name."""
    addresses = _function_addresses()
    return {name: addresses[name] for name in python_calls.NAMES}


def hidden(value: object) -> object:
    """An object that keeps another one alive, which the collector of cycles does not see.

    The collector takes cycles apart in any order, and code must stay until the last that may call it is gone. What is hidden
    must not lead back to who holds it.
    """
    destructor = python_call_addresses()[python_calls.DROP_HIDDEN]
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p)
    capsule = prototype(("PyCapsule_New", ctypes.pythonapi))(value, None, destructor)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
    return capsule


def _function_addresses() -> dict[str, int]:
    global _addresses
    if _addresses is None:
        code = kept_object_code(entry_code.module_assembly(records.names()), host_target())
        with _lock:
            if _addresses is None:
                functions = (*entry_code.FUNCTIONS, *python_calls.FUNCTIONS)
                pointers = {name: object_layout.function_address(name) for name in functions} | python_calls.variables()
                pointers |= {"call_in_python": id(_CALL_IN_PYTHON)}
                pointers |= {"none": id(None), "true": id(True), "text_type": id(str), "system_error": id(SystemError)}
                _addresses = load_for_good(code, pointers, ("entry", *python_calls.NAMES))
    return _addresses


def load_for_good(code: bytes, pointers: dict[str, int], names: tuple[str, ...]) -> dict[str, int]:
    """Loads object code for as long as the process lives, and gives the addresses of the named functions and variables.

    pointers: what is stored in variables of the code.
    """
    loaded = LoadedCode([code], host_target(), {})
    loaded.set_pointers(pointers)
    addresses = {name: loaded.address(name) for name in names}
    loaded.keep()
    return addresses

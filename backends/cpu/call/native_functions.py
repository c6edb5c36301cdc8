"""Loading of the native functions that all compiled functions of the process share."""

from __future__ import annotations

import ctypes
import hashlib

import llvmlite.binding as llvm

from ....runtime.locks import new_lock
from ..llvm_work import require_memory
from . import entry_code, object_layout, python_calls, records

# Emitted code holds the address of this string.
_MISS_NAME = "call_in_python"
_lock = new_lock()
_object_code: bytes | None = None
_addresses: dict[str, int] | None = None


def object_code_key() -> str:
    """What the code of `object_code` depends on: its assembly, the processor, the version of LLVM; a hexadecimal digest."""
    described = f"{entry_code.module_assembly(records.names())}\n{llvm.get_host_cpu_name()}\n{llvm.llvm_version_info}"
    return hashlib.sha256(described.encode()).hexdigest()


def object_code() -> bytes:
    """The object code of the shared vectorcall function, for a compilation cache to keep under `object_code_key`.

    Compiling it is the larger part of what a process pays once; it is done here if it was not done yet.
    """
    global _object_code
    with _lock:
        if _object_code is None:
            _object_code = compile_object(entry_code.module_assembly(records.names()))
        return _object_code


def use_object_code(code: bytes) -> None:
    """Saves compiling the shared vectorcall function: `code` is what `object_code` gave under the same `object_code_key`.

    Does nothing where the function is compiled already.
    """
    global _object_code
    with _lock:
        if _object_code is None:
            _object_code = code


def entry_address() -> int:
    """The address of the vectorcall function of all instances that have entries; compiles and loads it at first use."""
    return _function_addresses()["entry"]


def python_call_addresses() -> dict[str, int]:
    """The addresses of the functions of `python_calls` by name; code that is loaded later can call them by these names."""
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
        code = object_code()
        with _lock:
            if _addresses is None:
                bindings = {"miss_name": id(_MISS_NAME), "none": id(None), "true": id(True), "system_error": id(SystemError)}
                functions = (*entry_code.FUNCTIONS, *python_calls.FUNCTIONS)
                bindings |= {name: object_layout.function_address(name) for name in functions}
                bindings |= python_calls.variables()
                addresses = load_object(code, bindings, ("entry", *python_calls.NAMES))
                for name in python_calls.NAMES:
                    llvm.add_symbol(name, addresses[name])
                _addresses = addresses
    return _addresses


def compile_object(assembly: str) -> bytes:
    """Compiles LLVM assembly to object code for this host."""
    require_memory(assembly)
    _initialize()
    module = llvm.parse_assembly(assembly)
    module.verify()
    return bytes(_target_machine().emit_object(module))


def load_object(code: bytes, bindings: dict[str, int], names: tuple[str, ...]) -> dict[str, int]:
    """Loads object code for as long as the process lives, and gives the addresses of the named functions and variables.

    bindings: addresses to be stored in global pointers of the code.
    """
    _initialize()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    for name, address in bindings.items():
        ctypes.c_void_p.from_address(engine.get_global_value_address(name)).value = address
    addresses = {name: int(engine.get_global_value_address(name)) for name in names}
    # Objects that live as long as the interpreter point to this code, beyond the end of this module.
    engine.detach()
    return addresses


def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _target_machine() -> llvm.TargetMachine:
    # jit selects the code model for code that is loaded anywhere in the address space.
    return llvm.Target.from_default_triple().create_target_machine(cpu=llvm.get_host_cpu_name(), opt=1, jit=True)

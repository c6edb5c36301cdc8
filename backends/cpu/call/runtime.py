"""Loading of native functions that all compiled functions of the process share, compiled once, at first use."""

from __future__ import annotations

import ctypes
import functools
import threading

import llvmlite.binding as llvm

from . import dispatch, object_layout, records

_lock = threading.Lock()
# Emitted code holds the address of this string.
_MISS_NAME = "_miss"


def compile_module(text: str, bindings: dict[str, int]) -> llvm.ExecutionEngine:
    """Compiles LLVM assembly for this host and stores an address in each of the named global pointers."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=llvm.get_host_cpu_name(), opt=1)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    for name, address in bindings.items():
        ctypes.c_void_p.from_address(engine.get_global_value_address(name)).value = address
    return engine


def entry_address() -> int:
    """The address of the vectorcall function of all instances that have entries."""
    with _lock:
        return int(_dispatch_engine().get_function_address("entry"))


@functools.cache
def _dispatch_engine() -> llvm.ExecutionEngine:
    bindings = {"miss_name": id(_MISS_NAME), "none": id(None), "true": id(True), "system_error": id(SystemError)}
    for name in dispatch.FUNCTIONS:
        numpy_function = name in object_layout.NUMPY_API
        bindings[name] = (object_layout.numpy_api_address if numpy_function else object_layout.python_api_address)(name)
    return compile_module(dispatch.assembly(records.names()), bindings)

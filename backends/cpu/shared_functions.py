"""Functions that many compiled modules call: compiled once a process, when the first module needs them."""

from __future__ import annotations

from dataclasses import replace

from llvmlite import binding

from ...runtime.locks import new_lock
from ..llvm.module import Module, SharedFunctions
from .machine_code import MachineCode
from .target import Target

_lock = new_lock()
_supplied: dict[str, MachineCode] = {}


def supply(functions: SharedFunctions, target: Target) -> None:
    """Make the functions that are requested known to all code that is loaded from now on."""
    if functions.requested.keys() <= _supplied.keys():
        return
    with _lock:
        code, names = _compile(functions, target)
        for name in names:
            binding.add_symbol(name, code.address(name))
            _supplied[name] = code


def _compile(functions: SharedFunctions, target: Target) -> tuple[MachineCode, list[str]]:
    """The functions that are missing, and those that they call themselves, in a module of their own; and their names."""
    requested = dict(functions.requested)
    module = Module("shared", replace(functions, calls_elementary=False, requested=requested))
    module.triple, module.data_layout = target.triple, target.data_layout
    defined: list[str] = []
    while waiting := [name for name in requested if name not in defined and name not in _supplied]:
        for name in waiting:
            requested[name].emit(module.globals.get(name) or requested[name].declare(module))
            defined.append(name)
    return MachineCode(str(module), target, {}), defined

"""Functions that many programs call: compiled once a process, when the first program needs them, and loaded once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..llvm.module import Module, SharedFunctions
from .call.native_functions import python_call_addresses
from .kept_code import kept_object_codes
from .machine_code import LoadedCode
from .module_parts import module_parts
from .native_program import SharedCode
from .target import Target

# For each name the code that defines it, behind the code that this calls.
_compiled: dict[tuple[Target, str], tuple[SharedCode, ...]] = {}
# For each name the code that defines it, and its address in memory.
_loaded: dict[tuple[Target, str], tuple[LoadedCode, int]] = {}


def shared_code(functions: SharedFunctions, target: Target) -> tuple[SharedCode, ...]:
    """The code of the functions that are requested, behind the code that it calls; what is missing is compiled."""
    if any((target, name) not in _compiled for name in functions.requested):
        _compile(functions, target)
    return _defining(functions.requested, target)


def _defining(names: Iterable[str], target: Target) -> tuple[SharedCode, ...]:
    return tuple(dict.fromkeys(code for name in names for code in _compiled[target, name]))


def _compile(functions: SharedFunctions, target: Target) -> None:
    """Compile the functions that are missing, and those that they call themselves, in a module of their own."""
    requested = dict(functions.requested)
    module = Module("shared", replace(functions, may_contract=False, calls_elementary=False, requested=requested))
    module.triple, module.data_layout = target.triple, target.data_layout
    missing: list[str] = []
    while waiting := [name for name in requested if name not in missing and (target, name) not in _compiled]:
        for name in waiting:
            requested[name].emit(module.globals.get(name) or requested[name].declare(module))
            missing.append(name)
    code = SharedCode(tuple(missing), kept_object_codes(module_parts(str(module)), target))
    called = _defining((name for name in requested if name not in missing), target)
    for name in missing:
        _compiled[target, name] = *called, code


def load_shared(shared: Iterable[SharedCode], target: Target) -> dict[str, int]:
    """The addresses of all functions by name; those that this process has not loaded yet are loaded, for good."""
    addresses: dict[str, int] = {}
    for code in shared:
        if any((target, name) not in _loaded for name in code.names):
            loaded = LoadedCode(code.object_codes, target, {**python_call_addresses(), **addresses})
            for name in code.names:
                _loaded.setdefault((target, name), (loaded, loaded.address(name)))
        addresses |= {name: _loaded[target, name][1] for name in code.names}
    return addresses

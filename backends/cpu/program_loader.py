"""A program in memory: its symbols are bound to what this process has under their names."""

from __future__ import annotations

import ctypes
import weakref

import numpy as np

from ...runtime import find_target
from ...runtime.custom_calls import NativeTarget
from ...runtime.locks import compilation_lock
from .arena import SPARE_BLOCK_NAME
from .call.native_functions import hidden, python_call_addresses
from .host_instructions import HostCall, host_calls
from .machine_code import LoadedCode
from .native_program import NativeProgram, ProgramError
from .shared_functions import load_shared
from .target import Target, host_target, native_target, runs_on
from .thread_pool import RUN_PIECES, run_pieces_address

_ALIGNMENT = 16  # of the largest element, c128, and of what NumPy allocates


class LoadedProgram:
    """A program whose kernel, at the address ``kernel``, can be called.

    The code lives as long as ``references``, which whoever calls the code must hold meanwhile.

    Raises ProgramError for a program for another machine, NotImplementedError and ProgramError where this process does not have
    the functions that the program calls; TypeError for what is no program.
    """

    def __init__(self, program: NativeProgram) -> None:
        if not isinstance(program, NativeProgram):
            raise TypeError(
                f"a NativeProgram, as NativeProgram.from_bytes returns it, is required, {type(program).__name__} given"
            )
        _require_this_machine(program.target)
        evaluations = _host_calls(program)
        natives = {symbol: _native_target(name) for symbol, name in program.native_calls}
        constants = {symbol: _aligned(data) for symbol, data in program.constants}
        with compilation_lock:
            symbols = dict(python_call_addresses())
            if program.divides:
                symbols[RUN_PIECES] = run_pieces_address()
            symbols |= load_shared(program.shared, program.target)
            symbols |= {symbol: constant.ctypes.data for symbol, constant in constants.items()}
            symbols |= {symbol: function.address for symbol, function in {**evaluations, **natives}.items()}
            code = ProgramCode(LoadedCode(program.object_codes, program.target, symbols), tuple(constants.values()))
            self.kernel = code.loaded.address(program.entry)
            if program.keeps_block:
                weakref.finalize(code, _free_block, code.loaded, code.loaded.address(SPARE_BLOCK_NAME))
        self.references: tuple[object, ...] = (hidden(code), (*evaluations.values(), *natives.values()))


class ProgramCode:
    """Loaded code with the arrays that it reads."""

    def __init__(self, loaded: LoadedCode, constants: tuple[np.ndarray, ...]) -> None:
        self.loaded, self.constants = loaded, constants


def _aligned(data: memoryview) -> np.ndarray:
    """The bytes where any element may begin; a copy only where they are not."""
    array = np.asarray(data)
    return array if array.ctypes.data % _ALIGNMENT == 0 else array.copy()


def _host_calls(program: NativeProgram) -> dict[str, HostCall]:
    if not program.host_calls:
        return {}
    return dict(zip(program.host_calls, host_calls(program.host_instructions, program.host_lines), strict=True))


def _native_target(name: str) -> NativeTarget:
    target = find_target(name)
    if not isinstance(target, NativeTarget):
        required = f"a native function under the name {name!r} is required, which the program calls directly"
        raise ProgramError(f"custom-call to {name!r}: {required}; registered is {target!r}")
    return target


def _require_this_machine(target: Target) -> None:
    """Raise ProgramError where the code may hold instructions that this machine has not."""
    if runs_on(target, native_target()):
        return
    host = host_target() if target.cpu == host_target().cpu else native_target()
    for what, wanted, given in (("system", host.triple, target.triple), ("processor", host.cpu, target.cpu)):
        if wanted != given:
            raise ProgramError(f"a program compiled for the {what} {wanted} is required, this one is for {given}")
    differing = sorted(set(target.features.split(",")) ^ set(host.features.split(",")))
    raise ProgramError(f"a program compiled for this processor's features is required, this one differs in {differing}")


def _free_block(code: LoadedCode, address: int) -> None:
    """Free the block that the last call left; the code is an argument so that it still exists."""
    slot = ctypes.c_void_p.from_address(address)
    if slot.value:
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(("free", ctypes.CDLL(None)))(slot.value)
        slot.value = None

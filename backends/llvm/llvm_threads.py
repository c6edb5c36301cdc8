"""LLVM in several threads at once, each on modules of its own context.

llvmlite lets one thread at a time into LLVM. What takes long is called beside that lock here: passes and code generation of
modules whose contexts and target machines no other thread uses, for targets that keep nothing from one module to the next.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from llvmlite import binding
from llvmlite.binding import ffi

from ...runtime.thread_count import thread_limit
from .llvm_work import deep_stacks, free_lock

Result = TypeVar("Result")


def in_threads(function: Callable[[str], Result], texts: Iterable[str]) -> list[Result]:
    """What the function makes of each text, in order, by as many threads as compiled code uses."""
    given = list(texts)
    threads = min(len(given), thread_limit().value)
    if threads < 2:
        return [function(text) for text in given]
    free_lock()
    with ThreadPoolExecutor(threads) as pool:
        with deep_stacks():
            # The longest ones begin first.
            made = {text: pool.submit(function, text) for text in sorted(given, key=len, reverse=True)}
        return [made[text].result() for text in given]


def run_passes(manager: binding.ModulePassManager, module: binding.ModuleRef, builder: binding.PassBuilder) -> None:
    """As ``manager.run(module, builder)``."""
    _unlocked("LLVMPY_RunNewModulePassManager")(manager, module, builder)


def emit(machine: binding.TargetMachine, module: binding.ModuleRef, as_object: bool) -> bytes:
    """The module's code as an object file, as ``machine.emit_object(module)``, or as assembly."""
    with ffi.OutputString() as error:
        buffer = _unlocked("LLVMPY_TargetMachineEmitToMemory")(machine, module, as_object, error)
        if not buffer:
            raise RuntimeError(str(error))
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def _unlocked(name: str) -> Any:
    """llvmlite's function, beside the lock that it is called under where llvmlite has one."""
    function = getattr(ffi.lib, name)
    return getattr(function, "_cfn", function)

"""Functions that many compiled modules call: compiled once a process, when the first module needs them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from llvmlite import binding, ir

from .machine_code import MachineCode
from .target import Target

Define = Callable[[ir.Module], ir.Function]

_lock = threading.Lock()
_supplied: dict[str, MachineCode] = {}


def supply(functions: Mapping[str, Define], target: Target) -> None:
    """Make functions known by their names to all code that is loaded from now on; ``define(module)`` emits one."""
    for name, define in functions.items():
        if name not in _supplied:
            with _lock:
                if name not in _supplied:
                    _supplied[name] = _compile(name, define, target)


def _compile(name: str, define: Define, target: Target) -> MachineCode:
    module = ir.Module(name)
    module.triple, module.data_layout = target.triple, target.data_layout
    define(module).linkage = ""
    code = MachineCode(str(module), target, {})
    binding.add_symbol(name, code.address(name))
    return code

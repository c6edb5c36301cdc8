"""LLVM IR to machine code in this process."""

from __future__ import annotations

import ctypes
import weakref

import numpy as np
from llvmlite import binding

from ...runtime.custom_calls import NativeTarget
from .arena import SPARE_BLOCK_NAME
from .call.runtime import hidden, python_call_addresses
from .host_calls import HostCall
from .target import Target, initialize, target_machine


class MachineCode:
    """A compiled LLVM module.

    ``constants`` maps external symbols to arrays that the code reads, ``host_calls`` to what it calls. The code, and they, live
    as long as ``references``, which whoever calls the code must hold meanwhile.
    """

    def __init__(
        self,
        llvm_ir: str,
        target: Target,
        constants: dict[str, np.ndarray],
        host_calls: dict[str, HostCall | NativeTarget] | None = None,
    ) -> None:
        initialize()
        python_call_addresses()
        self.llvm_ir = llvm_ir
        self.target = target
        host_calls = host_calls or {}
        module = binding.parse_assembly(llvm_ir)
        engine = binding.create_mcjit_compiler(module, target_machine(target))
        for name, literal in constants.items():
            engine.add_global_mapping(module.get_global_variable(name), literal.ctypes.data)
        for name, host_call in host_calls.items():
            find = module.get_global_variable if isinstance(host_call, HostCall) else module.get_function
            engine.add_global_mapping(find(name), host_call.address)
        engine.finalize_object()
        code = _Code(engine, tuple(constants.values()))
        defined = [f.name for f in module.functions if f.linkage is binding.Linkage.external and not f.is_declaration]
        self._addresses = {name: engine.get_function_address(name) for name in defined}
        if f"@{SPARE_BLOCK_NAME} =" in llvm_ir:
            weakref.finalize(code, _free_spare_block, engine, engine.get_global_value_address(SPARE_BLOCK_NAME))
        self.references: tuple[object, ...] = (hidden(code), tuple(host_calls.values()))

    def address(self, name: str) -> int:
        """The address of a function."""
        return self._addresses[name]

    def assembly(self) -> str:
        """The machine code as assembly text (generated anew)."""
        return target_machine(self.target).emit_assembly(binding.parse_assembly(self.llvm_ir))


class _Code:
    """Loaded code with the arrays that it reads."""

    def __init__(self, engine: binding.ExecutionEngine, constants: tuple[np.ndarray, ...]) -> None:
        self.engine, self.constants = engine, constants


def _free_spare_block(engine: binding.ExecutionEngine, address: int) -> None:
    """Free the block that the last call left; the engine is an argument so that it still exists."""
    slot = ctypes.c_void_p.from_address(address)
    if slot.value:
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(("free", ctypes.CDLL(None)))(slot.value)
        slot.value = None

"""LLVM IR to machine code in this process."""

from __future__ import annotations

import ctypes
import weakref

import numpy as np
from llvmlite import binding

from .arena import SPARE_BLOCK_NAME
from .host_calls import HostCall
from .target import Target, initialize, target_machine


class MachineCode:
    """A compiled LLVM module; the code lives as long as this object.

    ``constants`` maps external symbols to arrays that the code reads, ``host_calls`` to functions that it calls; they are kept
    alive.
    """

    def __init__(
        self, llvm_ir: str, target: Target, constants: dict[str, np.ndarray], host_calls: dict[str, HostCall] | None = None
    ) -> None:
        initialize()
        self.llvm_ir = llvm_ir
        self.target = target
        self._constants, self._host_calls = constants, host_calls or {}
        module = binding.parse_assembly(llvm_ir)
        self._engine = binding.create_mcjit_compiler(module, target_machine(target))
        for name, literal in constants.items():
            self._engine.add_global_mapping(module.get_global_variable(name), literal.ctypes.data)
        for name, host_call in self._host_calls.items():
            self._engine.add_global_mapping(module.get_function(name), host_call.address)
        self._engine.finalize_object()
        if f"@{SPARE_BLOCK_NAME} =" in llvm_ir:
            spare = self._engine.get_global_value_address(SPARE_BLOCK_NAME)
            weakref.finalize(self, _free_spare_block, self._engine, spare)

    def address(self, name: str) -> int:
        """The address of a function."""
        return self._engine.get_function_address(name)

    def assembly(self) -> str:
        """The machine code as assembly text (generated anew)."""
        return target_machine(self.target).emit_assembly(binding.parse_assembly(self.llvm_ir))


def _free_spare_block(engine: binding.ExecutionEngine, address: int) -> None:
    """Free the block that the last call left; the engine is an argument so that it still exists."""
    slot = ctypes.c_void_p.from_address(address)
    if slot.value:
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(("free", ctypes.CDLL(None)))(slot.value)
        slot.value = None

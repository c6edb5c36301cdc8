"""LLVM IR to machine code in this process."""

from __future__ import annotations

import ctypes
import weakref
import zlib

import numpy as np
from llvmlite import binding

from ...runtime.custom_calls import NativeTarget
from .arena import SPARE_BLOCK_NAME
from .call.native_functions import hidden, python_call_addresses
from .host_calls import HostCall
from .llvm_work import require_memory, run_interruptibly
from .target import Target, compiling_machine, initialize, target_machine


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
        self._compressed_ir = zlib.compress(llvm_ir.encode(), 1)  # it is asked for rarely, and larger than the code
        self.target = target
        host_calls = host_calls or {}
        require_memory(llvm_ir)
        object_code, defined = run_interruptibly(llvm_ir, lambda: _compiled(llvm_ir, target))
        external = {name: literal.ctypes.data for name, literal in constants.items()}
        external |= {name: host_call.address for name, host_call in host_calls.items()}
        engine = _loaded(object_code, external, target)
        code = _Code(engine, tuple(constants.values()))
        self._addresses = {name: engine.get_function_address(name) for name in defined}
        if f"@{SPARE_BLOCK_NAME} =" in llvm_ir:
            weakref.finalize(code, _free_spare_block, engine, engine.get_global_value_address(SPARE_BLOCK_NAME))
        self.references: tuple[object, ...] = (hidden(code), tuple(host_calls.values()))

    def address(self, name: str) -> int:
        """The address of a function."""
        return self._addresses[name]

    @property
    def llvm_ir(self) -> str:
        """The LLVM assembly that the code was made of."""
        return zlib.decompress(self._compressed_ir).decode()

    def assembly(self) -> str:
        """The machine code as assembly text (generated anew)."""
        return compiling_machine(self.target).emit_assembly(binding.parse_assembly(self.llvm_ir))


def _compiled(llvm_ir: str, target: Target) -> tuple[bytes, list[str]]:
    """Object code, and the names of the functions in it."""
    # In a context of its own, since one keeps all types and constants that it has ever seen.
    # Closed here, because an interrupt that comes while a finalizer closes it would be lost.
    with binding.parse_assembly(llvm_ir, binding.create_context()) as module:
        defined = [f.name for f in module.functions if f.linkage is binding.Linkage.external and not f.is_declaration]
        return bytes(compiling_machine(target).emit_object(module)), defined


def _loaded(object_code: bytes, external: dict[str, int], target: Target) -> binding.ExecutionEngine:
    """An engine that holds the code. It has compiled nothing: what it would keep for that takes 0.7 MB."""
    module = binding.parse_assembly("".join(f'@"{name}" = external global i8\n' for name in external))
    engine = binding.create_mcjit_compiler(module, target_machine(target))
    for name, address in external.items():
        engine.add_global_mapping(module.get_global_variable(name), address)
    engine.add_object_file(binding.ObjectFileRef.from_data(object_code))
    engine.finalize_object()
    return engine


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

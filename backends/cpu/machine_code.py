"""LLVM assembly to object code, and object code to functions of this process: all machine code goes this way."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

from llvmlite import binding

from ..llvm.llvm_threads import emit, in_threads
from ..llvm.llvm_work import require_memory, run_interruptibly
from .target import FULL, Target, compiling_machine, initialize, target_machine


def compile_object(llvm_ir: str, target: Target) -> bytes:
    """Object code of LLVM assembly. Raises MemoryError where LLVM might not find enough."""
    (object_code,) = compile_objects({llvm_ir: FULL}, target)
    return object_code


def compile_objects(parts: Mapping[str, int], target: Target) -> tuple[bytes, ...]:
    """Object code of each part of a module (`module_parts`) by its level of LLVM's, by several threads."""
    initialize()
    whole = "".join(parts)
    require_memory(whole)
    return run_interruptibly(whole, lambda: tuple(in_threads(lambda part: _compiled(part, target, parts[part]), parts)))


def assembly(llvm_ir: str, target: Target, level: int = FULL) -> str:
    """The machine code of LLVM assembly, as text."""
    with compiling_machine(target, level) as machine:
        return machine.emit_assembly(binding.parse_assembly(llvm_ir))


def _compiled(llvm_ir: str, target: Target, level: int) -> bytes:
    # In a context of its own, since one keeps all types and constants that it has ever seen.
    # All are closed here, because an interrupt that comes while a finalizer closes one would be lost.
    with (
        compiling_machine(target, level) as machine,
        binding.create_context() as context,
        binding.parse_assembly(llvm_ir, context) as module,
    ):
        module.verify()  # on wrong code the code generator would end the process; it takes 1/300 of its time
        if "alwaysinline" in llvm_ir:
            _inline(module, machine)
        return emit(machine, module, as_object=True)


def _inline(module: binding.ModuleRef, machine: binding.TargetMachine) -> None:
    """Puts functions that say so to where they are called, which the code generator does not do."""
    with (
        binding.create_new_module_pass_manager() as passes,
        binding.create_pipeline_tuning_options(speed_level=0) as options,
        binding.create_pass_builder(machine, options) as builder,
    ):
        passes.add_always_inliner_pass()
        passes.run(module, builder)


class LoadedCode:
    """Object code in memory, as long as this object is.

    ``symbols`` has the addresses of what the code names and does not define. What it has not finds the process's own functions.
    """

    def __init__(self, object_codes: Sequence[bytes], target: Target, symbols: Mapping[str, int]) -> None:
        initialize()
        # An engine that has compiled nothing: what it would keep for that takes 0.7 MB.
        module = binding.parse_assembly("".join(f'@"{name}" = external global i8\n' for name in symbols))
        self._engine = binding.create_mcjit_compiler(module, target_machine(target))
        for name, address in symbols.items():
            self._engine.add_global_mapping(module.get_global_variable(name), address)
        for object_code in object_codes:
            self._engine.add_object_file(binding.ObjectFileRef.from_data(object_code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """The address of a function or a variable of the code. Raises KeyError for a name that it does not define."""
        address = int(self._engine.get_global_value_address(name))
        if not address:
            raise KeyError(name)
        return address

    def set_pointers(self, addresses: Mapping[str, int]) -> None:
        """Store addresses in variables of the code."""
        for name, address in addresses.items():
            ctypes.c_void_p.from_address(self.address(name)).value = address

    def keep(self) -> None:
        """Let the code stay for good, for objects that live as long as the interpreter, beyond the end of its modules."""
        self._engine.detach()

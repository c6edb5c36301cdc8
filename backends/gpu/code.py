"""LLVM assembly of kernels to what a driver takes."""

from __future__ import annotations

from llvmlite import binding

from .address_spaces import with_address_spaces
from .code_object import link_code_object
from .emission_apart import emit_apart
from .target import Target

_SPEED_LEVEL = 3


def compile_kernels(llvm_ir: str, target: Target) -> bytes:
    """The kernels of LLVM assembly, as the target's drivers take them: PTX text, SPIR-V, or a code object.

    Raises NotImplementedError where LLVM has no code for something.
    """
    if target.family == "spirv":  # which drivers optimize
        return emit_apart(with_address_spaces(llvm_ir, target.spaces), target.triple)
    machine, module = _optimized(llvm_ir, target)
    if target.is_text:
        return machine.emit_assembly(module).encode() + b"\0"
    return link_code_object(bytes(machine.emit_object(module)))


def assembly(llvm_ir: str, target: Target) -> str:
    """The kernels as the target's assembly text; of SPIR-V, LLVM's spelling of it."""
    machine, module = _optimized(llvm_ir, target)
    return machine.emit_assembly(module)


def _optimized(llvm_ir: str, target: Target) -> tuple[binding.TargetMachine, binding.ModuleRef]:
    machine = target.machine()
    context = binding.create_context()
    module = binding.parse_assembly(with_address_spaces(llvm_ir, target.spaces), context)
    module.data_layout = str(machine.target_data)
    module.verify()
    if target.family != "spirv":
        options = binding.create_pipeline_tuning_options(speed_level=_SPEED_LEVEL)
        options.loop_vectorization = options.slp_vectorization = False
        builder = binding.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    return machine, module

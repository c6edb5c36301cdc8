"""LLVM assembly of kernels to what a driver takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite import binding

from .address_spaces import with_address_spaces
from .code_object import link_code_object
from .emission_apart import emit_apart
from .imported_intrinsics import import_intrinsics
from .target import Target

_SPEED_LEVEL = 3


def compile_kernels(llvm_ir: str, target: Target, is_trusted: bool = True) -> bytes:
    """The kernels of LLVM assembly, as the target's drivers take them: PTX text, SPIR-V, or a code object.

    What is not trusted is emitted in a process of its own, which LLVM may end. Raises NotImplementedError where LLVM has no
    code for something.
    """
    if target.family == "spirv":
        return _spirv(llvm_ir, target, "object")
    with _optimized(llvm_ir, target) as (machine, module):
        if is_trusted:
            emitted = machine.emit_assembly(module).encode() if target.is_text else bytes(machine.emit_object(module))
        else:
            form = "assembly" if target.is_text else "object"
            emitted = emit_apart(str(module), form, target.triple, target.architecture, target.features, _SPEED_LEVEL)
    return emitted + b"\0" if target.is_text else link_code_object(emitted)


def assembly(llvm_ir: str, target: Target) -> str:
    """The kernels as the target's assembly text; of SPIR-V, LLVM's spelling of it."""
    if target.family == "spirv":
        return _spirv(llvm_ir, target, "assembly").decode()
    with _optimized(llvm_ir, target) as (machine, module):
        return machine.emit_assembly(module)


def _spirv(llvm_ir: str, target: Target, form: str) -> bytes:
    """The kernels as they are: drivers optimize them, and of pointers that loops carry Intel's compiler makes wrong ones."""
    inlined = _inlined(with_address_spaces(llvm_ir, target.spaces), target)
    return import_intrinsics(inlined, lambda llvm_ir: emit_apart(llvm_ir, form, target.triple), is_binary=form == "object")


def _inlined(llvm_ir: str, target: Target) -> str:
    """With the functions in their callers that are to be there: not all drivers keep barriers between calls of these."""
    if "alwaysinline" not in llvm_ir:
        return llvm_ir
    with _parsed(llvm_ir) as module:
        passes = binding.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.run(module, binding.create_pass_builder(target.machine(), binding.create_pipeline_tuning_options(0)))
        return str(module)


@contextmanager
def _parsed(llvm_ir: str) -> Iterator[binding.ModuleRef]:
    """The module, closed before its context is.

    What an exception refers to may go in any order; a module whose context is gone ends the process then.
    """
    with binding.create_context() as context, binding.parse_assembly(llvm_ir, context) as module:
        yield module


@contextmanager
def _optimized(llvm_ir: str, target: Target) -> Iterator[tuple[binding.TargetMachine, binding.ModuleRef]]:
    machine = target.machine()
    with _parsed(with_address_spaces(llvm_ir, target.spaces)) as module:
        module.data_layout = str(machine.target_data)
        module.verify()
        options = binding.create_pipeline_tuning_options(speed_level=_SPEED_LEVEL)
        options.loop_vectorization = options.slp_vectorization = False
        builder = binding.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        yield machine, module

"""LLVM assembly of kernels to what a driver takes."""

from __future__ import annotations

from llvmlite import binding

from .address_spaces import with_address_spaces
from .code_object import link_code_object
from .emission_apart import emit_apart
from .target import Target

_SPEED_LEVEL = 3


def compile_kernels(llvm_ir: str, target: Target, is_trusted: bool = True) -> bytes:
    """The kernels of LLVM assembly, as the target's drivers take them: PTX text, SPIR-V, or a code object.

    What is not trusted is emitted in a process of its own, which LLVM may end. Raises NotImplementedError where LLVM has no
    code for something.
    """
    if target.family == "spirv":
        return _spirv(llvm_ir, target, "object")
    machine, module = _optimized(llvm_ir, target)
    if not is_trusted:
        form = "assembly" if target.is_text else "object"
        emitted = emit_apart(str(module), form, target.triple, target.architecture, target.features, _SPEED_LEVEL)
    else:
        emitted = machine.emit_assembly(module).encode() if target.is_text else bytes(machine.emit_object(module))
    return emitted + b"\0" if target.is_text else link_code_object(emitted)


def assembly(llvm_ir: str, target: Target) -> str:
    """The kernels as the target's assembly text; of SPIR-V, LLVM's spelling of it."""
    if target.family == "spirv":
        return _spirv(llvm_ir, target, "assembly").decode()
    machine, module = _optimized(llvm_ir, target)
    return machine.emit_assembly(module)


def _spirv(llvm_ir: str, target: Target, form: str) -> bytes:
    """The kernels as they are: drivers optimize them, and of pointers that loops carry Intel's compiler makes wrong ones."""
    return emit_apart(_inlined(with_address_spaces(llvm_ir, target.spaces), target), form, target.triple)


def _inlined(llvm_ir: str, target: Target) -> str:
    """With the functions in their callers that are to be there: not all drivers keep barriers between calls of these."""
    if "alwaysinline" not in llvm_ir:
        return llvm_ir
    module = binding.parse_assembly(llvm_ir, binding.create_context())
    passes = binding.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, binding.create_pass_builder(target.machine(), binding.create_pipeline_tuning_options(0)))
    return str(module)


def _optimized(llvm_ir: str, target: Target) -> tuple[binding.TargetMachine, binding.ModuleRef]:
    machine = target.machine()
    context = binding.create_context()
    module = binding.parse_assembly(with_address_spaces(llvm_ir, target.spaces), context)
    module.data_layout = str(machine.target_data)
    module.verify()
    options = binding.create_pipeline_tuning_options(speed_level=_SPEED_LEVEL)
    options.loop_vectorization = options.slp_vectorization = False
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine, module

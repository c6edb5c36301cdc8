"""SPIR-V of kernels as they are: drivers optimize them, and of pointers that loops carry Intel's compiler makes wrong ones."""

from __future__ import annotations

from llvmlite import binding

from ..target import Target
from .address_spaces import with_address_spaces
from .complements import without_complements_beside_extrema
from .emission_apart import emit_apart
from .imported_intrinsics import import_intrinsics
from .many_extrema import without_many_extrema
from .narrowed_integers import with_masks
from .negations import without_negations
from .optimized_modules import parsed
from .shifted_negations import without_shifted_negations
from .spirv_print import with_own_numbers

# For Intel's compiler for processors, and for types that SPIR-V has not.
_REWRITES = (without_negations, without_shifted_negations, without_complements_beside_extrema, without_many_extrema, with_masks)


def compile_to_spirv(llvm_ir: str, target: Target, is_trusted: bool) -> bytes:
    """The module, emitted in a process of its own, be it trusted or not. Raises NotImplementedError."""
    return _emitted(llvm_ir, target, "object")


def spirv_text(llvm_ir: str, target: Target) -> str:
    """The module as text."""
    return with_own_numbers(_emitted(llvm_ir, target, "assembly").decode())


def _emitted(llvm_ir: str, target: Target, form: str) -> bytes:
    def emit(llvm_ir: str) -> bytes:
        llvm_ir = _inlined(llvm_ir, target)
        for rewrite in _REWRITES:
            llvm_ir = rewrite(llvm_ir)
        return emit_apart(llvm_ir, form, target.triple)

    # Whoever reads intrinsics gives them the types of their newest form.
    counts = target.processor is not None and bool(target.processor.features)
    return import_intrinsics(with_address_spaces(llvm_ir, target.spaces), emit, form == "object", counts)


def _inlined(llvm_ir: str, target: Target) -> str:
    """With the functions in their callers that are to be there: not all drivers keep barriers between calls of these."""
    if "alwaysinline" not in llvm_ir:
        return llvm_ir
    with parsed(llvm_ir) as module:
        passes = binding.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.run(module, binding.create_pass_builder(target.machine(), binding.create_pipeline_tuning_options(0)))
        return str(module)

"""LLVM assembly of kernels to what a driver takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from llvmlite import binding

from ..llvm.llvm_work import run_interruptibly
from .address_spaces import with_address_spaces
from .code_object import link_code_object
from .emission_apart import emit_apart
from .imported_intrinsics import import_intrinsics
from .kernel import IS_PLAIN
from .kernel_parts import joined_ptx, kernel_parts
from .llvm_threads import emit_assembly, in_threads, run_passes
from .narrowed_integers import with_masks
from .negations import without_negations
from .spirv_print import with_own_numbers
from .straight_code import is_straight, straight_code
from .target import Target

# Kernels are written as they are to be: more than this finds nothing in them, for half as much time again.
_SPEED_LEVEL, _CODE_LEVEL = 1, 2
# Where an assembler goes over the code once more.
_CODE_LEVEL_OF_STRAIGHT_CODE = 0
_LEVEL_OF_USERS = 3
# Of kernels that say so of themselves: half of the time, for the same code.
_PASSES_OF_PLAIN_KERNELS = (
    "always_inliner", "global_dead_code_eliminate", "sroa", "simplify_cfg", "loop_rotate", "loop_unroll", "instruction_combine",
    "simplify_cfg", "post_order_function_attributes",
)  # fmt: skip
_PASSES_OF_STRAIGHT_CODE = ("always_inliner", "global_dead_code_eliminate", "instruction_combine", "simplify_cfg")


def compile_kernels(llvm_ir: str, target: Target, is_trusted: bool = True) -> bytes:
    """The kernels of LLVM assembly, as the target's drivers take them: PTX text, SPIR-V, or a code object.

    What is not trusted is emitted in a process of its own, which LLVM may end. Raises NotImplementedError where LLVM has no
    code for something.
    """
    return run_interruptibly(llvm_ir, lambda: _compiled(llvm_ir, target, is_trusted))


def _compiled(llvm_ir: str, target: Target, is_trusted: bool) -> bytes:
    if target.family == "spirv":
        return _spirv(llvm_ir, target, "object")
    if not is_trusted:
        form = "assembly" if target.is_text else "object"
        with _optimized(llvm_ir, target, _LEVEL_OF_USERS) as (_, module):
            text = str(module)
        emitted = emit_apart(text, form, target.triple, target.architecture, target.features, _LEVEL_OF_USERS)
    elif target.is_text:
        parts = kernel_parts(llvm_ir, target.calling_convention)
        emitted = joined_ptx(in_threads(lambda part: assembly(part, target), parts)).encode()
    else:
        with _optimized(llvm_ir, target) as (machine, module):
            emitted = bytes(machine.emit_object(module))
    return emitted + b"\0" if target.is_text else link_code_object(emitted)


def assembly(llvm_ir: str, target: Target) -> str:
    """The kernels as the target's assembly text."""
    if target.family == "spirv":
        return with_own_numbers(_spirv(llvm_ir, target, "assembly").decode())
    with _optimized(llvm_ir, target) as (machine, module):
        return emit_assembly(machine, module)


def _spirv(llvm_ir: str, target: Target, form: str) -> bytes:
    """The kernels as they are: drivers optimize them, and of pointers that loops carry Intel's compiler makes wrong ones."""

    def emit(llvm_ir: str) -> bytes:
        return emit_apart(with_masks(without_negations(_inlined(llvm_ir, target))), form, target.triple)

    # Whoever reads intrinsics gives them the types of their newest form.
    return import_intrinsics(with_address_spaces(llvm_ir, target.spaces), emit, is_binary=form == "object")


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


# Numbers of metadata that no one else uses.
_FLAG = 1 << 30


def _with_flags(llvm_ir: str, target: Target) -> str:
    """The assembly of a module with the flags of the target that it does not set itself."""
    flags = [(name, value) for name, value in target.module_flags if f'!"{name}"' not in llvm_ir]
    lines = [f"!llvm.module.flags = !{{!{_FLAG + number}}}" for number in range(len(flags))]
    lines += [f'!{_FLAG + number} = !{{i32 1, !"{name}", i32 {value}}}' for number, (name, value) in enumerate(flags)]
    return "\n".join([llvm_ir, *lines, ""]) if flags else llvm_ir


@contextmanager
def _optimized(
    llvm_ir: str, target: Target, level: int = _SPEED_LEVEL
) -> Iterator[tuple[binding.TargetMachine, binding.ModuleRef]]:
    is_plain = _is_plain(llvm_ir, target)
    straight = straight_code(llvm_ir) if is_plain and is_straight(llvm_ir) else None
    machine = target.machine(_CODE_LEVEL if straight is None else _CODE_LEVEL_OF_STRAIGHT_CODE)
    with _parsed(_with_flags(with_address_spaces(straight or llvm_ir, target.spaces), target)) as module:
        module.data_layout = str(machine.target_data)
        module.verify()
        options = binding.create_pipeline_tuning_options(speed_level=level)
        options.loop_vectorization = options.slp_vectorization = False
        builder = binding.create_pass_builder(machine, options)
        if is_plain:
            manager = _few_passes(_PASSES_OF_PLAIN_KERNELS if straight is None else _PASSES_OF_STRAIGHT_CODE)
        else:
            manager = builder.getModulePassManager()
        run_passes(manager, module, builder)
        yield machine, module


def _is_plain(llvm_ir: str, target: Target) -> bool:
    """Whether all kernels of a module are, for a family whose assembler goes over the code once more."""
    return target.family == "nvptx" and 0 < llvm_ir.count(IS_PLAIN) == llvm_ir.count(f"define {target.calling_convention} ")


def _few_passes(names: Iterable[str]) -> binding.ModulePassManager:
    passes = binding.create_new_module_pass_manager()
    for name in names:
        getattr(passes, f"add_{name}_pass")()
    return passes

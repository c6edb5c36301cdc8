"""Modules of kernels after LLVM's passes, and the object code and assembly that its targets make of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from llvmlite import binding

from ...llvm.llvm_threads import emit, run_passes
from ..target import Target
from .address_spaces import with_address_spaces
from .emission_apart import emit_apart

# Kernels are written as they are to be: more than this finds nothing in them, for half as much time again.
_SPEED_LEVEL, _CODE_LEVEL = 1, 2
_LEVEL_OF_USERS = 3


@contextmanager
def parsed(llvm_ir: str) -> Iterator[binding.ModuleRef]:
    """The module, closed before its context is.

    What an exception refers to may go in any order; a module whose context is gone ends the process then.
    """
    with binding.create_context() as context, binding.parse_assembly(llvm_ir, context) as module:
        yield module


@contextmanager
def optimized(
    llvm_ir: str, target: Target, level: int = _SPEED_LEVEL, code_level: int = _CODE_LEVEL, passes: Sequence[str] = ()
) -> Iterator[tuple[binding.TargetMachine, binding.ModuleRef]]:
    """The target machine, and the module after the passes of a level, or those that are named, and the family's rewrite."""
    machine = target.machine(code_level)
    with parsed(_with_flags(with_address_spaces(llvm_ir, target.spaces), target)) as module:
        module.data_layout = str(machine.target_data)
        module.verify()
        options = binding.create_pipeline_tuning_options(speed_level=level)
        options.loop_vectorization = options.slp_vectorization = False
        builder = binding.create_pass_builder(machine, options)
        run_passes(_these(passes) if passes else builder.getModulePassManager(), module, builder)
        with _rewritten(module, target) as rewritten:
            yield machine, rewritten


def _rewritten(module: binding.ModuleRef, target: Target) -> AbstractContextManager[binding.ModuleRef]:
    if (rewrite := target.family.rewrite) is None:
        return nullcontext(module)
    text = str(module)
    return nullcontext(module) if (changed := rewrite(text)) == text else parsed(changed)


def object_code(llvm_ir: str, target: Target, is_trusted: bool) -> bytes:
    """What LLVM's target makes of the kernels, in a process of its own where they are not trusted."""
    if not is_trusted:
        return emit_users_code(llvm_ir, target, "object")
    with optimized(llvm_ir, target) as (machine, module):
        return emit(machine, module, as_object=True)


def assembly_text(llvm_ir: str, target: Target) -> str:
    """The kernels in the assembly of LLVM's target."""
    with optimized(llvm_ir, target) as (machine, module):
        return emit(machine, module, as_object=False).decode()


def emit_users_code(llvm_ir: str, target: Target, form: str) -> bytes:
    """The code of a kernel that a user has written, emitted in a process of its own. Raises NotImplementedError."""
    with optimized(llvm_ir, target, _LEVEL_OF_USERS) as (_, module):
        text = str(module)
    return emit_apart(text, form, target.triple, target.architecture, target.features, _LEVEL_OF_USERS)


# Numbers of metadata that no one else uses.
_FLAG = 1 << 30


def _with_flags(llvm_ir: str, target: Target) -> str:
    """The assembly of a module with the flags of the target that it does not set itself."""
    flags = [(name, value) for name, value in target.module_flags if f'!"{name}"' not in llvm_ir]
    lines = [f"!llvm.module.flags = !{{!{_FLAG + number}}}" for number in range(len(flags))]
    lines += [f'!{_FLAG + number} = !{{i32 1, !"{name}", i32 {value}}}' for number, (name, value) in enumerate(flags)]
    return "\n".join([llvm_ir, *lines, ""]) if flags else llvm_ir


def _these(names: Sequence[str]) -> binding.ModulePassManager:
    passes = binding.create_new_module_pass_manager()
    for name in names:
        getattr(passes, f"add_{name}_pass")()
    return passes

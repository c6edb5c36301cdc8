"""LLVM assembly of kernels to what a driver takes."""

from __future__ import annotations

import re

from llvmlite import binding

from .address_spaces import with_address_spaces
from .spirv_labels import has_unique_labels
from .target import Target

_SPEED_LEVEL = 3
# Where LLVM gives a block the label of another one (see `spirv_labels`), other memory leads to other labels: what was made before is kept meanwhile.
_ATTEMPTS = 20
_FREEZE = re.compile(r"^ *(%[^ ]+) = freeze [^%\n]*(%[^ ,\n]+)\n", re.MULTILINE)


def compile_kernels(llvm_ir: str, target: Target) -> bytes:
    """The kernels of LLVM assembly, as the target's drivers take them: PTX text, SPIR-V, or a relocatable object."""
    kept = []
    for _ in range(_ATTEMPTS):
        machine, module = _optimized(llvm_ir, target)
        kept.append(module)
        if target.is_text:
            return machine.emit_assembly(module).encode() + b"\0"
        code = bytes(machine.emit_object(module))
        if target.family != "spirv" or has_unique_labels(code):
            return code
    raise SystemError(f"LLVM has given no labels of their own to the blocks of a kernel, in {_ATTEMPTS} attempts")


def assembly(llvm_ir: str, target: Target) -> str:
    """The kernels as the target's assembly text."""
    machine, module = _optimized(llvm_ir, target)
    return machine.emit_assembly(module)


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
    if target.family == "spirv":
        module = binding.parse_assembly(without_freezes(str(module)), context)
    return machine, module


def without_freezes(llvm_ir: str) -> str:
    """The LLVM assembly, with what is frozen in place of what freezes it.

    LLVM 22 takes the result of `freeze` for a value of another width in SPIR-V, where its operand is a truncated number.

    >>> print(without_freezes("  %y = freeze i8 %x\\n  %z = add i8 %y, %yy\\n"), end="")
      %z = add i8 %x, %yy
    """
    return "\n}\n".join(map(_without_freezes, llvm_ir.split("\n}\n")))


def _without_freezes(function: str) -> str:
    while (found := _FREEZE.search(function)) is not None:
        name, frozen = found.groups()
        rest = function[: found.start()] + function[found.end() :]
        function = re.sub(rf"{re.escape(name)}(?![\w.$\"-])", frozen.replace("\\", r"\\"), rest)
    return function

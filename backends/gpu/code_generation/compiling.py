"""LLVM assembly of kernels to what a driver takes, as their family has it."""

from __future__ import annotations

from ...llvm.llvm_work import run_interruptibly
from ..target import Target


def compile_kernels(llvm_ir: str, target: Target, is_trusted: bool = True) -> bytes:
    """The kernels of LLVM assembly, as the target's drivers take them: PTX text, SPIR-V, or a code object.

    What is not trusted is emitted in a process of its own, which LLVM may end. Raises NotImplementedError where LLVM has no
    code for something.
    """
    return run_interruptibly(llvm_ir, lambda: target.family.compile(llvm_ir, target, is_trusted))


def assembly(llvm_ir: str, target: Target) -> str:
    """The kernels as the target's assembly text."""
    return target.family.assembly(llvm_ir, target)

"""Convolution, Fourier transforms, factorization, triangular systems: from the instruction to the region that runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

from ...compile.aliasing import Value
from ...hlo import Instruction
from ..llvm.arrays import Array
from ..llvm.elemental import Binding
from .regions.convolution import emit_convolution
from .regions.fourier import emit_fourier, tables
from .regions.triangular import emit_cholesky, emit_triangular_solve

if TYPE_CHECKING:
    from .module_emitter import Leaf, ModuleEmitter, Values


def convolution(emitter: ModuleEmitter, instruction: Instruction, values: Values) -> list[Leaf]:
    buffer = emitter.assignment.scratch.get(instruction)
    scratch = [] if buffer is None else [emitter._buffer_pointer(buffer)]

    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        pointer = bindings[3] if scratch else None
        emit_convolution(builder, emitter.target, instruction, *bindings[:3], pointer)

    operands, output = _arrays(emitter, instruction, values)
    emitter.regions.emit_region(emitter.builder, instruction, [*operands, output, *scratch], emit)
    return [output]


def cholesky(emitter: ModuleEmitter, instruction: Instruction, values: Values) -> list[Leaf]:
    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        emit_cholesky(builder, emitter.target, *bindings)

    operands, output = _arrays(emitter, instruction, values)
    emitter.regions.emit_region(emitter.builder, instruction, [*operands, output], emit)
    return [output]


def triangular_solve(emitter: ModuleEmitter, instruction: Instruction, values: Values) -> list[Leaf]:
    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        emit_triangular_solve(builder, emitter.target, instruction, *bindings)

    operands, output = _arrays(emitter, instruction, values)
    emitter.regions.emit_region(emitter.builder, instruction, [*operands, output], emit)
    return [output]


def fourier(emitter: ModuleEmitter, instruction: Instruction, values: Values) -> list[Leaf]:
    scratch = emitter._buffer_pointer(emitter.assignment.scratch[instruction])
    roots = [emitter._constant_pointer(table) for table in tables(instruction)]

    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        emit_fourier(builder, emitter.target, instruction, *bindings[:3], bindings[3:])

    (operand,), output = _arrays(emitter, instruction, values)
    emitter.regions.emit_region(emitter.builder, instruction, [operand, output, scratch, *roots], emit)
    return [output]


def _arrays(emitter: ModuleEmitter, instruction: Instruction, values: Values) -> tuple[list[Array], Array]:
    """The operands, and memory for the result; all are arrays of rank 2 or more."""
    operands = [values[operand][0] for operand in instruction.operands]
    return operands, emitter._array(Value(instruction), instruction.shape)


EMITTERS = {"convolution": convolution, "fft": fourier, "cholesky": cholesky, "triangular-solve": triangular_solve}

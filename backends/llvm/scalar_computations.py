"""Computations on scalars, in registers: what a map, a reduction or a scatter applies, in every lane.

Operations that are not elementwise have a function each in the table `IN_REGISTERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from ...hlo import Computation, Instruction
from .called_computations import IN_REGISTERS, ScalarEmitter, ScalarValue, emit_called, holds_arrays
from .elementwise import emit_elementwise
from .scalar_calls import emit_scalar_call, is_function
from .scalar_control_flow import emit_scalar_conditional, emit_scalar_while
from .types import (
    ComplexValue,
    RegisterValue,
    broadcast_lanes,
    from_memory,
    memory_type,
    scalar_register_type,
    to_memory,
    vector_of,
)


def emit_scalar_computation(
    builder: ir.IRBuilder, computation: Computation, arguments: list[RegisterValue], lanes: int
) -> list[RegisterValue]:
    """A computation on scalars, applied in every lane; its results, a list of one unless it returns a tuple."""
    if holds_arrays(computation):
        return emit_called(builder, computation, arguments, lanes)
    values: dict[Instruction, ScalarValue] = {p: arguments[p.attributes["number"]] for p in computation.parameters}
    for instruction in computation.instructions:
        if instruction in values:
            continue
        emit = IN_REGISTERS.get(instruction.opcode, emit_elementwise)
        values[instruction] = emit(builder, instruction, [values[operand] for operand in instruction.operands], lanes)
    root = values[computation.root]
    return root if computation.shape.is_tuple else [root]


def in_registers(*opcodes: str) -> Callable[[ScalarEmitter], ScalarEmitter]:
    """Decorator: the function emits these operations where all shapes are scalars."""

    def register(emit: ScalarEmitter) -> ScalarEmitter:
        IN_REGISTERS.update(dict.fromkeys(opcodes, emit))
        return emit

    return register


@in_registers("constant")
def _constant(builder, instruction, operands, lanes):
    return constant_value(builder, instruction, lanes)


@in_registers("tuple")
def _tuple(builder, instruction, operands, lanes):
    return operands


@in_registers("get-tuple-element")
def _get_tuple_element(builder, instruction, operands, lanes):
    return operands[0][instruction.attributes["index"]]


@in_registers("reshape", "broadcast", "copy", "transpose")
def _unchanged(builder, instruction, operands, lanes):
    return operands[0]


@in_registers("bitcast", "bitcast-convert")
def _bitcast(builder, instruction, operands, lanes):
    return same_bits(builder, instruction, operands[0], lanes)


@in_registers("call", "fusion")
def _call(builder, instruction, operands, lanes):
    (callee,) = instruction.called_computations
    emit = partial(emit_scalar_call, emit=emit_scalar_computation) if is_function(callee) else emit_scalar_computation
    results = emit(builder, callee, operands, lanes)
    return results if callee.shape.is_tuple else results[0]


@in_registers("while")
def _while(builder, instruction, operands, lanes):
    return emit_scalar_while(builder, instruction, operands[0], _alone(builder, instruction, lanes))


@in_registers("conditional")
def _conditional(builder, instruction, operands, lanes):
    return emit_scalar_conditional(builder, instruction, operands, _alone(builder, instruction, lanes))


def _alone(builder: ir.IRBuilder, instruction: Instruction, lanes: int) -> Callable[[Computation, list], list]:
    """What emits the computations of a loop or branch, for one element at a time."""
    if lanes > 1:
        raise NotImplementedError(f"{instruction.opcode} in a computation on scalars has no native code for several at once")
    return lambda computation, arguments: emit_scalar_computation(builder, computation, arguments, 1)


# --- values ---


def constant_value(builder: ir.IRBuilder, instruction: Instruction, lanes: int) -> RegisterValue:
    """A rank-0 constant in every lane."""
    element_type, literal = instruction.shape.element_type, instruction.attributes["literal"]
    scalar = scalar_register_type(element_type)
    if element_type.is_complex:
        parts = (broadcast_lanes(builder, scalar(float(part)), lanes) for part in (literal.real, literal.imag))
        return ComplexValue(*parts)
    number = float(literal) if element_type.is_float else int(literal)
    return broadcast_lanes(builder, scalar(number), lanes)


def same_bits(b: ir.IRBuilder, instruction: Instruction, value: RegisterValue, lanes: int) -> RegisterValue:
    """A bitcast-convert between types of one width."""
    source, target = instruction.operands[0].shape.element_type, instruction.shape.element_type
    if source.bits != target.bits:
        raise NotImplementedError("bitcast-convert between widths has no native code inside a loop nest")
    if isinstance(value, ComplexValue):
        return value
    bits = b.bitcast(to_memory(b, source, value), vector_of(memory_type(target), lanes))
    return from_memory(b, target, bits)

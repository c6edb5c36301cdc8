"""Operations that name values again, or copy them as they lie in memory."""

from __future__ import annotations

from ...compile.aliasing import has_whole_bytes, is_free_view
from ...hlo import Instruction
from ..llvm.arrays import Array
from ..llvm.memory import copy_memory
from ..llvm.scalar_computations import constant_value
from ..llvm.types import TOKEN_VALUE
from .emitter_table import emits
from .frame import Frame, Leaf, Values
from .function_parts import raw_leaves
from .regions.fusion import single


@emits("tuple")
def tuple_(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    return [leaf for operand in instruction.operands for leaf in raw_leaves(values, operand)]


@emits("get-tuple-element")
def get_tuple_element(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    (operand,) = instruction.operands
    index, offsets = instruction.attributes["index"], operand.shape.leaf_offsets
    return raw_leaves(values, operand)[offsets[index] : offsets[index + 1]]


@emits("opt-barrier")
def optimization_barrier(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    return raw_leaves(values, instruction.operands[0])


@emits("after-all")
def after_all(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    return [TOKEN_VALUE]


def _is_array(instruction: Instruction) -> bool:
    return not instruction.shape.is_tuple


@emits("constant", is_native=_is_array)
def constant(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    if instruction.shape.rank == 0:
        return [constant_value(frame.builder, instruction, 1)]
    return [frame.output(instruction)]


@emits("bitcast")
def bitcast(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """The same memory: normalize-layouts leaves no other bitcasts."""
    return [Array(values[instruction.operands[0]][0].pointer, instruction.shape)]


@emits("reshape")
def reshape(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    (operand,) = instruction.operands
    value = values[operand][0]
    if is_free_view(instruction):
        return [Array(value.pointer, instruction.shape)]
    return single(frame, instruction, values)


@emits("copy", is_native=_is_array)
def copy(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    (operand,) = instruction.operands
    source = values[operand][0]
    if instruction.shape.rank == 0:
        return [source]
    return [frame.updated(instruction, 0, operand, values)]


@emits("bitcast-convert", is_native=has_whole_bytes)
def bitcast_convert(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """A second name of the operand's memory; scalars by way of the stack."""
    (operand,) = instruction.operands
    if is_free_view(instruction):
        return [Array(values[operand][0].pointer, instruction.shape)]
    source = frame.in_memory(values[operand][0], operand.shape)
    if instruction.shape.rank == 0:
        return [Array(source.pointer, instruction.shape).load(frame.builder, (), 1)]
    output = frame.output(instruction)
    copy_memory(frame.builder, output.pointer, source.pointer, instruction.shape.byte_size)
    return [output]

"""Operations that name values again, or copy them as they lie in memory; and scalars that are computed from scalars."""

from __future__ import annotations

from llvmlite import ir

from ...compile.aliasing import has_whole_bytes, is_free_view
from ...compile.fused_computations import as_computation, result_roots
from ...hlo import Computation, Instruction, leaves
from ...hlo.operation import HOST_CALL
from ...hlo.ops.known_calls import ALLOCATE
from ..llvm.elemental import Binding, ElementalEmitter
from ..llvm.types import RegisterValue
from .emitter_table import emits
from .frame import Frame
from .plan import HostCall
from .values import Known, Leaf, Stored, Values


@emits("tuple")
def tuple_(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    return [leaf for operand in instruction.operands for leaf in values[operand]]


@emits("get-tuple-element")
def get_tuple_element(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    (operand,) = instruction.operands
    index, offsets = instruction.attributes["index"], operand.shape.leaf_offsets
    return values[operand][offsets[index] : offsets[index + 1]]


@emits("opt-barrier")
def optimization_barrier(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    return values[instruction.operands[0]]


@emits("after-all")
def after_all(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    return [None]


def _is_array(instruction: Instruction) -> bool:
    return not instruction.shape.is_tuple


@emits("constant", is_native=_is_array)
def constant(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    return [frame.output(instruction) if instruction.shape.rank else Known(instruction)]


@emits("bitcast")
def bitcast(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """The same memory: normalize-layouts leaves no other bitcasts."""
    return [Stored(frame.stored(values[instruction.operands[0]][0]).place, instruction.shape)]


@emits("reshape")
def reshape(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    (operand,) = instruction.operands
    if is_free_view(instruction):
        return bitcast(frame, instruction, values)
    source = frame.stored(values[operand][0])
    if not instruction.shape.rank:  # the slot of a scalar is not that of an array, which may be used again
        return scalars(frame, instruction, as_computation(instruction), values)
    output = frame.output(instruction)
    frame.copy(output, source)
    return [output]


@emits("copy", is_native=_is_array)
def copy(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    (operand,) = instruction.operands
    return [frame.updated(instruction, 0, operand, values)] if instruction.shape.rank else values[operand]


@emits("bitcast-convert", is_native=has_whole_bytes)
def bitcast_convert(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    (operand,) = instruction.operands
    if is_free_view(instruction):
        return bitcast(frame, instruction, values)
    output = frame.output(instruction)
    frame.copy(output, frame.stored(values[operand][0]))
    return [output]


def scalars(frame: Frame, instruction: Instruction, computation: Computation, values: Values) -> list[Leaf]:
    """What a computation makes of its operands, scalars and elements of arrays."""
    inputs = [values[operand][0] for operand in instruction.operands]
    roots = result_roots(computation)

    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> list[RegisterValue]:
        emitter = ElementalEmitter(builder, 1, dict(zip(computation.parameters, bindings)))
        return [emitter.emit(root, ()) for root in roots]

    key = frame.kernels.number(computation)
    return list(frame.compute_scalars(key, inputs, [root.shape for root in roots], emit, instruction))


@emits(HOST_CALL, "call")
def host_call(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """The host evaluates it, unless it asks for nothing but memory."""
    if instruction.opcode == "custom-call" and instruction.attributes["custom_call_target"] == ALLOCATE:
        return list(frame.outputs(instruction))
    held = [leaf for operand in instruction.operands for leaf in values[operand] if leaf is not None]
    operands = [frame.stored(leaf) for leaf in held]
    outputs = frame.outputs(instruction)
    places = [output.place for output in outputs if output is not None]
    frame.add(HostCall(instruction, tuple(operand.place for operand in operands), tuple(places)))
    return list(outputs)


def has_scalars_alone(instruction: Instruction) -> bool:
    """Whether all operands and results are scalars."""
    inputs = (shape for operand in instruction.operands for shape in leaves(operand.shape))
    return not any(shape.rank for shape in (*inputs, *leaves(instruction.shape)))

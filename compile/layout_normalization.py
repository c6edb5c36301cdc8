"""Layout normalization: inside of a program every array is row-major, and no other pass need know of layouts.

Where a program's memory is seen from outside, a layout stays: in the entry's parameters, and in what a custom call takes and
returns. A bitcast beside it names the same bytes as a row-major array, and a transpose says which elements they are:

    before: ``x = f32[2,3]{0,1} parameter(0)``
    after:  ``p = f32[2,3]{0,1} parameter(0)``  ``m = f32[3,2] bitcast(p)``  ``x = f32[2,3] transpose(m), dimensions={1,0}``

A bitcast of the program is written as what it does to the elements; this is what its layouts mean. All other layouts are
dropped, since they say nothing about values: a copy into another layout does nothing, and results are returned row-major.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..hlo import Computation, Instruction, Module, Shape, TupleShape, leaves, make_instruction, rebuild
from ..hlo.operation import CALLS
from ..hlo.ops.custom_call import stated_operand_shapes
from ..hlo.ops.known_calls import IDENTITY_TARGETS
from ..hlo.shape import AnyShape
from .pass_manager import NORMALIZE_LAYOUTS, module_pass
from .traversal import tuple_elements

# These may have operands and results that state a layout.
_NAMES_OF_MEMORY = frozenset({"bitcast", "custom-call", "get-tuple-element", "tuple"})


@module_pass(NORMALIZE_LAYOUTS)
def normalize_layouts(module: Module) -> Module:
    """Row-major arrays inside of the program, bitcasts next to parameters and custom calls; all other passes rely on it."""
    computations = module.computations()
    if all(_is_normal(computation, computation is module.entry) for computation in computations):
        return module
    normalized: dict[Computation, Computation] = {}
    for computation in computations:
        normalized[computation] = _normalized(computation, normalized, computation is module.entry)
    entry = normalized[module.entry]
    attributes = {name: text for name, text in module.attributes.items() if name != "entry_computation_layout"}
    return Module(module.name, entry, attributes, module.source_tables)


def _normalized(computation: Computation, callees: dict[Computation, Computation], is_entry: bool) -> Computation:
    is_normal = _is_normal(computation, is_entry)

    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        changed = _changed_callees(instruction, callees) if CALLS in instruction.operation.traits else {}
        if is_normal:
            return _restated(instruction, operands, instruction.shape, changed)
        opcode, shape = instruction.opcode, instruction.shape
        if opcode == "bitcast" and not (shape.dynamic_dimensions or operands[0].shape.dynamic_dimensions):
            return _elements_of_bitcast(instruction, operands[0])
        if opcode == "get-tuple-element" and operands[0].opcode == "tuple":
            return operands[0].operands[instruction.attributes["index"]]
        if _is_call_outside(instruction):
            stated = stated_operand_shapes(
                instruction.attributes["operand_layout_constraints"], [operand.shape for operand in operands]
            )
            operands = tuple(map(_in_memory, operands, stated))
        elif opcode != "parameter" or not is_entry:
            return _restated(instruction, operands, shape.without_layout(), changed)
        return _elements(_restated(instruction, operands, _without_needless(shape), changed))

    return rebuild(computation, transform)


def _is_normal(computation: Computation, is_entry: bool) -> bool:
    """Whether layouts are stated only where they may be, and each bitcast stands beside one of them."""
    stating: set[Instruction] = set()
    for instruction in computation.instructions:
        opcode, shape = instruction.opcode, instruction.shape
        if _states_layout(shape):
            may_state = opcode in _NAMES_OF_MEMORY or opcode == "parameter" and is_entry
            if not may_state or shape != _without_needless(shape):
                return False
            stating.add(instruction)
        if opcode == "bitcast" and not _is_beside_layout(shape, instruction.operands[0].shape):
            return False
        if opcode == "custom-call" and not _is_normal_call(instruction):
            return False
        if stating and opcode not in _NAMES_OF_MEMORY and not stating.isdisjoint(instruction.operands):
            return False
    return computation.root not in stating


def _is_beside_layout(first: Shape, second: Shape) -> bool:
    """Whether one shape states a layout, and the other is the row-major array of the same bytes."""
    stated, plain = (first, second) if second.layout is None else (second, first)
    return stated.layout is not None and plain == _memory_of(stated)


def _is_normal_call(call: Instruction) -> bool:
    shapes = [operand.shape for operand in call.operands]
    if not _is_call_outside(call):
        return not any(map(_states_layout, (*shapes, call.shape)))
    stated = stated_operand_shapes(call.attributes["operand_layout_constraints"], shapes)
    return all(shape == _without_needless(wanted) for shape, wanted in zip(shapes, stated))


def _is_call_outside(instruction: Instruction) -> bool:
    """Whether a function is called that finds its operands in memory."""
    return instruction.opcode == "custom-call" and instruction.attributes["custom_call_target"] not in IDENTITY_TARGETS


def _changed_callees(instruction: Instruction, callees: dict[Computation, Computation]) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for name, value in instruction.attributes.items():
        if isinstance(value, Computation):
            new: Any = callees[value]
        elif isinstance(value, tuple) and value and isinstance(value[0], Computation):
            new = tuple(callees[computation] for computation in value)
        else:
            continue
        if new != value:
            changed[name] = new
    return changed


def _restated(
    instruction: Instruction, operands: tuple[Instruction, ...], shape: AnyShape, changed: dict[str, Any]
) -> Instruction:
    i = instruction
    if shape == i.shape and operands == i.operands and not changed:
        return i
    return Instruction(i.operation, operands, {**i.attributes, **changed}, shape, i.name, i.source, i.annotations)


# --- values and their memory ---


def _elements_of_bitcast(bitcast: Instruction, operand: Instruction) -> Instruction:
    """Those of the following that change anything: a transpose to the order in memory, a bitcast-convert, a reshape, and a
    transpose from the order in memory.
    """
    new, old, source = bitcast.shape, bitcast.operands[0].shape, bitcast.source
    result = _transposed(operand, old.minor_to_major[::-1], bitcast)
    if result.shape.element_type is not new.element_type:
        shape = Shape(new.element_type, result.shape.dimensions)
        result = make_instruction("bitcast-convert", (result,), None, shape, source=source)
    in_memory = _memory_of(new)
    if result.shape.dimensions != in_memory.dimensions:
        result = make_instruction("reshape", (result,), None, in_memory, source=source)
    return _transposed(result, _inverse(new.minor_to_major[::-1]), bitcast)


def _elements(instruction: Instruction) -> Instruction:
    """What has been stated in a layout, as row-major arrays."""
    shape = instruction.shape
    if not _states_layout(shape):
        return instruction
    if shape.is_tuple:
        parts = (
            make_instruction("get-tuple-element", (instruction,), {"index": index}, part, source=instruction.source)
            for index, part in enumerate(shape.elements)
        )
        return make_instruction("tuple", map(_elements, parts), source=instruction.source)
    in_memory = make_instruction("bitcast", (instruction,), None, _memory_of(shape), source=instruction.source)
    return _transposed(in_memory, _inverse(shape.minor_to_major[::-1]), instruction)


def _in_memory(value: Instruction, wanted: AnyShape) -> Instruction:
    """Row-major arrays, in the layouts of the shape."""
    wanted = _without_needless(wanted)
    if not _states_layout(wanted):
        return value
    if wanted.is_tuple:
        elements = tuple_elements(value, value.source)
        return make_instruction("tuple", map(_in_memory, elements, wanted.elements), source=value.source)
    in_memory = _transposed(value, wanted.minor_to_major[::-1], value)
    return make_instruction("bitcast", (in_memory,), None, wanted, source=value.source)


def _memory_of(shape: Shape) -> Shape:
    """The row-major array with the same bytes, dimension by dimension."""
    return shape.with_dimensions(shape.dimensions[dimension] for dimension in shape.minor_to_major[::-1])


def _inverse(permutation: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(position) for position in np.argsort(permutation))


def _transposed(operand: Instruction, dimensions: tuple[int, ...], origin: Instruction) -> Instruction:
    if operand.opcode == "transpose":  # to the memory that was transposed before
        dimensions = tuple(operand.attributes["dimensions"][dimension] for dimension in dimensions)
        (operand,) = operand.operands
    if dimensions == tuple(range(len(dimensions))):
        return operand
    return make_instruction("transpose", (operand,), {"dimensions": dimensions}, source=origin.source)


def _states_layout(shape: AnyShape) -> bool:
    if shape.is_tuple:
        return any(leaf.layout is not None for leaf in leaves(shape))
    return shape.layout is not None


def _without_needless(shape: AnyShape) -> AnyShape:
    """Without the layouts that say nothing: row-major ones, and those of arrays that are padded."""
    if shape.is_tuple:
        return TupleShape(tuple(map(_without_needless, shape.elements)))
    return shape.without_layout() if shape.is_row_major or shape.dynamic_dimensions else shape

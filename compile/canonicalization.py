"""Canonicalization: one form for programs that say the same, so that later passes know only that one.

In the canonical form an array inside the program lies in row-major order and its shape states no layout; only the entry's
parameters and results may lie otherwise, and ``copy`` converts. A bitcast, which says something about layouts, is written as
what it does to the elements. A constant of equal elements is the broadcast of a scalar.
"""

from __future__ import annotations

import numpy as np

from ..hlo import Computation, Instruction, Module, Shape, TupleShape, make_instruction, rebuild
from ..hlo.shape import AnyShape, leaves
from .pass_manager import module_pass
from .traversal import on_operands, same_layout, transform_callees, transform_computations, with_entry

# Their result lies in memory as their shape says, or as their operand does.
_LAYOUT_MATTERS = frozenset({"copy", "get-tuple-element", "opt-barrier"})
# Their operands' layouts are those of other instructions: a loop's state, a branch's argument.
_SHARES_OPERANDS = frozenset({"tuple", "while", "conditional", "call"})


@module_pass("canonicalize")
def canonicalize(module: Module) -> Module:
    """Row-major layouts inside the program, and splat constants as broadcasts of scalars."""
    entry = module.entry
    inner = transform_callees(entry, lambda callee: _inner_without_layouts(callee))
    module = with_entry(module, _entry_without_layouts(inner))
    return transform_computations(module, _with_splats)


def _inner_without_layouts(computation: Computation) -> Computation:
    computation = _without_bitcasts(transform_callees(computation, _inner_without_layouts))
    if not any(_states_layout(instruction.shape) for instruction in computation.instructions):
        return computation

    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        if instruction.opcode == "custom-call":
            return _row_major(_with_shape(instruction, operands, _without_row_major(instruction.shape)))
        return _with_shape(instruction, operands, instruction.shape.without_layout())

    return rebuild(computation, transform)


def _entry_without_layouts(computation: Computation) -> Computation:
    computation = _without_bitcasts(computation)
    if not any(_states_layout(instruction.shape) for instruction in computation.instructions):
        return computation
    root = computation.root
    root_shape = _without_row_major(root.shape)

    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        opcode, shape = instruction.opcode, instruction.shape
        if opcode in _SHARES_OPERANDS:
            operands = tuple(map(_row_major, operands))
        if opcode == "parameter":
            result = _with_shape(instruction, operands, _without_row_major(shape))
        elif opcode == "get-tuple-element":
            result = _with_shape(instruction, operands, operands[0].shape.elements[instruction.attributes["index"]])
        elif opcode == "opt-barrier":
            result = _with_shape(instruction, operands, operands[0].shape)
        elif opcode == "custom-call":
            result = _row_major(_with_shape(instruction, operands, _without_row_major(shape)))
        elif opcode in _LAYOUT_MATTERS:
            result = _with_shape(instruction, operands, _without_row_major(shape))
        else:
            result = _with_shape(instruction, operands, shape.without_layout())
        return in_layout_of(root_shape, result) if instruction is root else result

    return rebuild(computation, transform)


def _without_bitcasts(computation: Computation) -> Computation:
    """Each bitcast as those of the following that change anything: a transpose to the order in memory, a bitcast-convert, a
    reshape, and a transpose from the order in memory.
    """
    if not any(instruction.opcode == "bitcast" for instruction in computation.instructions):
        return computation

    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        if instruction.opcode != "bitcast":
            return on_operands(instruction, operands)
        new, old = instruction.shape, instruction.operands[0].shape
        major_to_minor = new.minor_to_major[::-1]
        (result,) = operands
        result = _transposed(result, old.minor_to_major[::-1], instruction)
        sizes = tuple(new.dimensions[dimension] for dimension in major_to_minor)
        if result.shape.element_type is not new.element_type:
            shape = Shape(new.element_type, result.shape.dimensions)
            result = make_instruction("bitcast-convert", (result,), None, shape, source=instruction.source)
        if result.shape.dimensions != sizes:
            shape = result.shape.with_dimensions(sizes)
            result = make_instruction("reshape", (result,), None, shape, source=instruction.source)
        result = _transposed(result, tuple(major_to_minor.index(dimension) for dimension in range(new.rank)), instruction)
        # Users and the root's layout go by the shape that was stated.
        return _with_shape(result, result.operands, new) if result is not operands[0] else in_layout_of(new, result)

    return rebuild(computation, transform)


def _transposed(operand: Instruction, dimensions: tuple[int, ...], origin: Instruction) -> Instruction:
    if dimensions == tuple(range(len(dimensions))):
        return operand
    return make_instruction("transpose", (operand,), {"dimensions": dimensions}, source=origin.source)


def in_layout_of(shape: AnyShape, instruction: Instruction) -> Instruction:
    """The instruction's value, its arrays in the layouts of the shape."""
    if same_layout(shape, instruction.shape):
        return instruction
    if not shape.is_tuple:
        return make_instruction("copy", (instruction,), None, shape, source=instruction.source)
    if instruction.opcode == "tuple":
        elements = instruction.operands
    else:
        elements = tuple(
            make_instruction("get-tuple-element", (instruction,), {"index": index}, part, source=instruction.source)
            for index, part in enumerate(instruction.shape.elements)
        )
    return make_instruction("tuple", map(in_layout_of, shape.elements, elements), source=instruction.source)


def _row_major(instruction: Instruction) -> Instruction:
    return in_layout_of(instruction.shape.without_layout(), instruction)


def _with_shape(instruction: Instruction, operands: tuple[Instruction, ...], shape: AnyShape) -> Instruction:
    if shape == instruction.shape:
        return on_operands(instruction, operands)
    i = instruction
    return Instruction(i.operation, operands, i.attributes, shape, i.name, i.source, i.annotations)


def _states_layout(shape: AnyShape) -> bool:
    if shape.is_tuple:
        return any(leaf.layout is not None for leaf in leaves(shape))
    return shape.layout is not None


def _without_row_major(shape: AnyShape) -> AnyShape:
    if shape.is_tuple:
        return TupleShape(tuple(map(_without_row_major, shape.elements)))
    return shape.without_layout() if shape.is_row_major else shape


def _with_splats(computation: Computation) -> Computation:
    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        if instruction.opcode == "constant":
            splat = _splat(instruction)
            if splat is not None:
                return splat
        return on_operands(instruction, operands)

    return rebuild(computation, transform)


def _splat(constant: Instruction) -> Instruction | None:
    literal = constant.attributes["literal"]
    if isinstance(literal, tuple) or literal.ndim == 0 or literal.size == 0:
        return None
    # Bits, not values: 0 and -0 differ, NaN equals itself.
    elements = literal.reshape(-1).view(f"V{literal.dtype.itemsize}")
    first = elements[0]
    if elements[-1] != first or not np.all(elements == first):
        return None
    scalar = make_instruction("constant", (), {"literal": literal.reshape(-1)[0]}, source=constant.source)
    shape = Shape(constant.shape.element_type, constant.shape.dimensions)
    return make_instruction("broadcast", (scalar,), {"dimensions": ()}, shape, source=constant.source)

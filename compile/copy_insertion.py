"""Prepares a module for buffer assignment: one buffer for each result, one caller for each computation.

Before: ``ROOT tuple(x, x, c)`` with x computed and c a constant. After: ``ROOT tuple(x, copy(x), copy(c))``.
"""

from __future__ import annotations

from ..hlo import Computation, Instruction, Module, leaves, make_instruction
from ..hlo.instruction import rebuild
from .aliasing import Value, defining_value

CONTROL_FLOW = ("while", "conditional", "call")


def insert_copies(module: Module) -> Module:
    """The module with a copy for every result that would otherwise share the memory of another value.

    Afterwards each array that the entry, a While body or a branch returns is computed there, once; only what a body hands on
    unchanged is left as it is. A computation run by two instructions is duplicated, so that each has its own buffers.
    """
    seen: set[Computation] = set()
    return Module(module.name, _prepare(module.entry, seen, is_body=False), dict(module.attributes))


def _prepare(computation: Computation, seen: set[Computation], is_body: bool) -> Computation:
    if computation in seen:
        computation = _duplicate(computation)
    seen.add(computation)
    return _with_copied_results(_prepare_callees(computation, seen), is_body)


def _duplicate(computation: Computation) -> Computation:
    """The same computation with instructions of its own."""
    copies: dict[Instruction, Instruction] = {}
    for instruction in computation.instructions:
        copies[instruction] = instruction.with_operands(copies[operand] for operand in instruction.operands)
    return Computation(computation.name, tuple(copies.values()), copies[computation.root])


def _prepare_callees(computation: Computation, seen: set[Computation]) -> Computation:
    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        if instruction.opcode in CONTROL_FLOW:
            changed = {}
            for name, value in instruction.attributes.items():
                if isinstance(value, Computation):
                    changed[name] = _prepare(value, seen, is_body=name == "body")
                elif isinstance(value, tuple) and value and isinstance(value[0], Computation):
                    changed[name] = tuple(_prepare(branch, seen, is_body=False) for branch in value)
            return instruction.with_operands(operands, **changed)
        return instruction if operands == instruction.operands else instruction.with_operands(operands)

    return rebuild(computation, transform)


def _with_copied_results(computation: Computation, is_body: bool) -> Computation:
    root = computation.root
    shapes = leaves(root.shape)
    taken: set[Value] = set()
    to_copy: set[int] = set()
    for leaf, shape in enumerate(shapes):
        if shape.rank == 0:
            continue
        value = defining_value(Value(root, leaf))
        opcode = value.instruction.opcode
        if is_body and value == Value(computation.parameters[0], leaf):
            continue
        if opcode in ("parameter", "constant") or value in taken:
            to_copy.add(leaf)
        taken.add(value)
    if not to_copy:
        return computation
    added: list[Instruction] = []
    new_root = _copy_leaves(root, 0, to_copy, added)
    return Computation(computation.name, (*computation.instructions, *added), new_root)


def _copy_leaves(instruction: Instruction, first_leaf: int, to_copy: set[int], added: list[Instruction]) -> Instruction:
    """The instruction's value with some leaves copied; new instructions are appended to added."""

    def emit(opcode: str, operands: list[Instruction], **attributes: object) -> Instruction:
        added.append(make_instruction(opcode, operands, attributes, source=instruction.source))
        return added[-1]

    if not instruction.shape.is_tuple:
        return emit("copy", [instruction]) if first_leaf in to_copy else instruction
    elements = []
    for position, shape in enumerate(instruction.shape.elements):
        element = instruction.operands[position] if instruction.opcode == "tuple" else None
        count = len(leaves(shape))
        if element is None:
            element = emit("get-tuple-element", [instruction], index=position)
        if to_copy & set(range(first_leaf, first_leaf + count)):
            element = _copy_leaves(element, first_leaf, to_copy, added)
        elements.append(element)
        first_leaf += count
    return emit("tuple", elements)

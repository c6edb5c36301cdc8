"""Prepares a module for buffer assignment: one buffer for each result, one loop or branch for each computation that they run.

Before: ``ROOT tuple(x, x, c)`` with x computed and c a constant. After: ``ROOT tuple(x, copy(x), copy(c))``.
"""

from __future__ import annotations

from typing import Any

from ..hlo import Computation, Instruction, Module, leaves, make_instruction
from ..hlo.instruction import rebuild
from ..hlo.operation import CONTROL_FLOW, GIVEN
from .aliasing import Value, defining_value
from .in_place import branches_beside_updates, last_reads
from .pass_manager import module_pass
from .traversal import called_functions, on_operands


@module_pass("insert-copies")
def insert_copies(module: Module) -> Module:
    """Adds a copy for every result that would otherwise share the memory of another value.

    Afterwards each array that the entry, a called computation, a While body or a branch returns is computed there, once; only
    what a body hands on unchanged is left as it is. A computation that two loops or branches run is duplicated, so that each
    has its own buffers; one that is called is a function, and stays one. A branch that computes an array where another one
    updates one that is given to both ends with a copy to the place of that.
    """
    prepared = _Prepared()
    for function in called_functions(module):
        prepared.function(function)
    return Module(module.name, prepared.function(module.entry), dict(module.attributes))


class _Prepared:
    """What is prepared already."""

    def __init__(self) -> None:
        self._functions: dict[Computation, Computation] = {}
        self._seen: set[Computation] = set()

    def function(self, computation: Computation) -> Computation:
        """A computation with an own frame: the entry, or what ``call`` calls."""
        done = self._functions.get(computation)
        if done is None:
            done = self._functions[computation] = self._part(computation, is_function=True)
        return done

    def _part(self, computation: Computation, is_body: bool = False, is_function: bool = False) -> Computation:
        if computation in self._seen:
            computation = _duplicate(computation)
        self._seen.add(computation)
        prepared = _with_updates_in_branches(self._with_callees(computation), is_function)
        return _with_copied_results(prepared, is_body)

    def _with_callees(self, computation: Computation) -> Computation:
        def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
            changed: dict[str, Any] = {}
            if instruction.opcode == "call":
                changed["to_apply"] = self.function(instruction.attributes["to_apply"])
            elif CONTROL_FLOW in instruction.operation.traits:
                for name, value in instruction.attributes.items():
                    if isinstance(value, Computation):
                        changed[name] = self._part(value, is_body=name == "body")
                    elif isinstance(value, tuple) and value and isinstance(value[0], Computation):
                        changed[name] = tuple(self._part(branch) for branch in value)
            return on_operands(instruction, operands, changed)

        return rebuild(computation, transform)


def _duplicate(computation: Computation) -> Computation:
    """The same computation with instructions of its own."""
    copies: dict[Instruction, Instruction] = {}
    for instruction in computation.instructions:
        copies[instruction] = instruction.with_operands(copies[operand] for operand in instruction.operands)
    return Computation(computation.name, tuple(copies.values()), copies[computation.root])


def _with_updates_in_branches(computation: Computation, is_function: bool) -> Computation:
    """Branches beside such as update an array of which this computation needs nothing afterwards end with a copy.

    Before: ``conditional(p, x, x)`` of ``ROOT x`` and ``ROOT f(x)``, where f reads x while it writes its result, which lies
    elsewhere: so does that of the other branch, which copies x. After: ``ROOT copy(f(x))``; both lie where x does.
    """
    if not any(instruction.opcode == "conditional" for instruction in computation.instructions):
        return computation
    position = {instruction: number for number, instruction in enumerate(computation.instructions)}
    last = last_reads(computation)
    results = {defining_value(Value(computation.root, leaf)) for leaf in range(len(leaves(computation.shape)))}

    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        if instruction.opcode != "conditional":
            return on_operands(instruction, operands)

        def may_be_written(value: Value) -> bool:
            is_given = is_function and value.instruction.has_trait(GIVEN)
            return not is_given and value not in results and last.get(value, -1) <= position[instruction]

        to_copy: dict[int, set[int]] = {}
        for leaf, branches in branches_beside_updates(instruction, may_be_written):
            for number in branches:
                to_copy.setdefault(number, set()).add(leaf)
        branches = [_with_copies(branch, to_copy.get(number)) for number, branch in enumerate(instruction.called_computations)]
        return on_operands(instruction, operands, _as_attributes(instruction, branches) if to_copy else {})

    return rebuild(computation, transform)


def _as_attributes(conditional: Instruction, branches: list[Computation]) -> dict[str, Any]:
    if conditional.attributes.get("branch_computations"):
        return {"branch_computations": tuple(branches)}
    return dict(zip(("true_computation", "false_computation"), branches, strict=True))


def _with_copied_results(computation: Computation, is_body: bool) -> Computation:
    root = computation.root
    shapes = leaves(root.shape)
    taken: set[Value] = set()
    to_copy: set[int] = set()
    for leaf, shape in enumerate(shapes):
        if shape.rank == 0:
            continue
        value = defining_value(Value(root, leaf))
        if is_body and value == Value(computation.parameters[0], leaf):
            continue
        if value.instruction.has_trait(GIVEN) or value in taken:
            to_copy.add(leaf)
        taken.add(value)
    return _with_copies(computation, to_copy)


def _with_copies(computation: Computation, to_copy: set[int] | None) -> Computation:
    """The computation with copies of these leaves of its result."""
    if not to_copy:
        return computation
    root, added = computation.root, list[Instruction]()
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

"""Prepares a module for buffer assignment: one buffer for each result, one loop or branch for each computation that they run.

Before: ``ROOT tuple(x, x, c)`` with x computed and c a constant. After: ``ROOT tuple(x, copy(x), copy(c))``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..hlo import Computation, Instruction, Module, leaves, make_instruction
from ..hlo.instruction import rebuild
from ..hlo.operation import GIVEN
from .aliasing import Value, defining_value
from .in_place import branches_beside_updates, last_reads, updated_from
from .pass_manager import module_pass
from .traversal import attributes_of_branches, called_functions, on_operands


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
            done = self._functions[computation] = self._part(computation, {}, is_function=True)
        return done

    def _part(self, computation: Computation, wanted: Wanted, is_body: bool = False, is_function: bool = False) -> Computation:
        """``wanted``: the parameters' arrays that results are to be written over."""
        if computation in self._seen:
            computation = _duplicate(computation)
        self._seen.add(computation)
        prepared = self._with_callees(computation, wanted)
        return _with_copied_results(_with_updates_in_branches(prepared, wanted, is_function), is_body)

    def _with_callees(self, computation: Computation, wanted: Wanted) -> Computation:
        def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
            changed: dict[str, Any] = {}
            if instruction.opcode == "call":
                changed["to_apply"] = self.function(instruction.attributes["to_apply"])
            elif instruction.opcode == "while":
                changed["condition"] = self._part(instruction.attributes["condition"], {})
                body = instruction.attributes["body"]
                changed["body"] = self._part(body, _same_places(body), is_body=True)
            elif instruction.opcode == "conditional":
                of_leaves = _wanted_of(instruction, computation, wanted)
                pairs = zip(instruction.called_computations, instruction.operands[1:], strict=True)
                branches = [self._part(branch, _wanted_in_branch(branch, given, of_leaves)) for branch, given in pairs]
                changed = attributes_of_branches(instruction, branches)
            return on_operands(instruction, operands, changed)

        return rebuild(computation, transform)


Wanted = Mapping[int, Value]


def _same_places(body: Computation) -> Wanted:
    """The state of a loop is to stay where it lies."""
    return {leaf: Value(body.parameters[0], leaf) for leaf in range(len(leaves(body.shape)))}


def _wanted_of(instruction: Instruction, computation: Computation, wanted: Wanted) -> Wanted:
    """What leaves of this instruction's result are to be written over, which are results of the computation."""
    results = ((defining_value(Value(computation.root, leaf)), old) for leaf, old in wanted.items())
    return {result.leaf: old for result, old in results if result.instruction is instruction}


def _wanted_in_branch(branch: Computation, given: Instruction, wanted: Wanted) -> Wanted:
    """The same of the results of a branch, which has the operand's arrays as parameters."""
    places: dict[Value, int] = {}
    for leaf in range(len(leaves(given.shape))):
        for value in updated_from(Value(given, leaf)):
            places.setdefault(value, leaf)
    return {leaf: Value(branch.parameters[0], places[old]) for leaf, old in wanted.items() if old in places}


def _duplicate(computation: Computation) -> Computation:
    """The same computation with instructions of its own."""
    copies: dict[Instruction, Instruction] = {}
    for instruction in computation.instructions:
        copies[instruction] = instruction.with_operands(copies[operand] for operand in instruction.operands)
    return Computation(computation.name, tuple(copies.values()), copies[computation.root])


def _with_updates_in_branches(computation: Computation, wanted: Wanted, is_function: bool) -> Computation:
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

        to_copy = branches_beside_updates(instruction, _wanted_of(instruction, computation, wanted), may_be_written)
        branches = [_with_copies(branch, to_copy.get(number)) for number, branch in enumerate(instruction.called_computations)]
        return on_operands(instruction, operands, attributes_of_branches(instruction, branches) if to_copy else None)

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

"""Simplification of conditionals: branches compute what is needed of their result, and take what they need.

What all branches return as they have been given it is read where they have it from.
"""

from __future__ import annotations

from ..hlo import Computation, Instruction, make_instruction, rebuild
from ..hlo.instruction import tuple_of
from .pass_manager import module_pass
from .traversal import attributes_of_branches, of_each_computation, on_operands, users_of
from .tuple_parameter import needed_instructions, on_smaller_tuple


@module_pass("simplify-conditionals")
@of_each_computation()
def simplify_conditionals(computation: Computation) -> Computation:
    """Removes from conditionals what is not read: elements of a tuple result, and elements of a branch's tuple operand."""
    if not any(instruction.opcode == "conditional" for instruction in computation.instructions):
        return computation
    users = users_of(computation)
    given = {
        instruction: found
        for instruction in computation.instructions
        if instruction.opcode == "get-tuple-element" and (found := _given_to_all(instruction)) is not None
    }
    kept_results: dict[Instruction, list[int]] = {}
    rebuilt: dict[Instruction, Instruction] = {}

    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        found = rebuilt[instruction] = rebuilt[given[instruction]] if instruction in given else changed(instruction, operands)
        return found

    def changed(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        if instruction.opcode == "conditional":
            readers = [user for user in users[instruction] if user not in given]
            wanted = None if instruction is computation.root or not readers else _read_elements(readers)
            return _smaller(instruction, operands, wanted, kept_results)
        if instruction.opcode == "get-tuple-element" and operands[0] in kept_results:
            index = kept_results[operands[0]].index(instruction.attributes["index"])
            return make_instruction(
                "get-tuple-element", operands, {"index": index}, name=instruction.name, source=instruction.source
            )
        return on_operands(instruction, operands)

    return rebuild(computation, transform)


def _given_to_all(element: Instruction) -> Instruction | None:
    """What an element of a conditional's result is outside of it, where all branches are given that and return it.

    Before: gte(conditional(p, tuple(a, x), tuple(x, b)), 1), where the branches return (.., x)
    After: x
    """
    (conditional,) = element.operands
    if conditional.opcode != "conditional":
        return None
    found: Instruction | None = None
    for branch, operand in zip(conditional.called_computations, conditional.operands[1:]):
        root, (parameter,) = branch.root, branch.parameters
        if root.opcode != "tuple" or operand.opcode != "tuple":
            return None
        value = root.operands[element.attributes["index"]]
        if value.opcode != "get-tuple-element" or value.operands[0] is not parameter:
            return None
        outer = operand.operands[value.attributes["index"]]
        if found is not None and outer is not found:
            return None
        found = outer
    return found


def _read_elements(users: list[Instruction]) -> list[int] | None:
    """The elements of a tuple that its users read; None where one uses it as a whole."""
    if any(user.opcode != "get-tuple-element" for user in users):
        return None
    return sorted({user.attributes["index"] for user in users})


def _smaller(
    conditional: Instruction,
    operands: tuple[Instruction, ...],
    wanted: list[int] | None,
    kept_results: dict[Instruction, list[int]],
) -> Instruction:
    branches = conditional.called_computations
    if wanted is not None:
        whole = not conditional.shape.is_tuple or len(wanted) == len(conditional.shape.elements)
        if whole or any(branch.root.opcode != "tuple" for branch in branches):
            wanted = None
    results = [_smaller_branch(branch, operand, wanted) for branch, operand in zip(branches, operands[1:])]
    if all(branch is old for (branch, _), old in zip(results, branches)):
        return on_operands(conditional, operands)
    attributes = attributes_of_branches(conditional, [branch for branch, _ in results])
    made = make_instruction(
        "conditional", (operands[0], *(operand for _, operand in results)), attributes,
        name=conditional.name, source=conditional.source, annotations=conditional.annotations,
    )  # fmt: skip
    if wanted is not None:
        kept_results[made] = wanted
    return made


def _smaller_branch(branch: Computation, operand: Instruction, wanted: list[int] | None) -> tuple[Computation, Instruction]:
    """The branch, with these elements of its result, and its operand, without the elements that it does not read."""
    root = branch.root
    if wanted is not None:
        root = make_instruction("tuple", [root.operands[index] for index in wanted], source=root.source)
    (parameter,) = branch.parameters
    if not parameter.shape.is_tuple or root is parameter:
        return _with_root(branch, root), operand
    needed = needed_instructions(branch, root)
    inside = [instruction for instruction in branch.instructions if instruction in needed]
    read = _read_elements([instruction for instruction in (*inside, root) if parameter in instruction.operands])
    if read is None or len(read) == len(parameter.shape.elements):
        return _with_root(branch, root), operand
    elements = [make_instruction("get-tuple-element", (operand,), {"index": index}, source=operand.source) for index in read]
    smaller = make_instruction("tuple", elements, source=operand.source)
    position = {old: new for new, old in enumerate(read)}
    return on_smaller_tuple(branch, tuple_of(elements), position, root), smaller


def _with_root(branch: Computation, root: Instruction) -> Computation:
    return branch if root is branch.root else Computation(branch.name, (*branch.instructions, root), root)

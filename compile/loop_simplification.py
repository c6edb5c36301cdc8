"""Simplification of while loops: their state is what changes and is needed, nothing else."""

from __future__ import annotations

from ..hlo import Computation, Instruction, make_instruction, rebuild
from ..hlo.instruction import tuple_of
from .carried_sizes import annotations_with_fewer
from .pass_manager import module_pass
from .traversal import has_effects, is_scalar_constant, of_each_computation, on_operands, users_of
from .trip_count import loop_invariant_elements
from .tuple_parameter import on_smaller_tuple


@module_pass("simplify-loops")
@of_each_computation()
def simplify_loops(computation: Computation) -> Computation:
    """Removes from the state of while loops what never changes or is not needed.

    An element that the body hands on unchanged is, outside the loop, its initial value, and inside, where that is a constant,
    the constant. An element on which neither the condition nor a needed result depends is removed.
    """
    if not any(instruction.opcode == "while" for instruction in computation.instructions):
        return computation
    return _without_dead_elements(_without_invariant_results(computation))


# --- elements that never change ---


def _without_invariant_results(computation: Computation) -> Computation:
    invariant: dict[Instruction, set[int]] = {}

    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        opcode = instruction.opcode
        if opcode == "while" and operands[0].opcode == "tuple":
            result = _with_constants_handed_on(on_operands(instruction, operands))
            elements = loop_invariant_elements(result)
            if elements:
                result = _with_constants_inside(result, elements)
                invariant[result] = elements
            return result
        if opcode == "get-tuple-element" and instruction.attributes["index"] in invariant.get(operands[0], ()):
            return operands[0].operands[0].operands[instruction.attributes["index"]]
        return on_operands(instruction, operands)

    return rebuild(computation, transform)


def _with_constants_handed_on(loop: Instruction) -> Instruction:
    """What begins as the constant that each round gives it is handed on by each round."""
    init, body = loop.operands[0], loop.attributes["body"]
    if body.root.opcode != "tuple":
        return loop
    elements, added = list(body.root.operands), []
    for index, (first, element) in enumerate(zip(init.operands, elements)):
        if is_scalar_constant(first) and is_scalar_constant(element):
            if first.attributes["literal"].tobytes() == element.attributes["literal"].tobytes():
                elements[index] = make_instruction("get-tuple-element", (body.parameters[0],), {"index": index})
                added.append(elements[index])
    if not added:
        return loop
    root = body.root.with_operands(elements)
    others = [instruction for instruction in body.instructions if instruction is not body.root]
    return loop.with_operands(loop.operands, body=Computation(body.name, (*others, *added, root), root))


def _with_constants_inside(loop: Instruction, invariant: set[int]) -> Instruction:
    init = loop.operands[0]
    constants = {index: init.operands[index] for index in invariant if is_cheap_constant(init.operands[index])}
    if not constants:
        return loop

    def with_constants(computation: Computation, keep_root: bool) -> Computation:
        inside: dict[int, Instruction] = {}

        def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
            if instruction.opcode == "get-tuple-element" and operands[0].opcode == "parameter":
                index = instruction.attributes["index"]
                if index in constants:
                    return inside.setdefault(index, _copied(constants[index]))
            return on_operands(instruction, operands)

        changed = rebuild(computation, transform)
        if changed is computation or not keep_root:
            return changed
        # The result still hands the element on, so that it stays recognisable as invariant.
        root = changed.root
        parameter = computation.parameters[0]
        kept = [
            make_instruction("get-tuple-element", (parameter,), {"index": index}) if index in constants else operand
            for index, operand in enumerate(root.operands)
        ]
        new_root = root.with_operands(kept)
        others = tuple(instruction for instruction in changed.instructions if instruction is not root)
        added = tuple(instruction for instruction in kept if instruction not in set(others))
        return Computation(computation.name, (*others, *added, new_root), new_root)

    if not any(_reads(loop.attributes[name], constants) for name in ("condition", "body")):
        return loop
    return loop.with_operands(
        loop.operands,
        condition=with_constants(loop.attributes["condition"], False),
        body=with_constants(loop.attributes["body"], True),
    )


def _copied(instruction: Instruction) -> Instruction:
    """The same as a new instruction, which can stand in another computation."""
    return instruction.with_operands(map(_copied, instruction.operands))


def _reads(computation: Computation, indices: dict[int, Instruction]) -> bool:
    """Whether the computation uses one of these elements other than to hand it on."""
    for instruction in computation.instructions:
        for position, operand in enumerate(instruction.operands):
            if operand.opcode != "get-tuple-element" or operand.operands[0].opcode != "parameter":
                continue
            index = operand.attributes["index"]
            if index in indices and not (instruction is computation.root and position == index):
                return True
    return False


def is_cheap_constant(instruction: Instruction) -> bool:
    """A scalar constant, or a broadcast of one."""
    return is_scalar_constant(instruction.operands[0] if instruction.opcode == "broadcast" else instruction)


# --- elements that nobody needs ---


def _without_dead_elements(computation: Computation) -> Computation:
    users = users_of(computation)
    smaller: dict[Instruction, tuple[Instruction, dict[int, int]]] = {}

    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        opcode = instruction.opcode
        if opcode == "while":
            return _smaller_loop(instruction, operands, users[instruction], computation.root, smaller)
        if opcode == "get-tuple-element" and operands[0] in smaller:
            loop, position = smaller[operands[0]]
            index = position[instruction.attributes["index"]]
            return make_instruction(
                "get-tuple-element", (loop,), {"index": index}, name=instruction.name, source=instruction.source
            )
        return on_operands(instruction, operands)

    return rebuild(computation, transform)


def _smaller_loop(
    loop: Instruction,
    operands: tuple[Instruction, ...],
    users: list[Instruction],
    root: Instruction,
    smaller: dict[Instruction, tuple[Instruction, dict[int, int]]],
) -> Instruction:
    current = on_operands(loop, operands)
    condition, body = loop.attributes["condition"], loop.attributes["body"]
    known_form = loop is not root and body.root.opcode == "tuple" and operands[0].opcode == "tuple"
    if not known_form or any(user.opcode != "get-tuple-element" for user in users):
        return current
    needed = _needed_elements(condition, body, {user.attributes["index"] for user in users})
    if not needed or len(needed) == len(body.root.operands):
        return current
    kept = sorted(needed)
    position = {old: new for new, old in enumerate(kept)}
    elements = [operands[0].operands[index] for index in kept]
    init, shape = make_instruction("tuple", elements, source=loop.source), tuple_of(elements)
    new_condition = on_smaller_tuple(condition, shape, position, condition.root)
    results = make_instruction("tuple", [body.root.operands[index] for index in kept], source=body.root.source)
    new_body = on_smaller_tuple(body, shape, position, results)
    attributes = {"condition": new_condition, "body": new_body}
    annotations = annotations_with_fewer(loop, position)
    result = make_instruction("while", (init,), attributes, name=loop.name, source=loop.source, annotations=annotations)
    smaller[result] = result, position
    return result


def _needed_elements(condition: Computation, body: Computation, outside: set[int]) -> set[int] | None:
    """The state's elements on which these, the condition or an effect depend; None where the state is also used as a whole."""
    needed: set[int] = set()
    seen: set[Instruction] = set()
    pending: list[Instruction] = [condition.root]
    for computation in (condition, body):
        pending += [instruction for instruction in computation.instructions if has_effects(instruction)]

    def need(index: int) -> None:
        if index not in needed:
            needed.add(index)
            pending.append(body.root.operands[index])

    for index in outside:
        need(index)
    while pending:
        instruction = pending.pop()
        if instruction in seen:
            continue
        seen.add(instruction)
        opcode = instruction.opcode
        if opcode == "parameter":
            return None
        if opcode == "get-tuple-element" and instruction.operands[0].opcode == "parameter":
            need(instruction.attributes["index"])
        else:
            pending.extend(instruction.operands)
    return needed

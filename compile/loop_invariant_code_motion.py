"""Loop-invariant code motion: what a while loop computes alike in every round is computed once, before it."""

from __future__ import annotations

from ..hlo import Computation, Instruction
from ..hlo.instruction import callees_first
from ..hlo.operation import CALLS, ELEMENTWISE
from .loop_state import is_state, with_loops_replaced, with_more_state
from .pass_manager import module_pass
from .traversal import has_effects, of_each_computation
from .trip_count import known_trip_count, loop_invariant_elements

# So many cheap elementwise operations on arrays are worth one array read in every round.
_ENOUGH_CHEAP_OPERATIONS = 4


@module_pass("hoist-loop-invariants")
@of_each_computation()
def hoist_loop_invariants(computation: Computation) -> Computation:
    """Moves loop-invariant computation out of while bodies, where it costs more than reading its result in every round.

    The results become new elements of the state. Invariant is what depends on constants and on state that the body hands on
    unchanged. A loop that never runs computes it in vain, but to no harm: operations have no faults, and what has effects
    stays, as does a loop inside that may not end.
    """
    return with_loops_replaced(computation, _hoisted)


def _hoisted(loop: Instruction) -> Instruction | None:
    body, init = loop.attributes["body"], loop.operands[0]
    unchanging = loop_invariant_elements(loop)
    if init.opcode != "tuple" or body.root.opcode != "tuple":
        return None
    invariant, costs = _invariant_instructions(body, unchanging)
    moved = _worth_moving(body, invariant, costs)
    if not moved:
        return None
    outside: dict[Instruction, Instruction] = {}
    for instruction in body.instructions:
        if instruction not in invariant:
            continue
        if is_state(instruction):
            outside[instruction] = init.operands[instruction.attributes["index"]]
        else:
            outside[instruction] = instruction.with_operands([outside[operand] for operand in instruction.operands])
    replacements = {one: lambda elements, operands, number=number: elements[number] for number, one in enumerate(moved)}
    return with_more_state(loop, [outside[instruction] for instruction in moved], replacements)


def _invariant_instructions(body: Computation, unchanging: set[int]) -> tuple[set[Instruction], dict[Instruction, int]]:
    """What never changes in the body, and how much computing it costs, in cheap elementwise operations."""
    invariant: set[Instruction] = set()
    costs: dict[Instruction, int] = {}
    for instruction in body.instructions:
        opcode = instruction.opcode
        if is_state(instruction):
            if instruction.attributes["index"] in unchanging:
                invariant.add(instruction)
                costs[instruction] = 0
            continue
        if opcode == "parameter" or not all(operand in invariant for operand in instruction.operands):
            continue
        if has_effects(instruction) or _may_run_for_ever(instruction):
            continue
        invariant.add(instruction)
        below = sum(costs[operand] for operand in instruction.operands)
        costs[instruction] = min(_own_cost(instruction) + below, _ENOUGH_CHEAP_OPERATIONS)
    return invariant, costs


def _may_run_for_ever(instruction: Instruction) -> bool:
    """Whether it is, or runs, a loop of which the number of rounds is not known."""
    if CALLS not in instruction.operation.traits:
        return False
    inside = {c for called in instruction.called_computations for c in callees_first(called)}
    loops = [inner for computation in inside for inner in computation.instructions if inner.opcode == "while"]
    loops += [instruction] if instruction.opcode == "while" else []
    return any(known_trip_count(loop) is None for loop in loops)


def _own_cost(instruction: Instruction) -> int:
    cost = instruction.operation.cost
    if _is_free(instruction):
        return 0
    if ELEMENTWISE in instruction.operation.traits and cost < _ENOUGH_CHEAP_OPERATIONS:
        return 1 if not instruction.shape.is_tuple and instruction.shape.dimensions else 0
    return _ENOUGH_CHEAP_OPERATIONS


def _is_free(instruction: Instruction) -> bool:
    """Whether it is index arithmetic or an alias: never moved for its own sake, since reading the result costs more."""
    cost = instruction.operation.cost
    return cost is not None and cost < 1


def _worth_moving(body: Computation, invariant: set[Instruction], costs: dict[Instruction, int]) -> list[Instruction]:
    """The invariant instructions that the changing part of the body uses, through free ones if need be, and that are
    expensive."""
    wanted: dict[Instruction, None] = {}
    seen: set[Instruction] = set()
    pending = [
        operand
        for instruction in body.instructions
        if instruction not in invariant
        for operand in instruction.operands
        if operand in invariant
    ]
    while pending:
        instruction = pending.pop()
        if instruction in seen or costs[instruction] < _ENOUGH_CHEAP_OPERATIONS:
            continue
        seen.add(instruction)
        if _is_free(instruction) or instruction.shape.is_tuple:
            pending.extend(instruction.operands)
        else:
            wanted[instruction] = None
    order = {instruction: number for number, instruction in enumerate(body.instructions)}
    return sorted(wanted, key=order.__getitem__)

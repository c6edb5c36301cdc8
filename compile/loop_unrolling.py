"""Short loops over arrays as straight code, so that all their rounds run in one loop nest."""

from __future__ import annotations

from ..hlo import Computation, Instruction, leaves
from ..hlo.operation import DATA_MOVEMENT, ELEMENTWISE, GIVEN, TUPLING
from .fusion_policy import FusionPolicy
from .inlining import inlined
from .loop_state import with_loops_replaced
from .pass_manager import Pass
from .traversal import has_effects, of_each_computation
from .trip_count import known_trip_count

_MOST_ROUNDS = 8
_MOST_INSTRUCTIONS = 512  # of all rounds together
_SMALL = 64  # elements; whatever happens to fewer takes no time


def unrolling_pass(policy: FusionPolicy) -> Pass:
    """The pass ``unroll-loops`` for a backend that fuses so."""

    @of_each_computation()
    def unroll_loops(computation: Computation) -> Computation:
        """Replaces a loop of a few rounds, whose body does nothing but elementwise work on arrays, by its rounds.

        A round in a loop reads and writes its state in memory; unrolled, the rounds become one fusion that keeps it in
        registers.
        """
        return _unroll(computation, policy)

    return Pass("unroll-loops", unroll_loops, is_optional=True)


def _unroll(computation: Computation, policy: FusionPolicy) -> Computation:
    return with_loops_replaced(computation, lambda loop: _unrolled(loop) if _is_worth_it(loop, policy) else None)


def _is_worth_it(loop: Instruction, policy: FusionPolicy) -> bool:
    body, condition = loop.attributes["body"], loop.attributes["condition"]
    if not any(leaf.rank for leaf in leaves(loop.shape)) or any(map(has_effects, condition.instructions)):
        return False
    trip_count = known_trip_count(loop)
    if trip_count is None or trip_count.count > _MOST_ROUNDS:
        return False
    if trip_count.count * len(body.instructions) > _MOST_INSTRUCTIONS:
        return False
    return all(_fuses(instruction, policy) for instruction in body.instructions)


def _fuses(instruction: Instruction, policy: FusionPolicy) -> bool:
    """Whether the instruction becomes part of a fusion with whatever stands before and behind it, or is small."""
    traits = instruction.operation.traits
    if GIVEN in traits or TUPLING in traits:
        return True
    if ELEMENTWISE in traits or instruction.opcode in ("broadcast", "iota"):
        return instruction.shape.is_tuple or not instruction.shape.rank or policy.is_fusible(instruction)
    sizes = (shape.size for value in (instruction, *instruction.operands) for shape in leaves(value.shape))
    return DATA_MOVEMENT in traits and max(sizes) <= _SMALL


def _unrolled(loop: Instruction) -> Instruction:
    state = loop.operands[0]
    for _ in range(known_trip_count(loop).count):
        state = inlined(loop.attributes["body"], (state,))
    return state

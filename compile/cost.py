"""Estimates of what a module costs, read from its HLO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .. import hlo
from ..hlo.operation import CONTROL_FLOW, DATA_MOVEMENT, GIVEN, RENAMES, TRANSCENDENTAL, TUPLING
from .trip_count import known_trip_count


class Cost(NamedTuple):
    """Floating-point operations, transcendental functions, and bytes read from memory or written to it."""

    flops: int
    transcendentals: int
    bytes: int


def cost_analysis(module: hlo.Module) -> dict[str, float]:
    """``flops`` and ``transcendentals`` of one run, and ``bytes accessed`` by the entry's arguments and results.

    What an operation counts its record says (``counting``): an elementwise one a flop for each element, complex or not, a dot
    two for each term, a reduction those of its computation for each element. Loops count once for each iteration where the
    number of iterations can be read from the module, otherwise once; a conditional counts as its most expensive branch.
    docs/gaps.md lists the operations that count nothing.
    """
    flops, transcendentals = _computation_cost(module.entry, {})
    shapes = [*module.entry.parameter_shapes, module.entry.shape]
    return {
        "flops": float(flops),
        "transcendentals": float(transcendentals),
        "bytes accessed": float(sum(leaf.byte_size for shape in shapes for leaf in hlo.leaves(shape))),
    }


def kernel_cost(instructions: Sequence[hlo.Instruction], results: Sequence[hlo.Instruction]) -> Cost:
    """What it costs to compute these instructions in one go: what comes from outside is read, the results are written.

    Where only a part of an array is read, as by a slice, or written, as by an update in place, this part counts.
    """
    known: dict[hlo.Computation, tuple[int, int]] = {}
    costs = [_instruction_cost(one, known) for one in instructions if not one.has_trait(CONTROL_FLOW)]
    inside = {one for one in instructions if not one.has_trait(GIVEN)}
    read: dict[hlo.Instruction, int] = {}
    for one in inside:
        for number, operand in enumerate(one.operands):
            if operand not in inside and not one.has_trait(TUPLING) and not one.has_trait(RENAMES):
                read[operand] = min(_size(operand), read.get(operand, 0) + _bytes_read(one, number))
    moved = sum(read.values()) + sum(map(_bytes_written, results))
    return Cost(sum(flops for flops, _ in costs), sum(transcendentals for _, transcendentals in costs), moved)


def vector_instructions(computation: hlo.Computation) -> float:
    """About how many cheap vector instructions one run takes for each lane, with both sides of branches.

    A loop whose number of rounds is not known counts as one round.
    """
    return sum(map(_vector_instructions_of, computation.instructions))


def _vector_instructions_of(instruction: hlo.Instruction) -> float:
    inside = sum(map(vector_instructions, instruction.called_computations))
    if instruction.opcode == "while":
        trips = known_trip_count(instruction)
        return inside * (1 if trips is None else trips.count)
    if instruction.has_trait(CONTROL_FLOW):
        return inside
    updated = instruction.operation.updated_operand
    written = (instruction,) if updated is None else instruction.operands[updated + 1 :]
    made = max((leaf.size for one in written for leaf in hlo.leaves(one.shape)), default=0)
    read = max((leaf.size for one in instruction.operands for leaf in hlo.leaves(one.shape)), default=0) if inside else 0
    return made * (instruction.operation.cost or 0.0) + read * inside


def _bytes_read(user: hlo.Instruction, number: int) -> int:
    if number == user.operation.updated_operand:
        return 0
    size = _size(user.operands[number])
    return min(size, _size(user)) if user.has_trait(DATA_MOVEMENT) else size


def _bytes_written(result: hlo.Instruction) -> int:
    if result.opcode == "tuple":
        return sum(map(_bytes_written, result.operands))
    updated = result.operation.updated_operand
    if updated is None:
        return _size(result)
    return max(_size(operand) for number, operand in enumerate(result.operands) if number != updated)


def _size(instruction: hlo.Instruction) -> int:
    return sum(leaf.byte_size for leaf in hlo.leaves(instruction.shape))


def _computation_cost(computation: hlo.Computation, known: dict[hlo.Computation, tuple[int, int]]) -> tuple[int, int]:
    found = known.get(computation)
    if found is None:
        costs = [_instruction_cost(instruction, known) for instruction in computation.instructions]
        found = known[computation] = (sum(cost[0] for cost in costs), sum(cost[1] for cost in costs))
    return found


def _instruction_cost(instruction: hlo.Instruction, known: dict[hlo.Computation, tuple[int, int]]) -> tuple[int, int]:
    called = [_computation_cost(computation, known) for computation in instruction.called_computations]
    if instruction.opcode == "conditional":
        return max(called)
    if instruction.opcode == "while":
        known_count = known_trip_count(instruction)
        return _times(called, 1 if known_count is None else known_count.count)
    shapes = tuple([operand.shape for operand in instruction.operands])
    work = instruction.operation.work(shapes, instruction.shape, instruction.attributes) or 0
    if called:
        return _times(called, work)
    return (0, work) if instruction.has_trait(TRANSCENDENTAL) else (work, 0)


def _times(costs: list[tuple[int, int]], count: int) -> tuple[int, int]:
    return count * sum(cost[0] for cost in costs), count * sum(cost[1] for cost in costs)

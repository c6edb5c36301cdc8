"""Estimates of what a module costs, read from its HLO."""

from __future__ import annotations

from ... import hlo
from ...compile.trip_count import known_trip_count
from ...hlo.operation import TRANSCENDENTAL


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

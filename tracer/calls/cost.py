"""Estimates of what a module costs, read from its HLO."""

from __future__ import annotations

from math import prod

from ... import hlo
from ...compile.trip_count import known_trip_count
from ...hlo.operation import ELEMENTWISE

# Operations that only name, move or make data.
_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "reshape", "copy"}


def cost_analysis(module: hlo.Module) -> dict[str, float]:
    """``flops`` and ``transcendentals`` of one run, and ``bytes accessed`` by the entry's arguments and results.

    An elementwise operation counts one flop for each element (complex or not), a dot two for each multiplication and addition,
    a reduction those of its computation for each element. Loops count once for each iteration where the number of iterations
    can be read from the module, otherwise once; a conditional counts as its most expensive branch. Convolutions count two
    flops for each element of the window and input feature.
    """
    flops, transcendentals = _computation_cost(module.entry, {})
    shapes = [*module.entry.parameter_shapes, module.entry.shape]
    return {
        "flops": float(flops),
        "transcendentals": float(transcendentals),
        "bytes accessed": float(sum(leaf.byte_size for shape in shapes for leaf in hlo.leaves(shape))),
    }


_TRANSCENDENTAL = {
    "exponential", "exponential-minus-one", "log", "log-plus-one", "logistic", "tanh", "sine", "cosine", "tan", "sqrt", "rsqrt",
    "cbrt", "power", "atan2", "erf",
}  # fmt: skip


def _computation_cost(computation: hlo.Computation, known: dict[hlo.Computation, tuple[int, int]]) -> tuple[int, int]:
    found = known.get(computation)
    if found is None:
        costs = [_instruction_cost(instruction, known) for instruction in computation.instructions]
        found = known[computation] = (sum(cost[0] for cost in costs), sum(cost[1] for cost in costs))
    return found


def _instruction_cost(instruction: hlo.Instruction, known: dict[hlo.Computation, tuple[int, int]]) -> tuple[int, int]:
    opcode, shape = instruction.opcode, instruction.shape
    if opcode in _FREE:
        return 0, 0
    called = [_computation_cost(computation, known) for computation in instruction.called_computations]
    if opcode == "conditional":
        return max(called)
    if opcode == "while":
        known_count = known_trip_count(instruction)
        return _times(called, 1 if known_count is None else known_count.count)
    if opcode in ("reduce", "reduce-window", "map", "scatter", "select-and-scatter", "sort"):
        elements = prod(instruction.operands[0].shape.dimensions)
        if opcode == "scatter":
            elements = prod(instruction.operands[-1].shape.dimensions)
        return _times(called, elements)
    if called:
        return _times(called, 1)
    elements = sum(leaf.size for leaf in hlo.leaves(shape))
    if opcode == "dot":
        lhs = instruction.operands[0].shape
        contracted = prod(lhs.dimensions[i] for i in instruction.attributes["lhs_contracting_dimensions"])
        return 2 * elements * contracted, 0
    if opcode == "convolution":
        kernel = instruction.operands[1].shape
        return 2 * elements * kernel.size // max(1, _output_features(instruction)), 0
    if opcode in _TRANSCENDENTAL:
        return 0, elements
    return (elements, 0) if instruction.has_trait(ELEMENTWISE) else (0, 0)


def _times(costs: list[tuple[int, int]], count: int) -> tuple[int, int]:
    return count * sum(cost[0] for cost in costs), count * sum(cost[1] for cost in costs)


def _output_features(instruction: hlo.Instruction) -> int:
    numbers = instruction.attributes.get("dim_labels")
    feature = getattr(numbers, "kernel_output_feature_dimension", None)
    return 1 if feature is None else instruction.operands[1].shape.dimensions[feature]

"""Loops and branches of computations on scalars, in registers: what a reduction, a map or a scatter may apply to each element.

They run for one element at a time: the lanes of a vector would go different ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from llvmlite import ir

from ...compile.memo import Memo
from ...hlo import Computation, Instruction
from ...hlo.instruction import callees_first
from ...hlo.operation import CONTROL_FLOW
from .branches import chosen
from .called_computations import holds_arrays
from .loops import while_loop
from .types import RegisterValue

Emit = Callable[[Computation, list], list]  # computation, arguments -> results


def has_control_flow(computations: Iterable[Computation]) -> bool:
    """Whether one of the computations has a while or conditional, or applies what runs for one element at a time."""
    return any(map(_has_control_flow, computations))


_having: Memo[Computation, bool] = Memo()


def _has_control_flow(computation: Computation) -> bool:
    found = _having.get(computation)
    if found is None:
        found = _having[computation] = any(
            instruction.has_trait(CONTROL_FLOW) or any(map(holds_arrays, instruction.called_computations))
            for inside in callees_first(computation)
            for instruction in inside.instructions
        )
    return found


def runs_alone(computations: Iterable[Computation]) -> bool:
    """Whether one of the computations on scalars runs for one element at a time."""
    computations = list(computations)
    return has_control_flow(computations) or any(map(holds_arrays, computations))


def emit_scalar_while(
    builder: ir.IRBuilder, loop: Instruction, initial: RegisterValue | list, emit: Emit
) -> RegisterValue | list:
    """The final state of a while over scalars; ``emit(computation, arguments)`` emits the condition and the body."""
    with while_loop(builder, _leaves(initial), "scalar.while") as open_loop:
        state = _nested(initial, iter(open_loop.values))
        (goes_on,) = emit(loop.attributes["condition"], [state])
        open_loop.leave_unless(goes_on)
        results = emit(loop.attributes["body"], [state])
        open_loop.carry(_leaves(results if isinstance(initial, list) else results[0]))
    return state


def emit_scalar_conditional(
    builder: ir.IRBuilder, conditional: Instruction, operands: Sequence[RegisterValue | list], emit: Emit
) -> RegisterValue | list:
    """The result of the branch that is chosen; only that one runs."""
    selector, *inputs = operands
    results: list[RegisterValue | list] = []

    def run(branch: Computation, value: RegisterValue | list) -> list[RegisterValue]:
        returned = emit(branch, [value])
        results.append(returned if conditional.shape.is_tuple else returned[0])
        return _leaves(results[-1])

    alternatives = [partial(run, *one) for one in zip(conditional.called_computations, inputs)]
    merged = chosen(builder, selector, alternatives, "scalar.branch")
    return _nested(results[0], iter(merged))


def _leaves(value: RegisterValue | list) -> list[RegisterValue]:
    return [leaf for element in value for leaf in _leaves(element)] if isinstance(value, list) else [value]


def _nested(like: RegisterValue | list, leaves) -> RegisterValue | list:
    """The leaves in the nested lists of ``like``."""
    return [_nested(element, leaves) for element in like] if isinstance(like, list) else next(leaves)

"""Loops and branches of computations on scalars, in registers: what a reduction, a map or a scatter may apply to each element.

They run for one element at a time: the lanes of a vector would go different ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from llvmlite import ir

from ...hlo import Computation, Instruction
from ...hlo.instruction import callees_first
from .called_computations import holds_arrays
from .interruption import OpenLoop
from .loops import flatten, unflatten
from .types import I32, RegisterValue

Emit = Callable[[Computation, list], list]  # computation, arguments -> results


def has_control_flow(computations: Iterable[Computation]) -> bool:
    """Whether one of the computations has a while or conditional, or applies what runs for one element at a time."""
    return any(
        instruction.opcode in ("while", "conditional") or any(map(holds_arrays, instruction.called_computations))
        for computation in computations
        for inside in callees_first(computation)
        for instruction in inside.instructions
    )


def runs_alone(computations: Iterable[Computation]) -> bool:
    """Whether one of the computations on scalars runs for one element at a time."""
    computations = list(computations)
    return has_control_flow(computations) or any(map(holds_arrays, computations))


def emit_scalar_while(
    builder: ir.IRBuilder, loop: Instruction, initial: RegisterValue | list, emit: Emit
) -> RegisterValue | list:
    """The final state of a while over scalars; ``emit(computation, arguments)`` emits the condition and the body."""
    b, like = builder, _leaves(initial)
    before = b.block
    head, inside, done = (b.append_basic_block(name) for name in ("scalar.while", "scalar.while.body", "scalar.while.done"))
    b.branch(head)
    b.position_at_end(head)
    phis = [b.phi(register.type) for register in flatten(like)]
    for phi, register in zip(phis, flatten(like)):
        phi.add_incoming(register, before)
    open_loop = OpenLoop(b, before)
    state = _nested(initial, iter(unflatten(phis, like)))
    (goes_on,) = emit(loop.attributes["condition"], [state])
    b.cbranch(goes_on, inside, done)
    b.position_at_end(inside)
    results = emit(loop.attributes["body"], [state])
    following = flatten(_leaves(results if isinstance(initial, list) else results[0]))
    open_loop.close(b, done=done)
    for phi, register in zip(phis, following):
        phi.add_incoming(register, b.block)
    b.branch(head)
    b.position_at_end(done)
    return state


def emit_scalar_conditional(
    builder: ir.IRBuilder, conditional: Instruction, operands: Sequence[RegisterValue | list], emit: Emit
) -> RegisterValue | list:
    """The result of the branch that is chosen; only that one runs."""
    b, branches = builder, conditional.called_computations
    chosen, *inputs = operands
    blocks = [b.append_basic_block("scalar.branch") for _ in branches]
    done = b.append_basic_block("scalar.branch.done")
    branch_to_chosen(b, conditional, chosen, blocks)
    outcomes = []
    for branch, value, block in zip(branches, inputs, blocks):
        b.position_at_end(block)
        results = emit(branch, [value])
        outcomes.append((results if conditional.shape.is_tuple else results[0], b.block))
        b.branch(done)
    b.position_at_end(done)
    like = _leaves(outcomes[0][0])
    phis = [b.phi(register.type) for register in flatten(like)]
    for value, block in outcomes:
        for phi, register in zip(phis, flatten(_leaves(value))):
            phi.add_incoming(register, block)
    return _nested(outcomes[0][0], iter(unflatten(phis, like)))


def branch_to_chosen(builder: ir.IRBuilder, conditional: Instruction, chosen: ir.Value, blocks: list[ir.Block]) -> None:
    """Go on in the block that the predicate or the index chooses: in the last one where the index is out of range."""
    if conditional.operands[0].shape.element_type.kind == "pred":
        builder.cbranch(chosen, *blocks)
        return
    switch = builder.switch(chosen, blocks[-1])
    for number, block in enumerate(blocks[:-1]):
        switch.add_case(I32(number), block)


def _leaves(value: RegisterValue | list) -> list[RegisterValue]:
    return [leaf for element in value for leaf in _leaves(element)] if isinstance(value, list) else [value]


def _nested(like: RegisterValue | list, leaves) -> RegisterValue | list:
    """The leaves in the nested lists of ``like``."""
    return [_nested(element, leaves) for element in like] if isinstance(like, list) else next(leaves)

"""Conditionals: branches of the function that is being emitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...compile.aliasing import Value
from ...hlo import Instruction, leaves
from ..llvm.loops import flatten, unflatten
from ..llvm.scalar_control_flow import branch_to_chosen

if TYPE_CHECKING:
    from .module_emitter import Leaf, ModuleEmitter, Values


def emit_conditional(emitter: ModuleEmitter, instruction: Instruction, values: Values) -> list[Leaf]:
    """A branch for each computation; scalars are merged in registers, arrays lie in the same places whatever is chosen."""
    b = emitter.builder
    predicate, *operands = instruction.operands
    computations = instruction.called_computations
    blocks = [b.append_basic_block(f"branch.{number}") for number in range(len(computations))]
    done = b.append_basic_block("branch.done")
    branch_to_chosen(b, instruction, values[predicate][0], blocks)
    outcomes = []
    for branch, operand, block in zip(computations, operands, blocks):
        b.position_at_end(block)
        outcomes.append((emitter._emit_computation(branch, [values[operand]]), b.block))
        b.branch(done)
    b.position_at_end(done)
    shapes = leaves(instruction.shape)
    scalars = [leaf for leaf, shape in enumerate(shapes) if not shape.rank]
    like = [outcomes[0][0][leaf] for leaf in scalars]
    incoming = [(flatten([results[leaf] for leaf in scalars]), block) for results, block in outcomes]
    phis = [b.phi(value.type) for value in incoming[0][0]]
    for results, block in incoming:
        for phi, value in zip(phis, results):
            phi.add_incoming(value, block)
    merged: list[Leaf] = [None] * len(shapes)
    for leaf, value in zip(scalars, unflatten(phis, like)):
        merged[leaf] = value
    for leaf, shape in enumerate(shapes):
        if shape.rank:
            merged[leaf] = emitter._array(Value(instruction, leaf), shape)
    return merged

"""Conditionals: branches of the function that is being emitted."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ...compile.aliasing import Value
from ...hlo import Computation, Instruction, leaves
from ..llvm.branches import chosen
from ..llvm.types import RegisterValue

if TYPE_CHECKING:
    from .module_emitter import Leaf, ModuleEmitter, Values


def emit_conditional(emitter: ModuleEmitter, instruction: Instruction, values: Values) -> list[Leaf]:
    """A branch for each computation; scalars are merged in registers, arrays lie in the same places whatever is chosen."""
    selector, *operands = instruction.operands
    shapes = leaves(instruction.shape)
    scalars = [leaf for leaf, shape in enumerate(shapes) if not shape.rank]

    def run(branch: Computation, operand: Instruction) -> list[RegisterValue]:
        results = emitter._emit_computation(branch, [values[operand]])
        return [results[leaf] for leaf in scalars]

    alternatives = [partial(run, *one) for one in zip(instruction.called_computations, operands)]
    merged: list[Leaf] = [None] * len(shapes)
    for leaf, value in zip(scalars, chosen(emitter.builder, values[selector][0], alternatives)):
        merged[leaf] = value
    for leaf, shape in enumerate(shapes):
        if shape.rank:
            merged[leaf] = emitter._array(Value(instruction, leaf), shape)
    return merged

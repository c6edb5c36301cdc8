"""What passes ask a backend about fusions: which operations fuse, and the limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..hlo import Instruction
from ..hlo.operation import DATA_MOVEMENT, ELEMENTWISE


@dataclass(frozen=True)
class FusionPolicy:
    """A backend's taste in fusions.

    ``is_fusible`` says whether an instruction's elements can be computed inside another loop nest, each from its index;
    ``is_hero`` whether an instruction, a reduction, scan or scatter, gives a loop nest its form, in which the elements of its
    operands are computed; ``may_stand_in(instruction, root)`` whether the root's loop nest may compute the instruction;
    ``shares_loops`` whether a result of a loop nest may have other results of the same dimensions beside it.

    ``maximum_cost_in_scatter(scatter)`` bounds what an element of a scatter's indices and updates may cost, with all below it.

    ``has_epilogue`` says whether the code of an instruction outside of loops, as a product, may compute of its elements what is
    stored instead of them: where several loops need that, it is, rather than computed in each.

    ``recomputation_budget`` bounds what computing a value more often than once may cost for each of its elements, in cheap
    vector instructions: about what writing it to memory and reading it back would cost. Where an element costs no more than
    that, all of them together may cost ``cost_of_loop``: that of another loop nest. ``maximum_paths`` bounds how many
    times the code of one instruction is emitted. The other limits hold for one fusion; those of scans are narrower, since the
    nest of a scan holds its elements' code once for each lane, or computes them one by one. ``place_evaluations(gather)`` says
    how often the place that a gather reads is computed for each of its elements. ``writes_parts`` says whether a nest that
    selects between what it computes and what lies where it writes goes over the former alone.
    """

    is_fusible: Callable[[Instruction], bool]
    is_hero: Callable[[Instruction], bool]
    may_stand_in: Callable[[Instruction, Instruction], bool]
    shares_loops: Callable[[Instruction], bool]
    recomputation_budget: float
    maximum_paths: int
    maximum_instructions: int
    maximum_instructions_of_scan: int
    maximum_cost_in_scan: float
    maximum_cost_in_scatter: Callable[[Instruction], float]
    maximum_operands_and_results: int
    place_evaluations: Callable[[Instruction], float] = lambda gather: 1.0
    cost_of_loop: float = 0.0
    writes_parts: bool = False
    has_epilogue: Callable[[Instruction], bool] = lambda instruction: False

    def instruction_limit(self, root: Instruction) -> int:
        """How many instructions the fusion with this root may hold."""
        return self.maximum_instructions_of_scan if root.opcode == "scan" else self.maximum_instructions

    def nest_size(self, instruction: Instruction) -> int:
        """How many elements the loop nest of an instruction computes: of a hero, its largest operand's, but what it updates."""
        if self.is_hero(instruction):
            updated = instruction.operation.updated_operand
            return max(operand.shape.size for number, operand in enumerate(instruction.operands) if number != updated)
        return instruction.shape.size


def is_fusible(instruction: Instruction) -> bool:
    """Whether the elements of an array are found from their indices alone: inside of another's loop nest, too."""
    shape = instruction.shape
    if shape.is_tuple or not shape.dimensions or shape.dynamic_dimensions:
        return False
    if ELEMENTWISE in instruction.operation.traits:
        return True
    opcode = instruction.opcode
    if opcode == "reshape":  # any other is free as a second name of a buffer
        return is_degenerate_reshape(instruction)
    if opcode == "bitcast-convert":
        return instruction.operands[0].shape.dimensions == shape.dimensions
    return DATA_MOVEMENT in instruction.operation.traits and instruction.operation.updated_operand is None


def is_degenerate_reshape(instruction: Instruction) -> bool:
    """Whether a reshape only adds or removes dimensions of size 1."""
    before, after = instruction.operands[0].shape.dimensions, instruction.shape.dimensions
    return [size for size in before if size != 1] == [size for size in after if size != 1]

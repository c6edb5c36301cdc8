"""What the fusion pass weighs: which operations fuse, what computing one of their elements costs, and the limits."""

from __future__ import annotations

from dataclasses import dataclass

from ..hlo import Instruction
from ..hlo.operation import DATA_MOVEMENT, ELEMENTWISE
from .scan_steps import elementwise_step

# A concatenate of more operands is one of concatenates: each operand has loops of its own in one native function.
MOST_CONCATENATED = 128


@dataclass(frozen=True)
class FusionPolicy:
    """A backend's taste in fusions.

    ``recomputation_budget`` bounds what computing a value more often than once may cost for each of its elements, in cheap
    vector instructions: about what writing it to memory and reading it back would cost. ``maximum_paths`` bounds how many
    times the code of one instruction is emitted. The other limits hold for one fusion; those of scans are narrower, since the
    nest of a scan holds its elements' code once for each lane, or computes them one by one.
    """

    recomputation_budget: float = 8.0
    maximum_paths: int = 8
    maximum_instructions: int = 200
    maximum_instructions_of_scan: int = 16
    maximum_cost_in_scan: float = 10.0
    maximum_operands_and_results: int = 24
    multi_output: bool = True

    def is_fusible(self, instruction: Instruction) -> bool:
        """Whether the instruction's elements can be computed inside another loop nest, each from its index."""
        shape = instruction.shape
        if shape.is_tuple or not shape.dimensions or shape.dynamic_dimensions:
            return False
        if ELEMENTWISE in instruction.operation.traits:
            return True
        opcode = instruction.opcode
        if opcode == "reshape":
            return is_degenerate_reshape(instruction)
        if opcode == "bitcast-convert":
            return instruction.operands[0].shape.dimensions == shape.dimensions
        return DATA_MOVEMENT in instruction.operation.traits and instruction.operation.updated_operand is None

    def instruction_limit(self, root: Instruction) -> int:
        """How many instructions the fusion with this root may hold."""
        return self.maximum_instructions_of_scan if root.opcode == "scan" else self.maximum_instructions

    def may_stand_in(self, instruction: Instruction, root: Instruction) -> bool:
        """Whether the root's loop nest may compute the instruction."""
        if root.opcode != "scan":
            return True
        if instruction.opcode == "transpose":
            # The nest turns tiles where the scanned dimension, or the last one of the operand, becomes the last one.
            last = instruction.shape.rank - 1
            across = instruction.attributes["dimensions"].index(last)
            return across == last or root.attributes["dimensions"][0] in (across, last)
        return self.cost(instruction) <= self.maximum_cost_in_scan

    def cost(self, instruction: Instruction) -> float:
        """The cost of one element, its operands' elements given."""
        return instruction.operation.cost


def is_hero(instruction: Instruction) -> bool:
    """Whether the instruction gives a loop nest its form, in which its operands' elements are computed."""
    return instruction.opcode == "reduce" or instruction.opcode == "scan" and elementwise_step(instruction) is not None


def nest_size(instruction: Instruction) -> int:
    """How many elements the loop nest of an instruction computes: of a hero's, its largest operand's."""
    return max(operand.shape.size for operand in instruction.operands) if is_hero(instruction) else instruction.shape.size


def is_degenerate_reshape(instruction: Instruction) -> bool:
    """Whether a reshape only adds or removes dimensions of size 1."""
    before, after = instruction.operands[0].shape.dimensions, instruction.shape.dimensions
    return [size for size in before if size != 1] == [size for size in after if size != 1]

"""What the fusion pass weighs: which operations fuse, what computing one of their elements costs, and the limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..hlo import Instruction
from ..hlo.operation import ELEMENTWISE
from .loop_invariant_code_motion import EXPENSIVE

# Operations whose elements are found by index arithmetic, in any loop nest. A reshape is one only where it adds or removes
# dimensions of size 1; any other reshape is free as a second name of a buffer.
_INDEXED = frozenset({"broadcast", "iota", "transpose", "slice", "pad", "reverse", "concatenate", "dynamic-slice", "gather"})

# A concatenate of more operands is one of concatenates: each operand has loops of its own in one native function.
MOST_CONCATENATED = 128

# The cost of one element, in cheap vector instructions. Elementwise operations that are not listed cost 1.
COSTS: Mapping[str, float] = {
    **{opcode: 20.0 for opcode in EXPENSIVE},
    "divide": 6.0, "sqrt": 6.0, "remainder": 10.0, "rsqrt": 10.0,
    "broadcast": 0.0, "reshape": 0.0, "slice": 0.0, "dynamic-slice": 0.0, "bitcast-convert": 0.0,
    "iota": 0.5, "transpose": 1.0, "reverse": 1.0, "concatenate": 3.0, "pad": 3.0, "gather": 6.0,
}  # fmt: skip


@dataclass(frozen=True)
class FusionPolicy:
    """A backend's taste in fusions.

    ``recomputation_budget`` bounds what computing a value more often than once may cost for each of its elements, in cheap
    vector instructions: about what writing it to memory and reading it back would cost. ``maximum_paths`` bounds how many
    times the code of one instruction is emitted. The other limits hold for one fusion.
    """

    recomputation_budget: float = 8.0
    maximum_paths: int = 8
    maximum_instructions: int = 200
    maximum_operands_and_results: int = 24
    multi_output: bool = True
    costs: Mapping[str, float] = field(default_factory=lambda: COSTS)

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
        return opcode in _INDEXED

    def cost(self, instruction: Instruction) -> float:
        """The cost of one element, its operands' elements given."""
        return self.costs.get(instruction.opcode, 1.0)


def is_degenerate_reshape(instruction: Instruction) -> bool:
    """Whether a reshape only adds or removes dimensions of size 1."""
    before, after = instruction.operands[0].shape.dimensions, instruction.shape.dimensions
    return [size for size in before if size != 1] == [size for size in after if size != 1]

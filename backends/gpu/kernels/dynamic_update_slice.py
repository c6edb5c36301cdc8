"""Updates of a block of an array: threads compute the block alone, where it lies."""

from __future__ import annotations

from ....compile.fused_computations import as_computation
from ....hlo import Computation, Instruction, make_instruction
from ..emitter_table import emits
from ..frame import Frame
from ..values import Known, Leaf, Values
from .loop import launch_loop


@emits("dynamic-update-slice")
def dynamic_update_slice(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    operand, update, *starts = instruction.operands
    output = frame.updated(instruction, 0, operand, values)
    copied = make_instruction("copy", (update,), {}, update.shape, source=instruction.source)
    launch_loop(frame, copied, as_computation(copied), values, [output], [values[start][0] for start in starts])
    return [output]


def emit_update(frame: Frame, instruction: Instruction, update: Instruction, values: Values) -> list[Leaf]:
    """A fusion that computes a block of an array where it lies, and ends with this update."""
    computation, operands = instruction.attributes["calls"], instruction.operands
    array, block, *starts = update.operands
    before = operands[array.attributes["number"]]
    output = frame.updated(instruction, 0, before, values)
    origin = [
        Known(start) if start.opcode == "constant" else values[operands[start.attributes["number"]]][0] for start in starts
    ]
    rest = tuple([one for one in computation.instructions if one is not update])
    # What is read of the array is there, too: an argument that was copied is not needed any more.
    given = {**{operand: values[operand] for operand in operands}, before: [output]}
    launch_loop(frame, instruction, Computation(computation.name, rest, block), given, [output], origin)
    return [output]

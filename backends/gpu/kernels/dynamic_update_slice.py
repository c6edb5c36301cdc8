"""Updates of a block of an array: threads compute the block alone, where it lies."""

from __future__ import annotations

from ....compile.fused_computations import as_computation
from ....hlo import Instruction, make_instruction
from ..emitter_table import emits
from ..frame import Frame, Leaf, Values
from .loop import launch_loop


@emits("dynamic-update-slice")
def dynamic_update_slice(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    operand, update, *starts = instruction.operands
    output = frame.updated(instruction, 0, operand, values)
    copied = make_instruction("copy", (update,), {}, update.shape, source=instruction.source)
    launch_loop(frame, copied, as_computation(copied), values, [output], [values[start][0] for start in starts])
    return [output]

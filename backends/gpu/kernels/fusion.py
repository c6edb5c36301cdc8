"""Fusions: their kind, and the hero among what is computed, give the kernel its form."""

from __future__ import annotations

from ....compile.fused_computations import result_roots
from ....compile.in_place import update_of
from ....hlo import Instruction
from ..alike_fusion import members_of
from ..emitter_table import emits, scratch_bytes
from ..epilogue_form import EPILOGUE
from ..frame import ALIGNMENT, Frame
from ..operations import scalars
from ..row_fusion import ROWS
from ..values import Leaf, Values
from .contraction import emit_product_with_epilogue, scratch_of_fusion
from .dynamic_update_slice import emit_update
from .loop import emit_loop
from .reduction import emit_reduction, scratch_of_reduction
from .rows import emit_rows


def _scratch(instruction: Instruction) -> int:
    kind = instruction.attributes["kind"]
    if kind == EPILOGUE:
        return scratch_of_fusion(instruction)
    if members := members_of(instruction.attributes["calls"]):
        return sum([-(-scratch_bytes(member) // ALIGNMENT) * ALIGNMENT for member in members])
    return 0 if kind == ROWS else scratch_of_reduction(instruction)


@emits("fusion", scratch=_scratch)
def fusion(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """A fused computation."""
    kind, computation = instruction.attributes["kind"], instruction.attributes["calls"]
    if kind == EPILOGUE:
        return emit_product_with_epilogue(frame, instruction, values)
    if members := members_of(computation):
        known = {parameter: values[operand] for parameter, operand in zip(computation.parameters, instruction.operands)}
        return frame.launch_together(instruction, [(member, scratch_bytes(member)) for member in members], known)
    if kind == ROWS:
        return emit_rows(frame, instruction, computation, values)
    if kind == "kInput":
        return emit_reduction(frame, instruction, computation, values)
    if (update := update_of(instruction)) is not None:
        return emit_update(frame, instruction, update, values)
    roots = result_roots(computation)
    if roots[0].shape.rank == 0:
        return scalars(frame, instruction, computation, values)
    return emit_loop(frame, instruction, computation, values)

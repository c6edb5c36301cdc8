"""What devices that are processors compute as the CPU backend does (`processor_frame`): all that has loop nests of its own."""

from __future__ import annotations

from functools import partial

from ....compile.fused_computations import as_computation
from ....hlo import Instruction
from ....hlo.ops.known_calls import COMPRESS
from ...cpu import emitter_table as processors
from ...cpu import regions  # noqa: F401  (importing them fills the table)
from ...cpu.nests import OWN_BYTES
from ...cpu.region_functions import most_pieces
from ...cpu.regions.compaction import compaction
from ...cpu.work_estimate import nanoseconds
from ..emitter_table import ON_PROCESSORS, ProcessorForm
from ..frame import Frame
from ..processor_frame import MOST_PIECES, ProcessorFrame, is_shared, stored
from ..values import Leaf, Values


def scratch_on_processor(instruction: Instruction) -> int:
    """What the CPU backend asks for, and what each piece has for itself, unless that is its block's."""
    own = OWN_BYTES[instruction.opcode](instruction) if instruction.opcode in OWN_BYTES else 0
    pieces = 1 if is_shared(own) else min(MOST_PIECES, most_pieces(nanoseconds(as_computation(instruction))))
    return processors.scratch_bytes(instruction) + own * (pieces - 1)


def emit_on_processor(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """Let the CPU backend emit the instruction."""
    return _emitted(processors.emitter_of(instruction), frame, instruction, values)


def _emitted(emit: processors.Emitter, frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    inside = ProcessorFrame(frame, values)
    given = {operand: inside.arrays(values[operand]) for operand in instruction.operands}
    return list(map(stored, emit(inside, instruction, given)))


def _is_selection(instruction: Instruction) -> bool:
    return instruction.attributes["custom_call_target"] == COMPRESS


OPCODES = (*OWN_BYTES, "scan", "scatter")
for _opcode in OPCODES:
    ON_PROCESSORS[_opcode] = ProcessorForm(emit_on_processor, processors.has_code, scratch_on_processor)
ON_PROCESSORS["custom-call"] = ProcessorForm(partial(_emitted, compaction), _is_selection, lambda instruction: 0)

"""The memory that instructions need for themselves while they run."""

from __future__ import annotations

from collections.abc import Callable

from ...hlo import Instruction
from .regions import contraction, convolution, fourier, sort

_SCRATCH_BYTES: dict[str, Callable[[Instruction], int]] = {
    "convolution": convolution.scratch_bytes,
    "dot": contraction.scratch_bytes,
    "fft": fourier.scratch_bytes,
    "sort": sort.scratch_bytes,
}


def scratch_bytes(instruction: Instruction) -> int:
    own = _SCRATCH_BYTES.get(instruction.opcode)
    return 0 if own is None else own(instruction)

"""What no backend runs, though programs may say it."""

from __future__ import annotations

from .. import hlo
from ..hlo.operation import KEPT
from ..hlo.shape import has_dynamic_dimensions


def require_runnable(module: hlo.Module) -> None:
    """Raise NotImplementedError, naming the instruction, for shapes that no backend runs.

    These are arrays of unknown size, buffers, and dynamic dimensions in operations that only keep them.
    """
    for computation in module.computations():
        for instruction in computation.instructions:
            shape = instruction.shape
            if instruction.operation.dynamic == KEPT:
                shapes = (shape, *(operand.shape for operand in instruction.operands))
                if any(map(has_dynamic_dimensions, shapes)):
                    raise NotImplementedError(
                        f"{instruction.opcode} of dynamic dimensions is not implemented: {instruction!r}{_origin(instruction)}"
                    )
            if instruction.opcode in ("parameter", "custom-call") and not all(leaf.has_size for leaf in hlo.leaves(shape)):
                raise NotImplementedError(
                    f"arrays of unknown size and buffers are not implemented: {instruction!r}{_origin(instruction)}"
                )


def _origin(instruction: hlo.Instruction) -> str:
    return f" (from {instruction.source})" if instruction.source else ""

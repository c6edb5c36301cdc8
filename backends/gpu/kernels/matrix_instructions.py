"""Instructions for products of small matrices by the threads that run in step, whichever family they are of.

Those of NVIDIA are in `warp_instructions`, those of AMD in `wave_instructions`: what they are called, and which elements of the
operands a lane holds. Which sums a lane holds is known here, for what stores these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from ....hlo import F32, F64, S32, ElementType
from ...llvm.types import DOUBLE, FLOAT, I32


@dataclass(frozen=True)
class SumPlaces:
    """Which sums of a matrix of ``rows`` by ``columns`` a lane holds.

    ``first(builder, lane)`` is the row and the column of its first one, ``others`` how far from there each of them is.
    """

    rows: int
    columns: int
    first: Callable[[ir.IRBuilder, ir.Value], tuple[ir.Value, ir.Value]]
    others: tuple[tuple[int, int], ...]

    @property
    def run(self) -> int:
        """How many of a lane's sums lie side by side in a row."""
        row, column = self.others[0]
        count = 1
        while count < len(self.others) and self.others[count] == (row, column + count):
            count += 1
        return count


@dataclass(frozen=True)
class MatrixInstruction:
    """Multiplies two small matrices whose elements are ``operand``, and adds the products to ``sums``, whose places a lane's
    registers have. Its ``name`` is the family's.
    """

    name: str
    operand: ElementType
    sums: ElementType
    places: SumPlaces

    @property
    def adds_lines(self) -> tuple[bool, bool]:
        """Whether the terms of rows are to be added up besides, and those of columns."""
        return False, False

    @property
    def sum_type(self) -> ir.Type:
        return {F64: DOUBLE, F32: FLOAT, S32: I32}[self.sums]

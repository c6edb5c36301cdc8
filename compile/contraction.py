"""What a dot multiplies and sums: its dimensions by their role."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..hlo import Instruction, Shape
from ..hlo.shape import element_strides


@dataclass(frozen=True)
class Contraction:
    """A dot's dimensions by their role: batch, rows (free in lhs), columns (free in rhs), terms (contracted)."""

    dot: Instruction
    lhs: Shape
    rhs: Shape
    batch: tuple[tuple[int, int], ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    terms: tuple[tuple[int, int], ...]

    @property
    def row_count(self) -> int:
        return prod(self.lhs.dimensions[d] for d in self.rows)

    @property
    def column_count(self) -> int:
        return prod(self.rhs.dimensions[d] for d in self.columns)

    @property
    def term_count(self) -> int:
        return prod(self.lhs.dimensions[left] for left, _ in self.terms)


def contraction_of(dot: Instruction) -> Contraction:
    attributes = dot.attributes
    batch = tuple(zip(attributes["lhs_batch_dimensions"], attributes["rhs_batch_dimensions"]))
    terms = tuple(zip(attributes["lhs_contracting_dimensions"], attributes["rhs_contracting_dimensions"]))
    lhs, rhs = (operand.shape for operand in dot.operands)
    bound_left, bound_right = ({pair[side] for pair in (*batch, *terms)} for side in (0, 1))
    rows = tuple(d for d in range(lhs.rank) if d not in bound_left)
    columns = tuple(d for d in range(rhs.rank) if d not in bound_right)
    return Contraction(dot, lhs, rhs, batch, rows, columns, terms)


def reads_terms_contiguously(contraction: Contraction) -> bool:
    """Whether the terms of a row of the left operand lie side by side in memory, or there is but one."""
    strides = element_strides(contraction.lhs)
    longer = [left for left, _ in contraction.terms if contraction.lhs.dimensions[left] > 1]
    return not longer or min(strides[left] for left in longer) == 1


def reads_columns_contiguously(contraction: Contraction) -> bool:
    """Whether the columns lie side by side in memory, all of them as one run."""
    strides, expected = element_strides(contraction.rhs), 1
    for dimension in reversed(contraction.columns):
        size = contraction.rhs.dimensions[dimension]
        if size != 1 and strides[dimension] != expected:
            return False
        expected *= size
    return True

"""What the code of a register block depends on: blocks of one form are a function, most of them one that all programs call."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import ir

from ...hlo import ElementType
from ..llvm.arrays import Array
from ..llvm.index import Affine, Component, Index

# So many floating-point terms are added one after the other, then so many of their sums, of the sums of these, and so on: the
# error is that of summation by pairs, and does not grow with the number of terms.
RUN = 64
FAN_IN = 8
# Blocks of fewer terms are made for their number.
LEAST_ANY_TERMS = 16


@dataclass(frozen=True)
class Columns:
    """Vectors of the right operand: an array for each, and the index of a vector's first element for given terms.

    ``totals`` are the addresses of the sums of the columns, where they are needed.
    """

    positions: list[Affine]
    arrays: list[Array]
    index: Callable[[dict[int, Component]], Index]
    mask: ir.Value | None = None
    totals: Sequence[ir.Value] = ()
    step: int = 1  # from one column to the next, in elements


@dataclass(frozen=True)
class BlockForm:
    """What the code of a block depends on, besides its addresses, the distance of its rows, and how many terms there are.

    ``shape`` is that of the block: rows, vectors, lanes. Of a single dimension of terms, and of groups of them that lie side by
    side in the right operand, the sizes are the most there may be, and steps from one term to the next are None where they may
    be any.
    """

    types: tuple[ElementType, ElementType, ElementType]
    shape: tuple[int, int, int]
    sizes: tuple[int, ...]
    left_steps: tuple[int | None, ...]
    right_steps: tuple[int | None, ...]
    lane_step: int
    result_step: int
    mask: str | None
    is_added: bool
    contracts: bool

    @property
    def column_step(self) -> int:
        return self.shape[2] * self.lane_step

    @property
    def has_any_terms(self) -> bool:
        return self.sizes[-1:] >= (RUN,) and (len(self.sizes) == 1 or self.left_steps[0] is None)

    @property
    def is_shared(self) -> bool:
        """Whether the block is one of those, few in all, that programs have in common."""
        return self.has_any_terms and self.lane_step == self.result_step == 1

    @property
    def name(self) -> str:
        """A function's name, another one for each form."""
        kind = hashlib.sha256(repr(self).encode()).hexdigest()[:16]
        return f"phlox.block.{'x'.join(map(str, self.shape))}.{kind}"

    @property
    def instructions_of_term(self) -> int:
        """About how many instructions add one term to all sums, where they are loaded and broadcast, too."""
        height, width, _ = self.shape
        return (2 * height * width + 4 * height + 2 * width) * (4 if self.types[-1].is_complex else 1)


def levels_of_sums(runs: int) -> int:
    """How often sums are added up, a few at a time, until those of so many runs are one."""
    levels = 1
    while FAN_IN**levels < runs:
        levels += 1
    return levels


def longest(size: int) -> int:
    """The most terms that are added up as so many are: by as many levels of sums."""
    return RUN if size <= RUN else RUN * FAN_IN ** levels_of_sums(-(-size // RUN))


def distance(array: Array, index: Index) -> int:
    """How far from an array's first element another one lies, in elements."""
    return sum(component.base * stride for component, stride in zip(index, array.strides))

"""What products on matrix units are made of, in a family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from llvmlite import ir

from ....hlo import ElementType, Shape
from ..target import Target
from .matrix_divisions import Division
from .matrix_instructions import MatrixInstruction
from .matrix_tiles import OperandTiles, Reading
from .product import Product


class BlockSums(Protocol):
    """The sums of a block while they are emitted."""

    def sums(self, first: ir.Value, steps: int) -> list[ir.Value]:
        """Of so many tiles' terms, from a term on: those of an instruction after each other, by rows of these."""

    def free_memory(self) -> ir.Value:
        """The block's memory, behind the sums, when no thread needs it any more: a generic pointer."""


@dataclass(frozen=True)
class MatrixUnits:
    """A family's functions for these.

    ``instruction(target, left, right, result, may_lose_bits)`` is that for operands of these types, or None;
    ``plan(target, product, instruction, shapes, parts)`` how operands are read and how the product is divided, into so many
    parts at most. ``tiles`` and ``product`` make `OperandTiles` and `BlockSums`, these with so many bytes of a block's memory.
    """

    instruction: Callable[[Target, ElementType, ElementType, ElementType, bool], MatrixInstruction | None]
    plan: Callable[[Target, Product, Any, tuple[Shape, Shape], int], tuple[tuple[Reading, Reading], Division]]
    tiles: Callable[..., OperandTiles]
    product: Callable[..., BlockSums]

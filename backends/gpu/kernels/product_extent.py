"""How far a product goes, in tiles and steps: known, or told to the kernel when it is launched.

Products that are the same but for their sizes, and how far apart rows and columns are, have one kernel then, compiled once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from llvmlite import ir

from ...llvm.types import I32, I64
from .product import Axis, Product

# A number that is known, one that a launch gives, or its value in a kernel, i64.
Amount = Any


@dataclass(frozen=True)
class Given:
    """The number of this position among those that a launch gives."""

    position: int


@dataclass(frozen=True)
class Extent:
    """``steps`` of each part, of which there are ``parts``, whose results are ``part_size`` elements apart; ``row_tiles`` and
    ``column_tiles`` of each batch; and how far the product's dimensions walk.
    """

    product: Product
    row_tiles: Amount
    column_tiles: Amount
    parts: Amount
    steps: Amount
    part_size: Amount


def extent_of(product: Product, rows: int, columns: int, terms: int, parts: int) -> Extent:
    """That of a product by tiles of so many rows, columns and terms."""
    _, of_rows, of_columns, of_terms = product.sizes
    tiles = -(-of_rows // rows), -(-of_columns // columns)
    return Extent(product, *tiles, parts, -(-of_terms // (terms * parts)), prod(product.sizes[:3]))


def is_general(product: Product) -> bool:
    """Whether each role is one dimension: where an element is follows from its number and the dimensions' steps alone."""
    return len(product.batch) <= 1 and all(len(axes) == 1 for axes in (product.rows, product.columns, product.terms))


def as_given(extent: Extent) -> tuple[Extent, tuple[int, ...]]:
    """The extent of all products for which a launch gives other numbers, and those of this one. Known are whether there are
    parts, and along which dimensions elements lie side by side, or are the same.
    """
    numbers: list[int] = []

    def given(number: int) -> Amount:
        numbers.append(number)
        return Given(len(numbers) - 1)

    def of_step(step: int) -> Amount:
        return step if step in (0, 1) else given(step)

    has_parts = extent.parts > 1
    parts = (given(extent.parts), given(extent.part_size)) if has_parts else (1, 0)
    amounts = given(extent.row_tiles), given(extent.column_tiles), parts[0], given(extent.steps), parts[1]
    return Extent(_walked(extent.product, of_step), *amounts), tuple(numbers)


def in_kernel(extent: Extent, values: Sequence[ir.Value]) -> Extent:
    """The extent with the values that a kernel is given."""

    def value(amount: Amount) -> Amount:
        return values[amount.position] if isinstance(amount, Given) else amount

    amounts = extent.row_tiles, extent.column_tiles, extent.parts, extent.steps, extent.part_size
    return Extent(_walked(extent.product, value), *map(value, amounts))


def _walked(product: Product, change: Callable[[Amount], Amount]) -> Product:
    """The product with other steps, and without sizes, on which these do not depend."""
    roles = (product.batch, product.rows, product.columns, product.terms)
    return Product(*[tuple([Axis(0, tuple(map(change, axis.steps))) for axis in axes]) for axes in roles])


def narrow_amount(b: ir.IRBuilder, amount: Amount) -> ir.Value:
    """The amount as i32."""
    return I32(amount) if isinstance(amount, int) else b.trunc(amount, I32)


def wide_amount(amount: Amount) -> ir.Value:
    """The amount as i64."""
    return I64(amount) if isinstance(amount, int) else amount

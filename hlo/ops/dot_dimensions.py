"""What operations that sum products share: their dimension numbers, and the sums.

Source of the semantics: "DotGeneral" in XLA's Operation Semantics.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..errors import require
from ..shape import AnyShape, Shape
from .constraints import require_dimensions, require_kind, require_preferred_type
from .narrow_types import narrowed

_KINDS = ("pred", "signed", "unsigned", "float", "complex")


class DotDimensions(NamedTuple):
    """The batch and the contracting dimensions of both operands."""

    lhs_batch: tuple[int, ...]
    lhs_contracting: tuple[int, ...]
    rhs_batch: tuple[int, ...]
    rhs_contracting: tuple[int, ...]

    def lhs_free(self, rank: int) -> list[int]:
        """The other dimensions of lhs, in order."""
        return [d for d in range(rank) if d not in self.lhs_batch and d not in self.lhs_contracting]

    def rhs_free(self, rank: int) -> list[int]:
        return [d for d in range(rank) if d not in self.rhs_batch and d not in self.rhs_contracting]


def dot_shape(opcode: str, lhs: AnyShape, rhs: AnyShape, numbers: DotDimensions, stated: AnyShape | None) -> Shape:
    """The shape of sums of products; ``stated``, where given, has the element type in which they are summed."""
    require_kind(opcode, "lhs", lhs, _KINDS)
    require_kind(opcode, "rhs", rhs, _KINDS)
    for name, shape, batch, contracting in (
        ("lhs", lhs, numbers.lhs_batch, numbers.lhs_contracting),
        ("rhs", rhs, numbers.rhs_batch, numbers.rhs_contracting),
    ):
        require_dimensions(opcode, f"{name} batch and contracting dimensions", (*batch, *contracting), shape.rank)
    for role, of_lhs, of_rhs in (
        ("batch", numbers.lhs_batch, numbers.rhs_batch),
        ("contracting", numbers.lhs_contracting, numbers.rhs_contracting),
    ):
        same = len(of_lhs) == len(of_rhs)
        require(same, f"{opcode}: lhs and rhs must have equally many {role} dimensions, got {of_lhs} and {of_rhs}")
        for left, right in zip(of_lhs, of_rhs):
            require(
                lhs.dimensions[left] == rhs.dimensions[right],
                f"{opcode}: {role} dimensions {left} of lhs {lhs} and {right} of rhs {rhs} must have the same size",
            )
    require(
        lhs.element_type is rhs.element_type or stated is not None,
        f"{opcode}: lhs {lhs} and rhs {rhs} differ in element type: a preferred element type is required",
    )
    require_preferred_type(opcode, lhs, rhs, stated)
    element_type = lhs.element_type if stated is None else stated.element_type
    batch = [lhs.dimensions[d] for d in numbers.lhs_batch]
    rows = [lhs.dimensions[d] for d in numbers.lhs_free(lhs.rank)]
    columns = [rhs.dimensions[d] for d in numbers.rhs_free(rhs.rank)]
    return Shape(element_type, (*batch, *rows, *columns), None, _dynamic_dimensions(lhs, rhs, numbers))


def _dynamic_dimensions(lhs: Shape, rhs: Shape, numbers: DotDimensions) -> tuple[bool, ...]:
    if not lhs.dynamic_dimensions and not rhs.dynamic_dimensions:
        return ()
    batch = [lhs.is_dynamic(left) or rhs.is_dynamic(right) for left, right in zip(numbers.lhs_batch, numbers.rhs_batch)]
    rows = [lhs.is_dynamic(d) for d in numbers.lhs_free(lhs.rank)]
    return (*batch, *rows, *[rhs.is_dynamic(d) for d in numbers.rhs_free(rhs.rank)])


def multiplications_and_additions(operands: tuple[AnyShape, ...], shape: AnyShape, attributes: dict[str, Any]) -> int:
    """How many a dot of these shapes takes: two for each term."""
    return 2 * shape.size * prod(operands[0].dimensions[d] for d in attributes["lhs_contracting_dimensions"])


def sums_of_products(lhs: np.ndarray, rhs: np.ndarray, numbers: DotDimensions, shape: Shape) -> np.ndarray:
    """The sums in this shape."""
    lhs, rhs = np.asarray(lhs), np.asarray(rhs)
    lhs_free, rhs_free = numbers.lhs_free(lhs.ndim), numbers.rhs_free(rhs.ndim)
    batch = [lhs.shape[d] for d in numbers.lhs_batch]
    terms = prod(lhs.shape[d] for d in numbers.lhs_contracting)
    rows = prod(lhs.shape[d] for d in lhs_free)
    columns = prod(rhs.shape[d] for d in rhs_free)
    # Types that NumPy's matmul lacks or would round too early are summed in a wider one.
    wide = {"f": np.float32, "V": np.float32}.get(shape.dtype.kind) if shape.dtype.itemsize <= 2 else None
    dtype = shape.dtype if wide is None or not shape.element_type.is_float else np.dtype(wide)
    left = lhs.transpose(*numbers.lhs_batch, *lhs_free, *numbers.lhs_contracting).reshape(*batch, rows, terms)
    right = rhs.transpose(*numbers.rhs_batch, *numbers.rhs_contracting, *rhs_free).reshape(*batch, terms, columns)
    with np.errstate(all="ignore"):
        product = np.matmul(left.astype(dtype), right.astype(dtype))
    if shape.element_type.is_float and dtype == np.float32:
        product = narrowed(product, shape.element_type)
    return product.astype(shape.dtype).reshape(shape.dimensions)

"""Scaled dot: sums of products of numbers that share a scale by blocks.

Source of the semantics: ``HloScaledDotInstruction`` of XLA and its expansion, ``xla/service/scaled_dot_rewriter.cc``. Source
of the formats: OCP Microscaling Formats (MX) Specification 1.0, 2023.
"""

from __future__ import annotations

import numpy as np

from ..attributes import IntegerList
from ..element_type import BF16, ELEMENT_TYPES, F32, F64, S32
from ..errors import require
from ..operation import InvalidSample, Sample, operation
from ..shape import AnyShape, Shape
from .constraints import require_kind
from .dot_dimensions import DotDimensions, dot_shape, multiplications_and_additions, sums_of_products


@operation(
    "scaled-dot", "lhs", "rhs", "lhs_scale", "rhs_scale", builder="ScaledDot",
    lhs_batch_dimensions=IntegerList((), "lhs_batch_dims"), lhs_contracting_dimensions=IntegerList((), "lhs_contracting_dims"),
    rhs_batch_dimensions=IntegerList((), "rhs_batch_dims"), rhs_contracting_dimensions=IntegerList((), "rhs_contracting_dims"),
)  # fmt: skip
def scaled_dot(
    lhs, rhs, lhs_scale, rhs_scale,
    *, lhs_batch_dimensions, lhs_contracting_dimensions, rhs_batch_dimensions, rhs_contracting_dimensions, stated,
):  # fmt: skip
    """ScaledDot(lhs, rhs, lhs_scale, rhs_scale, dimension_numbers, preferred_element_type): the dot of the scaled operands.

    A scale has the rank of its operand, and each of its sizes divides the operand's: its element applies to a block of
    elements of the operand, in each dimension as many as the quotient says. The products are formed and summed in f32, or in
    f64 where that is the preferred element type. Quantized operands (f8e4m3fn, f4e2m1fn, ...) usually have scales of
    f8e8m0fnu, for 32 elements, or f8e4m3fn, for 16.
    """
    numbers = DotDimensions(lhs_batch_dimensions, lhs_contracting_dimensions, rhs_batch_dimensions, rhs_contracting_dimensions)
    shape = dot_shape("scaled-dot", lhs, rhs, numbers, stated)
    for name, operand, scale in (("lhs", lhs, lhs_scale), ("rhs", rhs, rhs_scale)):
        require_kind("scaled-dot", name, operand, ("float",))
        require_kind("scaled-dot", f"{name}_scale", scale, ("float",))
        _require_blocks(name, operand, scale)
    return shape


def _require_blocks(name: str, operand: AnyShape, scale: AnyShape) -> None:
    same = operand.rank == scale.rank
    require(same, f"scaled-dot: {name}_scale must have the rank of {name}, {operand}, got {scale}")
    for d, (size, blocks) in enumerate(zip(operand.dimensions, scale.dimensions)):
        fits = size % blocks == 0 if blocks else size == 0
        require(fits, f"scaled-dot: dimension {d} of {name}, {operand}, must be a multiple of that of {name}_scale, {scale}")


scaled_dot.counting(multiplications_and_additions)


@scaled_dot.evaluation
def _(lhs, rhs, lhs_scale, rhs_scale, *, shape, **dimensions):
    dtype = np.float64 if shape.element_type is F64 else np.float32
    scaled = [_scaled(x, scale, dtype) for x, scale in ((lhs, lhs_scale), (rhs, rhs_scale))]
    sides = ("lhs_batch", "lhs_contracting", "rhs_batch", "rhs_contracting")
    return sums_of_products(*scaled, DotDimensions(*(dimensions[f"{side}_dimensions"] for side in sides)), shape)


def _scaled(x: np.ndarray, scale: np.ndarray, dtype: type) -> np.ndarray:
    scale = scale.astype(dtype)
    for d, (size, blocks) in enumerate(zip(x.shape, scale.shape)):
        scale = np.repeat(scale, size // blocks if blocks else 1, axis=d)
    with np.errstate(all="ignore"):
        return x.astype(dtype) * scale


@scaled_dot.sampling
def _():
    f8, f5, f4, powers = (ELEMENT_TYPES[name] for name in ("f8e4m3fn", "f8e5m2", "f4e2m1fn", "f8e8m0fnu"))
    last = {"lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (1,)}
    mixed = {"lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (0,)}
    lhs, rhs = np.array([[1, 2, 3, 4]]).astype(f4.dtype), np.array([[0.5, 1, 1.5, 6]]).astype(f4.dtype)
    scales = np.array([[2, 0.25]]).astype(powers.dtype), np.array([[1, 8]]).astype(powers.dtype)
    # 2 (0.5 + 2) + 0.25 * 8 (4.5 + 24)
    yield Sample([lhs, rhs, *scales], last, Shape(F32, (1, 1)), expected=np.array([[62]], np.float32))

    def exact(element_type, dimensions, low, high):
        """Numbers that every order of summing gives the same sum of."""
        numbers = np.random.default_rng(len(dimensions)).integers(low, high, dimensions, endpoint=True)
        return (2.0**numbers if element_type is powers else numbers / 2).astype(element_type.dtype)

    for of_lhs, of_rhs, of_scale, result in (
        (f8, f8, powers, F32),
        (f4, f4, f8, BF16),
        (f5, f8, powers, F32),
        (f4, f8, F32, F64),
    ):
        arrays = [exact(of_lhs, (6, 64), -8, 8), exact(of_rhs, (5, 64), -8, 8)]
        arrays += [exact(of_scale, (6, 2), 0, 3), exact(of_scale, (5, 4), 0, 3)]
        yield Sample(arrays, last, Shape(result, (6, 5)))
    arrays = [exact(f8, (6, 32), -8, 8), exact(f8, (32, 20), -8, 8), exact(powers, (3, 1), 0, 3), exact(powers, (2, 20), 0, 3)]
    yield Sample(arrays, mixed, Shape(BF16, (6, 20)))
    ones = np.ones((1, 1), BF16.dtype)  # weights alone are quantized
    weights = [exact(BF16, (4, 16), -3, 3), exact(f4, (16, 8), -8, 8), ones, exact(powers, (1, 8), 0, 3)]
    yield Sample(weights, mixed, Shape(BF16, (4, 8)))
    batched = {"lhs_batch_dimensions": (0,), "rhs_batch_dimensions": (0,), "lhs_contracting_dimensions": (2,),
               "rhs_contracting_dimensions": (2,)}  # fmt: skip
    arrays = [exact(f8, (2, 3, 64), -8, 8), exact(f8, (2, 4, 64), -8, 8)]
    arrays += [exact(powers, (2, 3, 2), 0, 3), exact(powers, (1, 4, 2), 0, 3)]
    yield Sample(arrays, batched, Shape(F32, (2, 3, 4)))
    yield Sample([Shape(f8, (0, 4)), Shape(f8, (3, 4)), Shape(powers, (0, 1)), Shape(powers, (3, 1))], last)
    x, y, s, t = Shape(f8, (4, 64)), Shape(f8, (3, 64)), Shape(powers, (4, 2)), Shape(powers, (3, 2))
    yield InvalidSample([x, y, Shape(powers, (2,)), t], last, "lhs_scale must have the rank of lhs")
    yield InvalidSample([x, y, s, Shape(powers, (3, 5))], last, "dimension 1 of rhs, .*, must be a multiple")
    yield InvalidSample([x, y, s, Shape(powers, (3, 0))], last, "dimension 1 of rhs, .*, must be a multiple")
    yield InvalidSample([x, y, s, Shape(S32, (3, 2))], last, "rhs_scale must have a floating-point")
    yield InvalidSample([Shape(S32, (4, 64)), y, s, t], last, "lhs must have a floating-point", shape=Shape(F32, (4, 3)))
    yield InvalidSample([x, y, s, t], last, "cannot be summed in s32", shape=Shape(S32, (4, 3)))
    yield InvalidSample([x, Shape(f8, (3, 32)), s, t], last, "must have the same size")
    yield InvalidSample([x, Shape(f4, (3, 64)), s, t], last, "a preferred element type is required")

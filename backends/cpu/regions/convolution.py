"""The convolution region: a contraction of views of its operands.

A convolution without padding goes through the register blocks of contractions, and no window is ever copied.
"""

from __future__ import annotations

from math import prod

from llvmlite import ir

from ....compile.convolution_views import ViewDimensions, convolution_views, has_scattered_columns
from ....compile.expansion.convolution import is_depthwise
from ....hlo import PRED, Instruction
from ....hlo.window import WindowDimension
from ...llvm.arrays import Array, View
from ...llvm.index import Base
from ..arena import ALIGNMENT
from ..nest_samples import samples
from ..nests import Nest, emits_nest
from .contraction_bytes import emit_blocks
from .contraction_panels import panel_bytes
from .contraction_terms import emit_parts, parts_bytes

# A depthwise convolution by a kernel of so many positions at most is better an expression with that many terms.
_LARGEST_EXPRESSION = 32


def is_native(convolution: Instruction) -> bool:
    """Whether it is not empty, has no padding, base dilation or reversal, and its columns lie side by side."""
    window, numbers = convolution.attributes["window"], convolution.attributes["dim_labels"]
    sizes, shape = convolution.operands[1].shape.dimensions, convolution.shape
    plain = all(d == WindowDimension(d.size, d.stride, window_dilation=d.window_dilation) for d in window)
    if not shape.size or not plain or numbers.kernel_output_feature != len(sizes) - 1:
        return False
    small = prod(sizes[d] for d in numbers.kernel_spatial) <= _LARGEST_EXPRESSION
    if small and is_depthwise(convolution) and shape.element_type is not PRED:
        return False
    return not has_scattered_columns(convolution)


def scratch_bytes(convolution: Instruction) -> int:
    """Memory for parts of the results and for a packed panel of the right operand, as they are needed."""
    if not convolution.shape.size:
        return 0
    parts = parts_bytes(convolution_views(convolution).contraction)
    return -(-parts // ALIGNMENT) * ALIGNMENT + own_bytes(convolution)


def own_bytes(convolution: Instruction) -> int:
    """The part of it that is for the panel."""
    return panel_bytes(convolution_views(convolution).contraction) if convolution.shape.size else 0


def divides(convolution: Instruction) -> bool:
    """Whether it is the results that are divided, and not the terms."""
    return not (convolution.shape.size and parts_bytes(convolution_views(convolution).contraction))


@samples(
    # The columns are the output features, or the places along the last spatial dimension.
    """
    x = f32[2,9,10,3] parameter(0)
    k = f32[3,2,3,20] parameter(1)
    ROOT y = f32[2,4,8,20] convolution(x, k), window={size=3x2 stride=2x1 rhs_dilate=1x2}, dim_labels=b01f_01io->b01f
    """,
    """
    x = f64[1,1,4,40] parameter(0)
    k = f64[1,3,3,1] parameter(1)
    ROOT y = f64[1,1,2,38] convolution(x, k), window={size=3x3}, dim_labels=bf01_i01o->bf01
    """,
    """
    x = f32[2,30,6] parameter(0)
    k = f32[5,3,8] parameter(1)
    ROOT y = f32[2,26,8] convolution(x, k), window={size=5}, dim_labels=b0f_0io->b0f, feature_group_count=2
    """,
    """
    x = f32[1,40,50] parameter(0)
    k = f32[4,50,70] parameter(1)
    ROOT y = f32[1,37,70] convolution(x, k), window={size=4}, dim_labels=b0f_0io->b0f
    """,
)
@emits_nest("convolution", scratch=scratch_bytes, is_native=is_native, divides=divides, own=own_bytes)
def emit_convolution(nest: Nest) -> None:
    """Compute a convolution into the output."""
    (base, kernel), (output,) = nest.operands, nest.outputs
    if not output.shape.size:
        return
    views = convolution_views(nest.instruction)
    operands = [base, kernel] if views.base_is_left else [kernel, base]

    def emit(builder: ir.IRBuilder, operands: list[Array], panel: ir.Value | None, sums: Array, *chunks: Base) -> None:
        arrays = [_seen(array, as_) for array, as_ in zip((*operands, sums), (views.left, views.right, views.output))]
        emit_blocks(builder, nest.target, views.contraction, arrays, panel, chunks=chunks or None)

    if divides(nest.instruction):
        emit(nest.builder, operands, nest.own, output)
    else:
        emit_parts(nest, views.contraction, operands, nest.scratch, emit, output)


def _seen(array: Array, dimensions: ViewDimensions) -> View:
    return View(array.pointer, dimensions.shape(array.shape.element_type), tuple(dimensions.steps))

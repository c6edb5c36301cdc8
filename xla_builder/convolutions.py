"""The methods of XlaBuilder that build convolutions, as a part of `phlox.xla_builder.XlaBuilder`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import hlo
from ..hlo.convolution_dimensions import ConvolutionDimensions, DimensionLabels, default_dimensions
from ..hlo.element_type import ElementType
from ..hlo.errors import require
from ..hlo.instruction import Instruction
from ..hlo.window import make_window, with_padding

Padding = str | Sequence[tuple[int, int]]


class ConvolutionMethods:
    """Conv and its relatives, from the shortest list of arguments to the longest.

    The padding is (low, high) for each spatial dimension, or "SAME" or "VALID"; the dimension numbers are ConvolutionDimensions
    or labels such as ``"b01f_01io->b01f"``, by default those of ``default_dimensions``.
    """

    write: Callable[..., Instruction]

    def Conv(
        self,
        lhs: Instruction,
        rhs: Instruction,
        window_strides: Sequence[int],
        padding: Padding,
        feature_group_count: int = 1,
        batch_group_count: int = 1,
        preferred_element_type: ElementType | None = None,
    ) -> Instruction:
        """Padding "SAME" makes the result of stride 1 as large as the input, "VALID" is none."""
        groups = feature_group_count, batch_group_count
        return self.ConvGeneralDilated(lhs, rhs, window_strides, padding, (), (), None, *groups, preferred_element_type)

    def ConvWithGeneralPadding(
        self,
        lhs: Instruction,
        rhs: Instruction,
        window_strides: Sequence[int],
        padding: Sequence[tuple[int, int]],
        feature_group_count: int = 1,
        batch_group_count: int = 1,
        preferred_element_type: ElementType | None = None,
    ) -> Instruction:
        return self.Conv(lhs, rhs, window_strides, padding, feature_group_count, batch_group_count, preferred_element_type)

    def ConvWithGeneralDimensions(
        self,
        lhs: Instruction,
        rhs: Instruction,
        window_strides: Sequence[int],
        padding: Padding,
        dimension_numbers: ConvolutionDimensions | str,
        feature_group_count: int = 1,
        batch_group_count: int = 1,
        preferred_element_type: ElementType | None = None,
    ) -> Instruction:
        groups = feature_group_count, batch_group_count
        return self.ConvGeneralDilated(
            lhs, rhs, window_strides, padding, (), (), dimension_numbers, *groups, preferred_element_type
        )

    def ConvGeneral(
        self,
        lhs: Instruction,
        rhs: Instruction,
        window_strides: Sequence[int],
        padding: Sequence[tuple[int, int]],
        dimension_numbers: ConvolutionDimensions | str,
        feature_group_count: int = 1,
        batch_group_count: int = 1,
        preferred_element_type: ElementType | None = None,
    ) -> Instruction:
        groups = feature_group_count, batch_group_count
        return self.ConvWithGeneralDimensions(
            lhs, rhs, window_strides, padding, dimension_numbers, *groups, preferred_element_type
        )

    def ConvGeneralDilated(
        self,
        lhs: Instruction,
        rhs: Instruction,
        window_strides: Sequence[int],
        padding: Padding,
        lhs_dilation: Sequence[int] = (),
        rhs_dilation: Sequence[int] = (),
        dimension_numbers: ConvolutionDimensions | str | None = None,
        feature_group_count: int = 1,
        batch_group_count: int = 1,
        preferred_element_type: ElementType | None = None,
        window_reversal: Sequence[bool] = (),
    ) -> Instruction:
        """Every kind of convolution; empty lists are as if they were not there. Raises ShapeError."""
        numbers = default_dimensions(lhs.shape.rank - 2) if dimension_numbers is None else dimension_numbers
        numbers = DimensionLabels().check(numbers)
        for name, operand in (("lhs", lhs), ("rhs", rhs)):
            fits = operand.shape.rank == len(numbers.input)
            require(fits, f"convolution: the dimension numbers are {len(numbers.input)}, but {name} is {operand.shape}")
        sizes = [rhs.shape.dimensions[d] for d in numbers.kernel_spatial]
        pairs = None if isinstance(padding, str) else padding
        window = make_window(sizes, window_strides, pairs, lhs_dilation, rhs_dilation, window_reversal)
        if isinstance(padding, str):
            window = with_padding(window, [lhs.shape.dimensions[d] for d in numbers.input_spatial], padding)
        attributes: dict[str, Any] = {
            "window": window, "dim_labels": numbers,
            "feature_group_count": feature_group_count, "batch_group_count": batch_group_count,
        }  # fmt: skip
        return self.write(hlo.in_preferred_type, "convolution", (lhs, rhs), preferred_element_type, attributes)

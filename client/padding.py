"""The preview's names for padding."""

from __future__ import annotations

from typing import NamedTuple


class Padding:
    """How a window or a convolution is padded: so that the result of stride 1 is as large as the operand, or not at all."""

    kSame = "SAME"
    kValid = "VALID"


class PaddingConfigDimension(NamedTuple):
    """The elements that Pad adds before, after, and between each two elements of one dimension; edges may be negative."""

    edge_padding_low: int
    edge_padding_high: int
    interior_padding: int = 0

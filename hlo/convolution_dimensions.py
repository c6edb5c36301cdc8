"""The dimension numbers of a convolution, and their spelling as labels.

Source: ``ConvolutionDimensionNumbers`` in ``xla_data.proto``; of the spelling: ``ConvolutionDimensionNumbersToString`` and
``hlo_parser.cc``.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from .attributes import AttributeKind, Cursor, IntegerList
from .errors import ShapeError, require

_LABELS = re.compile(r"([0-9bf]+)_([0-9io]+)->([0-9bf]+)")
_FORM = "labels of the form b01f_01io->b01f"
MAX_SPATIAL_DIMENSIONS = 10  # each is labelled by one digit


class ConvolutionDimensions(NamedTuple):
    """Which dimension of input (lhs), kernel (rhs) and output is which; spatial ones in the order of the window."""

    input_batch: int
    input_feature: int
    input_spatial: tuple[int, ...]
    kernel_input_feature: int
    kernel_output_feature: int
    kernel_spatial: tuple[int, ...]
    output_batch: int
    output_feature: int
    output_spatial: tuple[int, ...]

    @property
    def input(self) -> tuple[int, ...]:
        """Batch, feature, then the spatial dimensions."""
        return (self.input_batch, self.input_feature, *self.input_spatial)

    @property
    def kernel(self) -> tuple[int, ...]:
        """Input feature, output feature, then the spatial dimensions."""
        return (self.kernel_input_feature, self.kernel_output_feature, *self.kernel_spatial)

    @property
    def output(self) -> tuple[int, ...]:
        """Batch, feature, then the spatial dimensions."""
        return (self.output_batch, self.output_feature, *self.output_spatial)


def default_dimensions(spatial: int) -> ConvolutionDimensions:
    """Batch, feature, spatial for input and output; output feature, input feature, spatial for the kernel.

    >>> DimensionLabels().print(default_dimensions(2))
    'bf01_oi01->bf01'
    """
    numbers = tuple(range(2, spatial + 2))
    return ConvolutionDimensions(0, 1, numbers, 1, 0, numbers, 0, 1, numbers)


class DimensionLabels(AttributeKind):
    """``dim_labels=b01f_01io->b01f``: of each dimension of lhs, rhs and result whether it is the batch (b), the feature (f),
    the kernel's input or output feature (i, o), or which spatial dimension."""

    def check(self, value: Any) -> ConvolutionDimensions:
        if isinstance(value, str):
            return self._from_text(value)
        try:
            fields = list(value)
            require(len(fields) == 9, f"ConvolutionDimensions or {_FORM} are required, {value!r} given")
            lists = {2, 5, 8}
            for position, item in enumerate(fields):
                numbers = IntegerList().check(item if position in lists else (item,))
                fields[position] = numbers if position in lists else numbers[0]
        except TypeError:
            raise ShapeError(f"ConvolutionDimensions or {_FORM} are required, {value!r} given") from None
        dimensions = ConvolutionDimensions(*fields)
        for name in ("input", "kernel", "output"):
            numbers = getattr(dimensions, name)
            in_order = sorted(numbers) == list(range(len(numbers)))
            require(in_order, f"the dimensions of the {name} must be 0 to {len(numbers) - 1}, each once, got {numbers}")
        counts = [len(getattr(dimensions, f"{name}_spatial")) for name in ("input", "kernel", "output")]
        same = len(set(counts)) == 1
        require(same, f"input, kernel and output must have equally many spatial dimensions, got {', '.join(map(str, counts))}")
        few = counts[0] <= MAX_SPATIAL_DIMENSIONS
        require(few, f"at most {MAX_SPATIAL_DIMENSIONS} spatial dimensions can be labelled, got {counts[0]}")
        return dimensions

    def _from_text(self, text: str) -> ConvolutionDimensions:
        match = _LABELS.fullmatch(text)
        require(match is not None, f"{_FORM} are required, {text!r} given")
        assert match is not None
        fields: list[Any] = []
        for labels, names in zip(match.groups(), ("bf", "io", "bf")):
            spatial = len(labels) - 2
            wanted = [*names, *map(str, range(spatial))]
            require(sorted(labels) == sorted(wanted), f"{labels!r} in {text!r} must label each of {', '.join(wanted)} once")
            fields += [labels.index(names[0]), labels.index(names[1])]
            fields.append(tuple(labels.index(str(number)) for number in range(spatial)))
        return self.check(tuple(fields))

    def print(self, value: ConvolutionDimensions) -> str:
        texts = []
        for numbers, names in ((value.input, "bf"), (value.kernel, "io"), (value.output, "bf")):
            labels = dict(zip(numbers, [*names, *map(str, range(len(numbers) - 2))]))
            texts.append("".join(labels[d] for d in range(len(numbers))))
        return f"{texts[0]}_{texts[1]}->{texts[2]}"

    def parse(self, cursor: Cursor) -> ConvolutionDimensions:
        place, word = cursor.position, cursor.word()
        try:
            return self._from_text(word)
        except ShapeError as error:
            return cursor.fail(str(error), place)

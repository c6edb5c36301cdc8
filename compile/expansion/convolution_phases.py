"""Convolution of a base with holes, without multiplying what is in the holes.

Along a dimension of base dilation d the places fall into d phases: those of one phase meet the same few positions of the
window, at elements of the base itself. So each phase is a convolution of the base without holes by a part of the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd, prod

from ... import hlo
from ...hlo import Instruction
from ...hlo.convolution_dimensions import ConvolutionDimensions
from ...hlo.window import WindowDimension, dilated_size

# More phases are not worth the code.
_MOST_PHASES = 16
# With fewer output features those of all phases are taken as the features of one convolution.
_FEW_FEATURES = 16


@dataclass(frozen=True)
class _Phase:
    """Which positions of the window the places of a phase meet, from the first one on, and the window over the base."""

    first: int
    step: int
    count: int
    stride: int
    window_dilation: int
    offset: int  # of the first place's first position in the base

    def window(self, base_size: int, places: int) -> WindowDimension:
        return _window(base_size, places, self.count, self.stride, self.offset, self.window_dilation)


def has_phases(convolution: Instruction) -> bool:
    """Whether there are holes in the base, and not too many phases; the kernel is not reversed."""
    window = convolution.attributes["window"]
    if all(d.base_dilation == 1 for d in window) or any(d.reversal and d.size > 1 for d in window):
        return False
    return prod(map(_phase_count, window)) <= _MOST_PHASES


def by_phases(convolution: Instruction, base: Instruction, kernel: Instruction) -> Instruction:
    """The convolution as one of each phase, or one of all."""
    numbers: ConvolutionDimensions = convolution.attributes["dim_labels"]
    window, shape = convolution.attributes["window"], convolution.shape
    phases = [_phases(dimension) for dimension in window]
    counts = tuple(map(len, phases))
    places = tuple(-(-shape.dimensions[to] // count) for to, count in zip(numbers.output_spatial, counts))
    of_phase = list(shape.dimensions)
    for to, size in zip(numbers.output_spatial, places):
        of_phase[to] = size
    few = shape.dimensions[numbers.output_feature] < _FEW_FEATURES
    groups = convolution.attributes["feature_group_count"] * convolution.attributes["batch_group_count"]
    if few and groups == 1 and all(phase.window_dilation == 1 for one in phases for phase in one):
        stacked = _at_once(convolution, base, kernel, phases, of_phase)
    else:
        stacked = _one_by_one(convolution, base, kernel, phases, of_phase)
    return _interleaved(stacked, counts, numbers.output_spatial, shape.dimensions)


def _phase_count(dimension: WindowDimension) -> int:
    return dimension.base_dilation // gcd(dimension.base_dilation, dimension.stride)


def _phases(dimension: WindowDimension) -> list[_Phase]:
    """The window's position t, at place p, is at p * stride + t * window_dilation - padding_low of the dilated base."""
    holes, count = dimension.base_dilation, _phase_count(dimension)
    common = gcd(holes, dimension.window_dilation)
    step, found = holes // common, []
    for number in range(count):
        start = number * dimension.stride - dimension.padding_low
        meeting = [t for t in range(min(step, dimension.size)) if (start + t * dimension.window_dilation) % holes == 0]
        first = meeting[0] if meeting else dimension.size
        taken = -(-(dimension.size - first) // step)
        stride, dilation = dimension.stride * count // holes, dimension.window_dilation // common
        offset = (start + first * dimension.window_dilation) // holes
        found.append(_Phase(first, step, taken, stride, dilation, offset))
    return found


def _window(base_size: int, places: int, size: int, stride: int, offset: int, dilation: int) -> WindowDimension:
    """The window that has so many places, the first one at this offset in the base."""
    reach = dilated_size(places, stride) + dilated_size(size, dilation) - 1
    return WindowDimension(size, stride, -offset, reach + offset - base_size, window_dilation=dilation)


def _one_by_one(
    convolution: Instruction, base: Instruction, kernel: Instruction, phases: Sequence[list[_Phase]], sizes: list[int]
) -> Instruction:
    """All phases in new leading dimensions, each a convolution by its part of the kernel."""
    numbers, shape = convolution.attributes["dim_labels"], convolution.shape.with_dimensions(tuple(sizes))
    found = []
    for chosen in product(*phases):
        if any(phase.count == 0 for phase in chosen):
            result = hlo.broadcast(hlo.constant(0, shape.element_type), shape.dimensions, ())
        else:
            part = _part_of_kernel(kernel, numbers.kernel_spatial, chosen)
            window = tuple(
                phase.window(base.shape.dimensions[at], sizes[to])
                for phase, at, to in zip(chosen, numbers.input_spatial, numbers.output_spatial)
            )
            result = hlo.convolution(base, part, shape=shape, **(convolution.attributes | {"window": window}))
        found.append(hlo.reshape(result, (1, *shape.dimensions)))
    together = hlo.concatenate(*found, dimensions=(0,))
    return hlo.reshape(together, (*map(len, phases), *shape.dimensions))


def _at_once(
    convolution: Instruction, base: Instruction, kernel: Instruction, phases: Sequence[list[_Phase]], sizes: list[int]
) -> Instruction:
    """The same with the parts of the kernel, filled up with zeros, as output features of one convolution."""
    numbers: ConvolutionDimensions = convolution.attributes["dim_labels"]
    starts, lengths = [], []
    for one in phases:
        used = [phase for phase in one if phase.count]
        starts.append(min((phase.offset for phase in used), default=0))
        lengths.append(max((phase.offset + phase.count for phase in used), default=1) - starts[-1])
    zero, parts = hlo.constant(0, kernel.shape.element_type), []
    for chosen in product(*phases):
        padding = [(0, 0, 0)] * kernel.shape.rank
        part = _part_of_kernel(kernel, numbers.kernel_spatial, chosen)
        for phase, of, start, length in zip(chosen, numbers.kernel_spatial, starts, lengths):
            low = phase.offset - start if phase.count else 0
            padding[of] = (low, length - low - phase.count, 0)
        parts.append(hlo.pad(part, zero, padding=padding))
    joined = hlo.concatenate(*parts, dimensions=(numbers.kernel_output_feature,))
    window = tuple(
        _window(base.shape.dimensions[at], sizes[to], length, one[0].stride, start, 1)
        for one, at, to, start, length in zip(phases, numbers.input_spatial, numbers.output_spatial, starts, lengths)
    )
    feature, counts = numbers.output_feature, tuple(map(len, phases))
    all_sizes = (*sizes[:feature], prod(counts) * sizes[feature], *sizes[feature + 1 :])
    shape = convolution.shape.with_dimensions(all_sizes)
    result = hlo.convolution(base, joined, shape=shape, **(convolution.attributes | {"window": window}))
    apart = hlo.reshape(result, (*sizes[:feature], *counts, *sizes[feature:]))
    order = [*range(feature, feature + len(counts))]
    order += [d for d in range(apart.shape.rank) if d not in order]
    return hlo.transpose(apart, dimensions=order)


def _part_of_kernel(kernel: Instruction, spatial: Sequence[int], chosen: Sequence[_Phase]) -> Instruction:
    starts, limits, steps = [0] * kernel.shape.rank, list(kernel.shape.dimensions), [1] * kernel.shape.rank
    for phase, of in zip(chosen, spatial):
        starts[of], steps[of] = min(phase.first, limits[of]), phase.step
    return hlo.slice(kernel, starts, limits, steps)


def _interleaved(
    stacked: Instruction, counts: tuple[int, ...], spatial: Sequence[int], dimensions: tuple[int, ...]
) -> Instruction:
    """The phases, in leading dimensions, as places of these dimensions."""
    leading, order, sizes = len(counts), [], []
    for d in range(len(dimensions)):
        order.append(leading + d)
        sizes.append(stacked.shape.dimensions[leading + d])
        if d in spatial:
            order.append(spatial.index(d))
            sizes[-1] *= counts[spatial.index(d)]
    result = hlo.reshape(hlo.transpose(stacked, dimensions=order), tuple(sizes))
    if result.shape.dimensions == dimensions:
        return result
    return hlo.slice(result, [0] * len(dimensions), dimensions, [1] * len(dimensions))

"""Histograms: how many elements lie in each bin, or what their weights add up to, in one dimension and in several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, as_index, require_trace
from ..recording.dynamic_array import DynamicArray, dynamic, valid
from ..recording.function_tables import implements, implements_dynamic
from ..recording.operands import as_strong, has_traced, prepare, require, require_same_shape, result
from .sorting import elements_at

# Edges that are so many times as far from one another as the numbers of their dtype are computed to much less than that.
_LEAST_SPACINGS = 64


@implements(np.histogram)
@implements_dynamic(np.histogram)
def histogram(a, bins=10, range=None, density=None, weights=None):
    """The edges are of a size known at run time where the number of bins is, or is estimated."""
    line, weights = _line(a), None if weights is None else np.ravel(as_array(weights))
    if weights is not None:
        require_same_shape(line, weights, ValueError, "weights should have the same shape as a.")
    place: Any = _place_in_equal_bins
    if isinstance(bins, str):
        edges = np.histogram_bin_edges(line, bins, range, weights)
    elif np.ndim(bins) == 0:
        edges, place = _equal_bins(line, _number_of_bins(bins, "`bins` must be positive, when an integer"), range)
    else:
        edges = _given_edges(bins, "`bins` must be 1d, when an array", "`bins` must increase monotonically, when an array")
        place = _place
    counted = _counted([line], [edges], weights, [place])
    counted = counted if weights is None else counted.astype(weights.dtype)
    if density:
        widths = np.diff(edges).astype(np.float64)
        return counted / widths / counted.sum(), edges
    return counted, edges


@implements(np.histogramdd)
@implements_dynamic(np.histogramdd)
def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    lines = _columns(sample)
    if any(line.ndim != 1 for line in lines):
        raise ValueError("too many values to unpack (expected 2)")
    rank = len(lines)
    weights = None if weights is None else as_array(weights)
    if weights is not None:
        require_same_shape(lines[0], weights, ValueError, "The weights and list don't have the same length.")
    if not _is_sequence(bins):
        bins = [bins] * rank
    if len(bins) != rank:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    ranges = [None] * rank if range is None else list(range)
    if len(ranges) != rank:
        raise ValueError("range argument must have one entry per dimension")
    edges = []
    for number, (line, own, limits) in enumerate(zip(lines, bins, ranges)):
        if np.ndim(own) == 0:
            count = _number_of_bins(own, f"`bins[{number}]` must be positive, when an integer")
            edges.append(np.linspace(*_outer_edges(line, limits), count + 1))
        else:
            messages = "must be a scalar or 1d array", "must be monotonically increasing, when an array"
            edges.append(_given_edges(own, *[f"`bins[{number}]` {message}" for message in messages]))
    found = _counted(lines, edges, weights, [_place] * rank).astype(np.float64)
    if density:
        total = found.sum()
        for d, one in enumerate(edges):
            found = found / np.diff(one).reshape([-1 if other == d else 1 for other in _range(rank)])
        found = found / total
    return found, type(np.histogramdd(np.zeros((1, 1)))[1])(edges)


def _is_sequence(bins: Any) -> bool:
    return isinstance(bins, (list, tuple)) or isinstance(bins, (np.ndarray, TracedArray)) and bins.ndim > 0


_range = range  # which functions have an argument of the name of


@implements(np.histogram2d)
@implements_dynamic(np.histogram2d)
def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    x, y = as_array(x), as_array(y)
    if x.ndim and y.ndim:
        require(x.shape[0] == y.shape[0], ValueError, "x and y must have the same length.")
    if _is_sequence(bins) and len(bins) not in (1, 2):
        bins = [bins, bins]
    found, (of_x, of_y) = histogramdd([x, y], bins, range, density, weights)
    return found, of_x, of_y


# --- what is counted ---


def as_array(value: Any) -> TracedArray:
    return value if isinstance(value, DynamicArray) else as_strong(prepare(value))


def _line(a: Any) -> TracedArray:
    """All elements in one dimension, booleans as numbers."""
    a = as_array(a)
    a = a.astype(np.uint8) if a.dtype == bool else a
    return a if a.ndim == 1 else np.ravel(a)


def _bounds(array: TracedArray) -> tuple[int, ...]:
    return array.bounds.dimensions if isinstance(array, DynamicArray) else array.shape


def _columns(sample: Any) -> list[TracedArray]:
    if isinstance(sample, (list, tuple)):
        lines = [as_array(one) for one in sample]
        dtype = np.result_type(*[line.dtype for line in lines]) if lines else None
        if lines and all(not line.ndim for line in lines):
            return [np.stack(lines)]
        return [line if line.dtype == dtype else line.astype(dtype) for line in lines]
    sample = as_array(sample)
    return [sample] if sample.ndim == 1 else [sample[:, number] for number in _range(sample.shape[1])]


def _padded(line: TracedArray) -> TracedArray:
    return line.padded(require_trace(line)) if isinstance(line, DynamicArray) else line


def _inside(line: TracedArray) -> TracedArray | None:
    """Which elements there are; None for all."""
    if not isinstance(line, DynamicArray):
        return None
    trace = require_trace(line)
    return valid(trace, line.bounds.dimensions, line.sizes(trace))


# --- edges ---


def _number_of_bins(bins: Any, message: str) -> Any:
    """Python's integer, or a traced one that cannot become known."""
    if not isinstance(bins, TracedArray) and not hasattr(bins, "__index__"):
        raise TypeError("`bins` must be an integer, a string, or an array")
    if isinstance(bins, TracedArray) and bins.dtype.kind in "iu" and bins.known_value is None:
        trace = require_trace(bins)
        if not trace.may_become_known(bins.recorded(trace)):
            require(bins >= 1, ValueError, message)
            return bins
    count = as_index(bins, "as a number of bins")
    if count < 1:
        raise ValueError(message)
    return count


def _given_edges(bins: Any, of_rank: str, of_order: str) -> TracedArray:
    edges = as_array(bins)
    if edges.ndim != 1:
        raise ValueError(of_rank)
    if isinstance(edges, DynamicArray) or edges.shape[0] > 1:
        require(np.logical_not(np.any(edges[:-1] > edges[1:])), ValueError, of_order)
    return edges


def _equal_bins(line: TracedArray, count: Any, limits: Any) -> tuple[TracedArray, Any]:
    """The edges, and what finds the place of a value between them."""
    first, last = _outer_edges(line, limits)
    if limits is None:  # of no elements NumPy takes the integers 0 and 1
        limits = (first, last) if _padded(line).shape[0] else (0, 1)
    elif has_traced(list(limits)):
        limits = first, last
    kind = np.result_type(*[one.dtype if isinstance(one, TracedArray) else one for one in limits], line.dtype)
    kind = np.result_type(kind, np.float64) if kind.kind in "iu" else kind
    edges, step = np.linspace(first, last, count + 1, dtype=kind, retstep=True)
    how_many = "so many" if isinstance(count, TracedArray) else count
    message = f"Too many bins for data range. Cannot create {how_many} finite-sized bins."
    require(np.all(edges[:-1] < edges[1:]), ValueError, message)
    return edges, _place_in_equal_bins if isinstance(edges, DynamicArray) else _EqualBins(first, last, step, count)


def _outer_edges(line: TracedArray, limits: Any) -> tuple[Any, Any]:
    """Where the bins begin and end: as is asked for, or at the smallest and the largest element."""
    if limits is not None:
        first, last = limits
        if not has_traced([first, last]):
            if first > last:
                raise ValueError("max must be larger than min in range parameter.")
            if not (math.isfinite(first) and math.isfinite(last)):
                raise ValueError(f"supplied range of [{first}, {last}] is not finite")
        first, last = (as_strong(one) for one in (first, last))
        require(first <= last, ValueError, "max must be larger than min in range parameter.")
        require(np.isfinite(first) & np.isfinite(last), ValueError, "the supplied range is not finite")
    else:
        first, last = _extrema(line)
        require(np.isfinite(first) & np.isfinite(last), ValueError, "the autodetected range is not finite")
    is_point = first == last
    return np.where(is_point, first - 0.5, first)[()], np.where(is_point, last + 0.5, last)[()]


def _extrema(line: TracedArray) -> tuple[TracedArray, TracedArray]:
    """The smallest and the largest element; 0 and 1 where there are none."""
    values, inside = _padded(line), _inside(line)
    if not values.shape[0]:
        return tuple(np.full_like(values, number, np.int64, shape=())[()] for number in (0, 1))  # NumPy takes integers
    if inside is None:
        return np.min(values), np.max(values)
    trace = require_trace(line)
    some = line.shape[0] > 0
    first, last = (line.filled(trace, _extreme(line.dtype, sign)) for sign in (1, -1))
    zero, one = (np.asarray(number, line.dtype)[()] for number in (0, 1))
    return np.where(some, np.min(first), zero)[()], np.where(some, np.max(last), one)[()]


def _extreme(kind: np.dtype, sign: int) -> Any:
    if kind.kind == "f":
        return sign * np.inf
    return np.iinfo(kind).max if sign > 0 else np.iinfo(kind).min


# --- counting ---


def _of_length(line: TracedArray, length: int) -> TracedArray:
    """The line, of which as many elements count as of one that has this bound."""
    return line[:length] if len(line) >= length else np.pad(line, (0, length - len(line)))


def _counted(
    lines: Sequence[TracedArray], edges: Sequence[TracedArray], weights: TracedArray | None, places: Sequence[Any]
) -> TracedArray:
    """The weights of the elements in each bin, or how many there are; one scatter adds them up."""
    trace = require_trace(*lines)
    counts = [max(_bounds(one)[0] - 1, 0) for one in edges]
    inside = _inside(lines[0])
    index: Any = 0
    (length,) = _bounds(lines[0])
    for line, own, count, place in zip(lines, edges, counts, places):
        found, is_there = place(_of_length(_padded(line), length), own)
        inside = is_there if inside is None else inside & is_there
        index = index * count + found
    total = math.prod(counts)
    wide = np.dtype(np.int64) if weights is None else np.result_type(weights.dtype, np.float64)
    numbers = np.ones_like(index, wide) if weights is None else _of_length(_padded(weights), length).astype(wide)
    sums = hlo.scatter(
        hlo.full(hlo.Shape(hlo.element_type_of(wide), (total,)), 0), np.where(inside, index, total).instruction(trace),
        numbers.instruction(trace), update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,),
        index_vector_dim=1, to_apply=hlo.scalar_computation("add", hlo.element_type_of(wide)),
    )  # fmt: skip
    found = result(trace, hlo.reshape(sums, counts))
    sizes = {
        d: hlo.maximum(hlo.subtract(one.sizes(trace)[0], 1), 0) for d, one in enumerate(edges) if isinstance(one, DynamicArray)
    }
    return dynamic(trace, found, sizes) if sizes else found


def _place(values: TracedArray, edges: TracedArray) -> tuple[TracedArray, TracedArray]:
    """The bin of each value, and whether there is one: the last one has its upper edge, too."""
    count = edges.shape[0] - 1
    if not isinstance(edges, DynamicArray) and count < 1:
        nowhere = np.zeros_like(values, np.int64)
        return nowhere, nowhere != 0
    found = np.searchsorted(edges, values, "right") - 1
    is_last = values == edges[-1]
    return np.where(is_last, count - 1, found), is_last | (found >= 0) & (found < count)


def _place_in_equal_bins(values: TracedArray, edges: TracedArray) -> tuple[TracedArray, TracedArray]:
    """As `_place`: the quotient tells, but for what lies close to an edge."""
    trace = require_trace(values, edges)
    count, line, last = edges.shape[0] - 1, _padded(edges), edges[-1]
    first, own = line[0], values.astype(edges.dtype)

    def edge(places: TracedArray) -> TracedArray:
        return result(trace, elements_at(line.instruction(trace), places.instruction(trace)))

    return _next_to_edges(own, first, last, count, edge)


def _next_to_edges(own: TracedArray, first: Any, last: Any, count: Any, edge: Any) -> tuple[TracedArray, TracedArray]:
    inside = (own >= first) & (own <= last)
    quotient = np.where(inside, (own - first) / (last - first) * count, 0)
    found = np.minimum(quotient.astype(np.int64), count - 1)
    found = found - (own < edge(found))
    found = found + ((own >= edge(found + 1)) & (found != count - 1))
    return found, inside


class _EqualBins:
    """As `_place_in_equal_bins`, where the number of bins is known: edges are computed as `linspace` does, instead of read.

    Where the range is known, too, and edges lie far from one another for their dtype, what lies close to an edge is found from
    the nearest one alone; and no element is divided.
    """

    def __init__(self, first: TracedArray, last: TracedArray, step: TracedArray, count: int) -> None:
        self.first, self.last, self.step, self.count = first, last, step, count

    def __call__(self, values: TracedArray, edges: TracedArray) -> tuple[TracedArray, TracedArray]:
        own, first, last = values.astype(edges.dtype), self.first.astype(edges.dtype), self.last.astype(edges.dtype)
        bounds = self._known_bounds(edges.dtype)
        if bounds is None:
            return _next_to_edges(own, first, last, self.count, lambda places: self._edge(places, edges.dtype))
        lower, upper = bounds
        inside = (own >= first) & (own <= last)
        quotient = (np.where(inside, own, first) - first) * np.asarray(self.count / (upper - lower), edges.dtype)[()]
        nearest = np.rint(quotient)
        trace = require_trace(nearest)
        place = result(trace, hlo.convert(nearest.instruction(trace), hlo.S32)) - (own < self._edge(nearest, edges.dtype))
        return np.minimum(place, np.int32(self.count - 1)), inside

    def _edge(self, places: TracedArray, kind: np.dtype) -> TracedArray:
        # Where the step is 0, of which linspace computes them otherwise, no edge is above the one before, which is an error.
        return (places.astype(self.step.dtype) * self.step + self.first.astype(self.step.dtype)).astype(kind)

    def _known_bounds(self, kind: np.dtype) -> tuple[float, float] | None:
        first, last = self.first.known_value, self.last.known_value
        if first is None or last is None or kind.kind != "f" or self.count >= 2**31:
            return None
        first, last = float(first), float(last)
        spacing = float(np.spacing(np.asarray(max(abs(first), abs(last)), kind)))
        return (first, last) if (last - first) / self.count >= _LEAST_SPACINGS * spacing else None

"""Functions of numbers that are no ufuncs: parts of complex numbers, rounding, differences, interpolation, polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import hlo
from ...hlo.convolution_dimensions import default_dimensions
from ...hlo.window import make_window
from ..recording import promotion
from ..recording.array import TracedArray, as_index, require_trace
from ..recording.function_tables import implements, implements_dynamic
from ..recording.memory_order import laid_out
from ..recording.operands import as_traced, class_of, has_traced, normalize_axes, normalize_axis, require, result, store
from .sorting import elements_at

_NO_VALUE = np._NoValue


# --- complex numbers ---


def _part(opcode: str):
    def implementation(val):
        val = as_traced(val)
        is_real = opcode == "real"
        if not val.element_type.is_complex:
            if is_real:
                return val
            zeros = np.zeros_like(val)
            zeros.is_scalar, zeros.weak_type = val.is_scalar, val.weak_type
            return zeros if val.is_scalar else TracedArray.view_of(zeros, zeros.shape, lambda trace, base: base, None)
        part_type = hlo.component_type(val.element_type)

        def read(trace, base):
            return hlo.emit(opcode, base)

        def write(trace, base, value):
            other = hlo.emit("imag" if is_real else "real", base)
            return hlo.complex(value, other) if is_real else hlo.complex(other, value)

        between = tuple([2 * step for step in val.element_strides])  # the other part
        return TracedArray.view_of(val, val.shape, read, write, between, part_type)

    return implementation


implements(np.real)(_part("real"))
implements(np.imag)(_part("imag"))


@implements(np.angle)
def angle(z, deg=False):
    z = as_traced(z)
    imaginary, real = (z.imag, z.real) if z.element_type.is_complex else (0, z)
    radians = np.arctan2(imaginary, real)
    return radians * (180 / np.pi) if deg else radians


# --- rounding and cleaning ---


@implements(np.round, np.around)
def round_(a, decimals=0, out=None):
    """The decimals must be known while tracing."""
    a = as_traced(a)
    decimals = as_index(decimals, "as a number of decimals")
    kind = a.element_type.kind
    if kind == "pred":
        rounded = a.astype(np.float16)
    elif kind in ("signed", "unsigned"):
        if decimals >= 0:
            rounded = np.positive(a)
        else:  # as NumPy: through float64
            scale = 10.0**-decimals
            rounded = (np.rint(a / scale) * scale).astype(a.dtype)
    elif decimals == 0:
        rounded = np.rint(a)
    else:
        scale = np.asarray(10.0 ** abs(decimals)).astype(a.real.dtype)[()]
        rounded = np.rint(a * scale) / scale if decimals > 0 else np.rint(a / scale) * scale
    return store(out, rounded, "same_kind")


@implements(np.fix)
def fix(x, out=None):
    return np.trunc(as_traced(x), out=out) if out is not None else np.trunc(as_traced(x))


@implements(np.nan_to_num)
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    x = as_traced(x)
    if x.element_type.is_complex:
        trace = require_trace(x)
        parts = [nan_to_num(part, True, nan, posinf, neginf).instruction(trace) for part in (x.real, x.imag)]
        cleaned = result(trace, hlo.complex(*parts))
    elif not x.element_type.is_float:
        cleaned = np.positive(x) if x.element_type is not hlo.PRED else np.copy(x)
    else:
        limits = np.finfo(x.dtype)
        cleaned = np.where(np.isnan(x), nan, x)
        cleaned = np.where(x == np.inf, limits.max if posinf is None else posinf, cleaned)
        cleaned = np.where(x == -np.inf, limits.min if neginf is None else neginf, cleaned).astype(x.dtype, copy=False)
    if copy or x.is_scalar:
        return laid_out(cleaned, (x,), as_copy=True) if x.ndim else cleaned[()]
    x[...] = cleaned
    return x if x.ndim else x[()]


@implements(np.sinc)
def sinc(x):
    x = as_traced(x)
    if x.element_type is hlo.PRED or x.element_type.is_integer:
        x = x.astype(np.float64)
    y = np.pi * np.where(x == 0, np.asarray(np.finfo(x.dtype).eps, x.dtype)[()], x)
    return np.sin(y) / y


# --- differences and sums ---


@implements(np.diff)
def diff(a, n=1, axis=-1, prepend=_NO_VALUE, append=_NO_VALUE):
    """The number of differences must be known while tracing."""
    n = as_index(n, "as a number of differences")
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    a = as_traced(a)
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis(axis, a.ndim)
    ends = []
    for end in (prepend, append):
        if end is not _NO_VALUE:
            end = as_traced(end) if isinstance(end, TracedArray) else as_traced(end, np.asarray(end).dtype)
            ends.append(np.broadcast_to(end, (*a.shape[:axis], 1, *a.shape[axis + 1 :])) if end.ndim == 0 else end)
        else:
            ends.append(None)
    parts = [part for part in (ends[0], a, ends[1]) if part is not None]
    a = np.concatenate(parts, axis) if len(parts) > 1 else a
    lead = (slice(None),) * axis
    subtract = np.not_equal if a.dtype == bool else np.subtract
    for _ in range(n):
        a = subtract(a[(*lead, slice(1, None))], a[(*lead, slice(None, -1))])
    return a


@implements(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    flat = np.ravel(as_traced(ary))
    parts = [flat[1:] - flat[:-1]]
    for name, end, place in (("to_begin", to_begin, 0), ("to_end", to_end, len(parts))):
        if end is not None:
            end = as_traced(end)
            kind = end.dtype if end.ndim or not end.weak_type else np.result_type(flat.dtype, end.dtype.type(0).item())
            if not np.can_cast(kind, flat.dtype, "same_kind"):
                raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
            parts.insert(len(parts) if place else 0, np.ravel(end.astype(flat.dtype)))
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


@implements(np.gradient)
def gradient(f, *varargs, axis=None, edge_order=1):
    f = as_traced(f)
    axes = normalize_axes(axis, f.ndim)
    if not varargs:
        spacings: list = [1.0] * len(axes)
    elif len(varargs) == 1 and np.ndim(varargs[0]) == 0:
        spacings = list(varargs) * len(axes)
    elif len(varargs) == len(axes):
        spacings = list(varargs)
    else:
        raise TypeError("invalid number of arguments")
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if f.dtype.kind in "iu":
        f = f.astype(np.float64)
    found = []
    for dimension, spacing in zip(axes, spacings):
        message = "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are required."
        require(f.shape[dimension] >= edge_order + 1, ValueError, message)
        found.append(laid_out(_gradient(f, spacing, dimension, edge_order), (f,), as_copy=True))
    return found[0] if len(axes) == 1 else tuple(found)


def _gradient(f: TracedArray, spacing: Any, dimension: int, edge_order: int) -> TracedArray:
    lead = (slice(None),) * dimension

    def at(start: Any, stop: Any = _NO_VALUE) -> TracedArray:
        if stop is _NO_VALUE:
            return f[(*lead, slice(start, start + 1 if start != -1 else None))]
        return f[(*lead, slice(start, stop))]

    if np.ndim(spacing) == 0:
        inner = (at(2, None) - at(None, -2)) / (2.0 * spacing)
        if edge_order == 1:
            first, last = (at(1) - at(0)) / spacing, (at(-1) - at(-2)) / spacing
        else:
            first = (-1.5 / spacing) * at(0) + (2.0 / spacing) * at(1) + (-0.5 / spacing) * at(2)
            last = (0.5 / spacing) * at(-3) + (-2.0 / spacing) * at(-2) + (1.5 / spacing) * at(-1)
    else:
        spacing = as_traced(spacing)
        steps = np.diff(spacing.astype(np.float64) if spacing.dtype.kind in "iu" else spacing)
        require(steps.ndim == 1, ValueError, "distances must be either scalars or 1d")
        message = "when 1d, distances must match the length of the corresponding dimension"
        require(steps.shape[0] + 1 == f.shape[dimension], ValueError, message)
        before, after = (part.reshape((-1,) + (1,) * (f.ndim - dimension - 1)) for part in (steps[:-1], steps[1:]))
        inner = (
            -after / (before * (before + after)) * at(None, -2)
            + (after - before) / (before * after) * at(1, -1)
            + before / (after * (before + after)) * at(2, None)
        )
        if edge_order == 1:
            first, last = (at(1) - at(0)) / steps[0], (at(-1) - at(-2)) / steps[-1]
        else:
            h1, h2 = steps[0], steps[1]
            first = -(2 * h1 + h2) / (h1 * (h1 + h2)) * at(0) + (h1 + h2) / (h1 * h2) * at(1) - h1 / (h2 * (h1 + h2)) * at(2)
            h1, h2 = steps[-2], steps[-1]
            last = h2 / (h1 * (h1 + h2)) * at(-3) - (h2 + h1) / (h1 * h2) * at(-2) + (2 * h2 + h1) / (h2 * (h1 + h2)) * at(-1)
    return np.concatenate([first, inner, last], dimension).astype(f.dtype, copy=False)


@implements(np.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = as_traced(y)
    axis = normalize_axis(axis, y.ndim)
    if x is None:
        width = dx
    else:
        x = as_traced(x)
        width = np.diff(x, axis=0 if x.ndim == 1 else axis)
        if x.ndim == 1:
            width = width.reshape([-1 if dimension == axis else 1 for dimension in range(y.ndim)])
    lead = (slice(None),) * axis
    return (width * (y[(*lead, slice(1, None))] + y[(*lead, slice(None, -1))]) / 2.0).sum(axis)


@implements(np.interp)
def interp(x, xp, fp, left=None, right=None, period=None):
    """A binary search for all x at once, and the line through the two points that it ends at."""
    x, xp, fp = as_traced(x, np.dtype(np.float64)), as_traced(xp, np.dtype(np.float64)), as_traced(fp)
    fp = fp.astype(np.complex128 if fp.element_type.is_complex else np.float64, copy=False)
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("object too deep for desired array")
    count = xp.shape[0]
    require(count == fp.shape[0], ValueError, "fp and xp are not of the same length.")
    require(count > 0, ValueError, "array of sample points is empty")
    if fp.element_type.is_complex:
        return _complex_interp(x, xp, fp, left, right, period)
    if period is not None:
        x, xp, fp = _around_a_period(x, xp, fp, period)
        left, right, count = None, None, xp.shape[0]
    place = np.clip(np.searchsorted(xp, x, "right") - 1, 0, np.maximum(count - 2, 0))
    after = np.minimum(place + 1, count - 1)
    x0, x1, f0, f1 = _at(xp, place), _at(xp, after), _at(fp, place), _at(fp, after)
    slope = (f1 - f0) / (x1 - x0)
    inside = slope * (x - x0) + f0
    # Where one end of the line is not finite the other one may do.
    inside = np.where(np.isnan(inside), slope * (x - x1) + f1, inside)
    inside = np.where(np.isnan(inside) & (f0 == f1), f0, inside)
    inside = np.where(x == x0, f0, inside)
    inside = np.where(x < xp[0], fp[0] if left is None else left, inside)
    inside = np.where(x == xp[-1], fp[-1], np.where(x > xp[-1], fp[-1] if right is None else right, inside))
    return np.where(np.isnan(x), x, inside)[()]


def _complex_interp(x: TracedArray, xp: TracedArray, fp: TracedArray, left: Any, right: Any, period: Any) -> TracedArray:
    """The real and the imaginary parts lie on lines of their own: infinities of one leave the other as it is."""
    real, imag = (
        interp(x, xp, part(fp), *(None if end is None else part(as_traced(end)) for end in (left, right)), period)
        for part in (np.real, np.imag)
    )
    imag = np.where(np.isnan(x), 0.0, imag)
    trace = require_trace(real, imag)
    whole = result(trace, hlo.complex(*(as_traced(one).instruction(trace) for one in (real, imag))))
    return whole[()]


def _at(line: TracedArray, positions: TracedArray) -> TracedArray:
    """Elements of a line at positions that it has."""
    trace = require_trace(line, positions)
    line = line.padded(trace) if line.is_dynamic else line
    if positions.is_dynamic:
        return line[positions]
    return result(trace, elements_at(line.instruction(trace), positions.instruction(trace)))


def _around_a_period(x: TracedArray, xp: TracedArray, fp: TracedArray, period: Any) -> tuple[TracedArray, ...]:
    """The sample points moved into one period and sorted, with the last one before the first, and the first behind the last."""
    require(period != 0, ValueError, "period must be a non-zero value")
    period = np.abs(period)
    folded = np.remainder(xp, period)
    order = np.argsort(folded, kind="stable")
    xp, fp = (_at(one, order) for one in (folded, fp))
    xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return np.remainder(x, period), xp, np.concatenate([fp[-1:], fp, fp[:1]])


@implements(np.unwrap)
def unwrap(p, discont=None, axis=-1, *, period=2 * np.pi):
    p = as_traced(p)
    axis = normalize_axis(axis, p.ndim)
    step = diff(p, axis=axis)
    discont = period / 2 if discont is None else discont
    kind = promotion.result_dtype([step.dtype_class, class_of(period)])
    if kind.kind in "iu":
        high, odd = divmod(period, 2)
        boundary_ambiguous = odd == 0
    else:
        high, boundary_ambiguous = period / 2, True
    low = -high
    wrapped = np.mod(step - low, period) + low
    if boundary_ambiguous:
        wrapped = np.where((wrapped == low) & (step > 0), high, wrapped)
    correction = np.where(abs(step) < discont, 0, wrapped - step)
    lead = (slice(None),) * axis
    unwrapped = p.astype(kind)
    unwrapped[(*lead, slice(1, None))] = p[(*lead, slice(1, None))] + np.cumsum(correction, axis)
    return unwrapped


# --- polynomials ---


@implements(np.polyval)
def polyval(p, x):
    coefficients = np.asarray(p) if not has_traced(p) else as_traced(p)
    x = as_traced(x)
    total = np.zeros_like(x)
    for coefficient in coefficients:
        total = total * x + coefficient
    return total


@implements(np.polyadd)
def polyadd(a1, a2):
    return _poly_sum(a1, a2, np.add)


@implements(np.polysub)
def polysub(a1, a2):
    return _poly_sum(a1, a2, np.subtract)


def _poly_sum(a1: Any, a2: Any, combine: Any) -> TracedArray:
    a1, a2 = np.atleast_1d(as_traced(a1), as_traced(a2))
    size = max(len(a1), len(a2))
    return combine(*(np.concatenate([np.zeros_like(one, shape=(size - len(one),)), one]) for one in (a1, a2)))


@implements(np.polyder)
def polyder(p, m=1):
    """The order must be known while tracing."""
    p = as_traced(p)
    for _ in range(as_index(m, "as an order")):
        p = p[:-1] * np.arange(len(p) - 1, 0, -1)
    return p


@implements(np.polymul)
@implements_dynamic(np.polymul)
def polymul(a1, a2):
    """Without the leading zeros of the two, which depend on contents."""
    return np.convolve(*(_without_leading_zeros(one) for one in (a1, a2)))


def _without_leading_zeros(p: Any) -> TracedArray:
    p = np.atleast_1d(as_traced(p))
    if not p.is_dynamic and not p.size:
        return np.zeros_like(p, shape=(1,))
    first = np.minimum(np.argmax(p != 0) + np.where(np.any(p != 0), 0, p.shape[0]), p.shape[0] - 1)
    return p[first:]


@implements(np.convolve)
def convolve(a, v, mode="full"):
    a, v = as_traced(a), as_traced(v)
    a, v = np.atleast_1d(a, v)
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError("object too deep for desired array")
    if len(a) == 0 or len(v) == 0:
        raise ValueError(f"{'a' if len(a) == 0 else 'v'} cannot be empty")
    if len(v) > len(a):
        a, v = v, a
    return _slide(a, v[::-1], mode)


@implements(np.correlate)
def correlate(a, v, mode="valid"):
    a, v = as_traced(a), as_traced(v)
    v = np.conjugate(v) if v.element_type.is_complex else v  # of bools that would be integers
    if len(a) == 0 or len(v) == 0:
        raise ValueError(f"{'a' if len(a) == 0 else 'v'} cannot be empty")
    if len(v) > len(a):
        return _slide(v, a, mode)[::-1]
    return _slide(a, v, mode)


_MODES = ("valid", "same", "full")


def _mode_named(mode: Any) -> str:
    """The mode of a convolution, which NumPy takes as a number from 0 to 2, too."""
    if isinstance(mode, str):
        if mode not in _MODES:
            raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
        return mode
    if mode is None:
        raise TypeError("convolve/correlate mode not understood")
    number = as_index(mode, "as a mode of a convolution")
    if not 0 <= number < len(_MODES):
        raise ValueError("integer convolve/correlate mode must be 0, 1, or 2")
    return _MODES[number]


def _slide(a: TracedArray, v: TracedArray, mode: str) -> TracedArray:
    """Sums of products of v with each piece of a (len(v) <= len(a)), padded with zeros as the mode says."""
    kind = promotion.result_dtype([a.dtype_class, v.dtype_class])
    a, v = a.astype(kind, copy=False), v.astype(kind, copy=False)
    n, m = len(a), len(v)
    mode = _mode_named(mode)
    left = {"full": m - 1, "valid": 0, "same": m // 2}[mode]
    size = {"full": n + m - 1, "valid": n - m + 1, "same": n}[mode]
    trace = require_trace(a)
    element_type = a.element_type
    signal, kernel = (hlo.reshape(x.instruction(trace), (1, 1, len(x))) for x in (a, v))
    wide = hlo.F32 if element_type.is_float and element_type.bits < 32 else None
    padding = [(left, size + m - 1 - n - left)]
    attributes = {"window": make_window((m,), (1,), padding), "dim_labels": default_dimensions(1)}
    sums = hlo.in_preferred_type("convolution", (signal, kernel), wide, attributes)
    return result(trace, hlo.convert(hlo.reshape(sums, (size,)), element_type))

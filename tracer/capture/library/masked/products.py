"""Products and fits of masked arrays, and what `numpy.ma` makes of its ufuncs' methods."""

import numpy as np
from numpy.ma import nomask

from . import making
from .array import MaskedArray, fill_of, filled, getdata, getmask, getmaskarray
from .elementwise import FUNCTIONS, product


def reduce(self, target, axis=0, dtype=None):
    ufunc, mask = self.f, getmask(target)
    data = filled(target, self.filly)
    if data.ndim == 0:
        data, mask = data.reshape(1), mask if mask is nomask else mask.reshape(1)
    found = ufunc.reduce(data, axis) if mask is nomask else ufunc.reduce(data, axis, dtype=dtype)
    mask = mask if mask is nomask else np.all(mask, axis=axis)
    return MaskedArray(found, mask, fill_of(target), is_decided=np.ndim(found) == 0)


def accumulate(self, target, axis=0):
    return MaskedArray(self.f.accumulate(filled(target, self.filly), axis), nomask)


def outer_of_ufunc(self, a, b):
    first, found, mask = getdata(a), self.f.outer(getdata(a), getdata(b)), nomask
    if getmask(a) is not nomask or getmask(b) is not nomask:
        mask = np.logical_or.outer(getmaskarray(a), getmaskarray(b))
        found = np.where(mask, first.astype(found.dtype), found)
    return MaskedArray(found, mask, is_decided=np.ndim(found) == 0)


# --- products ---


def outer(a, b):
    found = np.outer(np.ravel(filled(a, 0)), np.ravel(filled(b, 0)))
    if getmask(a) is nomask and getmask(b) is nomask:
        return MaskedArray(found, nomask)
    return MaskedArray(found, np.logical_or.outer(np.ravel(getmaskarray(a)), np.ravel(getmaskarray(b))))


def inner(a, b):
    found = np.inner(np.atleast_1d(filled(a, 0)), np.atleast_1d(filled(b, 0)))
    return MaskedArray(found, nomask, is_decided=np.ndim(found) == 0)


def dot(a, b, strict=False, out=None):
    if out is not None:
        raise NotImplementedError("np.ma.dot with out= is not implemented in traced functions")
    if strict:
        if getdata(a).ndim != 2 or getdata(b).ndim != 2:
            raise NotImplementedError(
                "np.ma.dot with strict=True of other than matrices is not implemented in traced functions"
            )
        a, b = _without_lines(a, 1), _without_lines(b, 0)
    return product(np.dot, a, b)


def _without_lines(a, along):
    """With all elements of a line masked where one is."""
    mask = getmaskarray(a)
    return MaskedArray(getdata(a), np.broadcast_to(np.any(mask, axis=along, keepdims=True), mask.shape), fill_of(a))


def trace(self, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """A float, unless a type is given."""
    dtype = np.float64 if dtype is None else dtype
    if self.mask is nomask:
        return np.trace(self.data, offset, axis1, axis2).astype(dtype)
    return self.diagonal(offset, axis1, axis2).astype(dtype).filled(0).sum(axis=-1)


def _with_window(function, default):
    def call(a, v, mode=default, propagate_mask=True):
        if propagate_mask:
            mask = function(getmaskarray(a), np.ones(np.shape(getdata(v)), bool), mode=mode)
            mask = mask | function(np.ones(np.shape(getdata(a)), bool), getmaskarray(v), mode=mode)
            return MaskedArray(function(getdata(a), getdata(v), mode=mode), mask)
        there = function(~getmaskarray(a), ~getmaskarray(v), mode=mode)
        return MaskedArray(function(filled(a, 0), filled(v, 0), mode=mode), ~there)

    return call


# --- fits and covariances ---


def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    mask = getmaskarray(x)
    rows = getmaskarray(y)
    mask = mask | (rows if rows.ndim == 1 else np.any(rows, axis=1))
    if w is not None:
        mask = mask | getmaskarray(w)
    if full or cov or rows.ndim > 1:
        raise NotImplementedError("np.ma.polyfit with full=, cov= or several series is not implemented in traced functions")
    # What is masked has no weight, and no place.
    weights = np.where(mask, 0.0, 1.0 if w is None else getdata(w))
    x, y = (np.where(mask, 0, getdata(one)) for one in (x, y))
    powers = np.vander(x + 0.0, deg + 1) * weights[:, None]
    scale = np.sqrt((powers * powers).sum(axis=0))
    if rcond is None:
        rcond = np.sum(~mask) * np.finfo(x.dtype if x.dtype.kind == "f" else np.float64).eps
    found, _, _, _ = np.linalg.lstsq(powers / scale, (y + 0.0) * weights, rcond)
    return found / scale


def _centered(x, y, rowvar):
    """What is without a mean, and where it is there."""
    x = making.array(x, copy=True, dtype=float)
    x = x.reshape((1,) * (2 - x.ndim) + x.shape) if x.ndim < 2 else x
    rowvar = 1 if x.shape[0] == 1 else int(bool(rowvar))
    if y is not None:
        y = making.array(y, copy=False, dtype=float)
        y = y.reshape((1,) * (2 - y.ndim) + y.shape) if y.ndim < 2 else y
        if y.shape == x.shape:
            mask = getmaskarray(x) | getmaskarray(y)
            x, y = MaskedArray(x.data, mask), MaskedArray(y.data, mask)
        x = making.concatenate((x, y), 1 - rowvar)
    there = np.where(getmaskarray(x), 0.0, 1.0)
    center = x.mean(axis=rowvar, keepdims=True)
    return MaskedArray(x.data - np.where(getmaskarray(center), 0, center.data), getmask(x)), there, rowvar


def cov(x, y=None, rowvar=True, bias=False, allow_masked=True, ddof=None):
    if not allow_masked:
        raise NotImplementedError("np.ma.cov with allow_masked=False is not implemented in traced functions")
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be an integer")
    if ddof is None:
        ddof = 0 if bias else 1
    x, there, rowvar = _centered(x, y, rowvar)
    data = x.filled(0)
    if not rowvar:
        data, there = data.T, there.T
    count = there @ there.T - ddof
    with np.errstate(divide="ignore", invalid="ignore"):
        found = data @ data.T.conj() / count
    return MaskedArray(found, count <= 0).squeeze()


def corrcoef(x, y=None, rowvar=True, allow_masked=True):
    found = cov(x, y, rowvar, allow_masked=allow_masked)
    if found.ndim < 2:
        return np.ma.masked
    deviation = FUNCTIONS[np.sqrt](found.diagonal())
    found /= MaskedArray(
        np.multiply.outer(deviation.data, deviation.data),
        np.logical_or.outer(getmaskarray(deviation), getmaskarray(deviation)),
    )
    return found


FUNCTIONS_OF_PRODUCTS = {
    "convolve": _with_window(np.convolve, "full"), "corrcoef": corrcoef, "correlate": _with_window(np.correlate, "valid"),
    "cov": cov, "dot": dot, "inner": inner, "innerproduct": inner, "outer": outer, "outerproduct": outer, "polyfit": polyfit,
    "trace": lambda a, *args, **kwargs: making.array(a).trace(*args, **kwargs),
}  # fmt: skip

MaskedArray.trace = trace

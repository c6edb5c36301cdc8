"""Reductions of masked arrays: of what is not masked; where all is, the result is masked."""

import numpy as np
from numpy.ma import nomask

from .array import MaskedArray, filled, getdata, getmaskarray, without_out
from .elementwise import FUNCTIONS
from .making import array

_absolute, _divide, _multiply = FUNCTIONS[np.absolute], FUNCTIONS[np.true_divide], FUNCTIONS[np.multiply]


def _reduced(a, data, axis, keepdims=False):
    mask = a.mask if a.mask is nomask else np.all(a.mask, axis=axis, keepdims=keepdims)
    return MaskedArray(data, mask, a.fill, a.is_hard, is_decided=np.ndim(data) == 0)


def _largest(dtype):
    return True if dtype.kind == "b" else np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def smallest(dtype):
    return False if dtype.kind == "b" else -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def sum(self, axis=None, dtype=None, out=None, keepdims=False):
    without_out(out)
    return _reduced(self, np.sum(self.filled(0), axis=axis, dtype=dtype, keepdims=keepdims), axis, keepdims)


def prod(self, axis=None, dtype=None, out=None, keepdims=False):
    without_out(out)
    return _reduced(self, np.prod(self.filled(1), axis=axis, dtype=dtype, keepdims=keepdims), axis, keepdims)


def mean(self, axis=None, dtype=None, out=None, keepdims=False):
    without_out(out)
    if self.mask is nomask:
        found = _reduced(self, np.mean(self.data, axis=axis, dtype=dtype, keepdims=keepdims), axis, keepdims)
        if found.dtype.kind != "f":
            return found
        # As a quotient by a ufunc, for which infinity cannot be divided.
        mask = np.isinf(found.data)
        data = np.where(mask, np.ones((), found.dtype), found.data)
        return MaskedArray(data, mask, self.fill, self.is_hard, is_decided=found.is_decided)
    if dtype is None and self.data.dtype.kind in "iub":
        dtype = np.float64
    is_narrow = dtype is None and self.data.dtype == np.float16
    total = sum(self, axis, np.float32 if is_narrow else dtype, keepdims=keepdims)
    found = total * 1.0 / self.count(axis=axis, keepdims=keepdims)
    if is_narrow:
        found = found.astype(np.float16)
    found.is_decided = found.ndim == 0
    return found


def anom(self, axis=None, dtype=None):
    return self - mean(self, axis, dtype, keepdims=axis is not None)


def var(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    without_out(out)
    if self.mask is nomask:
        return _reduced(self, np.var(self.data, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims), axis, keepdims)
    count = self.count(axis=axis, keepdims=keepdims) - ddof
    apart = self - mean(self, axis, dtype, keepdims=True)
    apart.is_decided = False
    squares = _absolute(apart) ** 2 if self.data.dtype.kind == "c" else apart * apart
    found = _divide(sum(squares, axis, keepdims=keepdims), count)
    mask = np.all(self.mask, axis=axis, keepdims=keepdims) | (count <= 0)
    return MaskedArray(found.data, mask, self.fill, self.is_hard, is_decided=found.ndim == 0)


def std(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    return FUNCTIONS[np.sqrt](var(self, axis, dtype, out, ddof, keepdims))


def _extreme(self, reduction, fill, axis, keepdims):
    found = _reduced(self, reduction(self.filled(fill), axis=axis, keepdims=keepdims), axis, keepdims)
    if found.mask is not nomask and found.ndim:
        found.data = np.where(found.mask, found.fill_value, found.data)
    return found


def min(self, axis=None, out=None, fill_value=None, keepdims=False):
    without_out(out)
    return _extreme(self, np.min, _largest(self.data.dtype) if fill_value is None else fill_value, axis, keepdims)


def max(self, axis=None, out=None, fill_value=None, keepdims=False):
    without_out(out)
    return _extreme(self, np.max, smallest(self.data.dtype) if fill_value is None else fill_value, axis, keepdims)


def ptp(self, axis=None, out=None, fill_value=None, keepdims=False):
    return max(self, axis, out, fill_value, keepdims) - min(self, axis, out, fill_value, keepdims)


def argmin(self, axis=None, fill_value=None, out=None):
    without_out(out)
    return np.argmin(self.filled(_largest(self.data.dtype) if fill_value is None else fill_value), axis=axis)


def argmax(self, axis=None, fill_value=None, out=None):
    without_out(out)
    return np.argmax(self.filled(smallest(self.data.dtype) if fill_value is None else fill_value), axis=axis)


def any(self, axis=None, out=None, keepdims=False):
    without_out(out)
    return _reduced(self, np.any(self.filled(False), axis=axis, keepdims=keepdims), axis, keepdims)


def all(self, axis=None, out=None, keepdims=False):
    without_out(out)
    return _reduced(self, np.all(self.filled(True), axis=axis, keepdims=keepdims), axis, keepdims)


def _along(self, data, axis):
    return self.like(data, self.mask if self.mask is nomask or axis is not None else self.mask.ravel())


def cumsum(self, axis=None, dtype=None, out=None):
    without_out(out)
    return _along(self, np.cumsum(self.filled(0), axis=axis, dtype=dtype), axis)


def cumprod(self, axis=None, dtype=None, out=None):
    without_out(out)
    return _along(self, np.cumprod(self.filled(1), axis=axis, dtype=dtype), axis)


METHODS = (all, anom, any, argmax, argmin, cumprod, cumsum, max, mean, min, prod, ptp, std, sum, var)
for _method in METHODS:
    setattr(MaskedArray, _method.__name__, _method)


# --- with weights, and by order ---


def average(a, axis=None, weights=None, returned=False, keepdims=False):
    a = array(a)
    if weights is None:
        found, total = mean(a, axis, keepdims=keepdims), a.count(axis, keepdims=keepdims) * 1.0
        return (found, total) if returned else found
    weights = getdata(weights)
    if weights.shape != a.shape:
        if axis is None or weights.ndim != 1:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        weights = weights.reshape([-1 if place == axis % a.ndim else 1 for place in range(a.ndim)])
    weights = np.where(getmaskarray(a), 0, weights)
    kind = np.result_type(a.dtype, weights.dtype, *["f8"] * (a.dtype.kind in "iub"))
    total = np.sum(weights, axis=axis, keepdims=keepdims, dtype=kind)
    found = _divide(sum(_multiply(a, weights), axis, kind, keepdims=keepdims), total)
    found = MaskedArray(found.data, found.mask, is_decided=found.ndim == 0)
    return (found, total) if returned else found


def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    without_out(out)
    a = array(a)
    if a.mask is nomask:
        data = np.median(a.data, axis=axis, keepdims=keepdims)
        return MaskedArray(data, nomask, is_decided=True)
    if axis is None:
        a, axis = a.reshape([-1] + [1] * (a.ndim - 1)) if keepdims else a.ravel(), 0
    if a.dtype.kind != "f":
        a = a.astype(np.float64)
    data, count = np.sort(a.filled(np.inf), axis=axis), a.count(axis, keepdims=True)
    low, high = np.maximum((count - 1) // 2, 0), np.minimum(count // 2, a.shape[axis] - 1)
    middle = (np.take_along_axis(data, low, axis) + np.take_along_axis(data, high, axis)) / 2
    mask = count == 0
    middle = np.where(mask, np.zeros((), middle.dtype), middle)
    if not keepdims:
        middle, mask = np.squeeze(middle, axis), np.squeeze(mask, axis)
    return MaskedArray(middle, mask, is_decided=middle.ndim == 0)


def count_masked(arr, axis=None):
    return np.sum(getmaskarray(arr), axis=axis)


def allequal(a, b, fill_value=True):
    mask = getmaskarray(a) | getmaskarray(b)
    return np.all(np.where(mask, fill_value, getdata(a) == getdata(b)))


def allclose(a, b, masked_equal=True, rtol=1e-5, atol=1e-8):
    mask = getmaskarray(a) | getmaskarray(b)
    close = np.isclose(filled(a), filled(b), rtol=rtol, atol=atol)
    return np.all(np.where(mask, masked_equal, close))

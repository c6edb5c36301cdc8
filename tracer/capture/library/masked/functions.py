"""What stands for the functions of `numpy.ma`, and for NumPy's own where they are given masked arrays."""

import numpy as np
from numpy.ma import nomask

from . import arrangement, making, products, reductions
from . import array as parts
from .array import MaskedArray, either, getdata, getmask
from .elementwise import FUNCTIONS, unary

_METHODS = (
    "clip", "compress", "compressed", "copy", "count", "diagonal", "nonzero", "ravel", "repeat", "reshape", "round",
    "squeeze", "swapaxes", "take", "transpose",
    *[method.__name__ for method in reductions.METHODS],
)  # fmt: skip
# NumPy's functions that are those methods.
_METHODS_OF_NUMPY = (
    "all", "any", "argmax", "argmin", "argsort", "clip", "cumprod", "cumsum", "diagonal", "max", "mean", "min", "nonzero",
    "prod", "ptp", "ravel", "repeat", "reshape", "round", "squeeze", "std", "sum", "swapaxes", "take", "trace", "transpose",
    "var",
)  # fmt: skip
# Those of NumPy's that look at the data alone, and give arrays.
_OF_DATA = (
    np.array_equal, np.bincount, np.broadcast_to, np.convolve, np.copy, np.corrcoef, np.correlate, np.count_nonzero,
    np.cov, np.cross, np.diag, np.digitize, np.dot, np.einsum, np.histogram, np.interp, np.isin, np.lexsort,
    np.linalg.norm, np.outer, np.polyfit, np.searchsorted, np.select, np.tensordot, np.tril, np.triu, np.vander,
    np.where,
)  # fmt: skip


def _method(name):
    def call(a, *args, **kwargs):
        return getattr(a if isinstance(a, MaskedArray) else making.array(a), name)(*args, **kwargs)

    return call


def is_masked_array(x):
    return isinstance(x, MaskedArray)


def is_masked(x):
    mask = getmask(x)
    return False if mask is nomask else mask.any()


def mask_or(m1, m2, copy=False, shrink=True):
    return either(m1, m2)


def _extremum(comparison):
    return lambda a, b: making.where(FUNCTIONS[comparison](a, b), a, b)


def argsort(a, axis=-1, kind=None, order=None, endwith=True, fill_value=None):
    if order is not None:
        raise NotImplementedError("np.ma.argsort with order= is not implemented in traced functions")
    if fill_value is None:
        if not endwith:
            fill_value = reductions.smallest(a.dtype)
        else:
            fill_value = np.nan if a.dtype.kind == "f" else np.iinfo(a.dtype).max
    return np.argsort(a.filled(fill_value), axis=axis, kind=kind)


def sort(a, axis=-1, kind=None, order=None, endwith=True, fill_value=None):
    a = making.array(a, copy=True)
    sort_in_place(a, axis, kind, order, endwith, fill_value)
    return a


def sort_in_place(self, axis=-1, kind=None, order=None, endwith=True, fill_value=None):
    places = argsort(self, axis, kind, order, endwith, fill_value)
    self.data[...] = np.take_along_axis(self.data, places, axis)
    if self.mask is not nomask:
        self.mask[...] = np.take_along_axis(self.mask, places, axis)


def round_(a, decimals=0, out=None):
    parts.without_out(out)
    return making.array(a).round(decimals)


def average(a, axis=None, weights=None, returned=False, keepdims=False):
    """NumPy's own, whose weights are those of masked elements, too."""
    if weights is None or returned:
        return reductions.average(a, axis, weights, returned, keepdims=keepdims)
    weights = getdata(weights)
    if weights.shape != a.shape:
        weights = weights.reshape([-1 if place == axis % a.ndim else 1 for place in range(a.ndim)])
    total = np.sum(np.broadcast_to(weights, a.shape), axis=axis, keepdims=keepdims)
    found = (a * weights).sum(axis, keepdims=keepdims)
    return found / total


def allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    """NumPy's own, for which nothing is close where all is masked."""
    mask = parts.getmaskarray(a) | parts.getmaskarray(b)
    close = np.isclose(getdata(a), getdata(b), rtol, atol, equal_nan)
    return bool(np.all(close | mask) & ~np.all(mask))


MaskedArray.argsort, MaskedArray.sort = argsort, sort_in_place
BY_NAME = {
    **{name: _method(name) for name in _METHODS},
    **{ufunc.__name__: function for ufunc, function in FUNCTIONS.items()},
    **making.FUNCTIONS_OF_MAKING, **arrangement.FUNCTIONS_OF_ARRANGEMENT, **products.FUNCTIONS_OF_PRODUCTS,
    "abs": FUNCTIONS[np.absolute], "allclose": reductions.allclose, "allequal": reductions.allequal, "argsort": argsort,
    "angle": unary(np.angle), "around": unary(np.round),
    "average": reductions.average, "count_masked": reductions.count_masked, "divide": FUNCTIONS[np.true_divide],
    "filled": parts.filled, "getdata": parts.getdata, "getmask": parts.getmask, "getmaskarray": parts.getmaskarray,
    "isMA": is_masked_array, "isMaskedArray": is_masked_array, "is_masked": is_masked, "isarray": is_masked_array,
    "mask_or": mask_or, "maximum": _extremum(np.greater), "median": reductions.median, "minimum": _extremum(np.less),
    "mod": FUNCTIONS[np.remainder], "round_": round_, "sort": sort,
}  # fmt: skip


def _of_data(function):
    def call(*args, **kwargs):
        args = [getdata(one) if isinstance(one, MaskedArray) else one for one in args]
        kwargs = {name: getdata(one) if isinstance(one, MaskedArray) else one for name, one in kwargs.items()}
        return function(*args, **kwargs)

    return call


_OF_NUMPY = {
    **{getattr(np, name): _method(name) for name in _METHODS_OF_NUMPY},
    **{function: _of_data(function) for function in _OF_DATA}, **arrangement.OF_NUMPY,
    np.amax: _method("max"), np.amin: _method("min"), np.allclose: allclose, np.around: _method("round"), np.average: average,
    np.expand_dims: making.expand_dims, np.imag: lambda a: a.imag, np.ndim: lambda a: a.ndim, np.real: lambda a: a.real,
    np.shape: lambda a: a.shape, np.size: lambda a: a.size, np.sort: sort,
}  # fmt: skip


def of_function(self, function, types, args, kwargs):
    if function not in _OF_NUMPY:
        raise NotImplementedError(f"np.{function.__name__} of masked arrays is not implemented in traced functions")
    return _OF_NUMPY[function](*args, **kwargs)


MaskedArray.__array_function__ = of_function

"""What stands for the functions of `numpy.ma`, and for NumPy's own where they are given masked arrays."""

import numpy as np
from numpy.ma import nomask

from . import array as parts
from . import making, reductions
from .array import MaskedArray, either, getdata, getmask
from .elementwise import FUNCTIONS, product

_METHODS = (
    "clip", "compressed", "copy", "count", "diagonal", "nonzero", "ravel", "repeat", "reshape", "round", "squeeze", "swapaxes",
    "take", "transpose", *[method.__name__ for method in reductions.METHODS],
)  # fmt: skip
# NumPy's functions that are those methods.
_METHODS_OF_NUMPY = (
    "all", "any", "argmax", "argmin", "clip", "cumprod", "cumsum", "diagonal", "max", "mean", "min", "nonzero", "prod", "ptp",
    "ravel", "repeat", "reshape", "round", "squeeze", "std", "sum", "swapaxes", "take", "transpose", "var",
)  # fmt: skip
_OF_DATA = (np.copy, np.where, np.full_like, np.isin, np.unique, np.bincount, np.searchsorted)


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


def dot(a, b, strict=False, out=None):
    parts.without_out(out)
    if strict:
        raise NotImplementedError("np.ma.dot with strict= is not implemented in traced functions")
    return product(np.dot, a, b)


def _extremum(comparison):
    return lambda a, b: making.where(FUNCTIONS[comparison](a, b), a, b)


def argsort(a, axis=-1, kind=None, order=None, endwith=True, fill_value=None):
    if order is not None or not endwith:
        raise NotImplementedError("np.ma.argsort with order= or endwith=False is not implemented in traced functions")
    if fill_value is None:
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


MaskedArray.argsort, MaskedArray.sort = argsort, sort_in_place
BY_NAME = {
    **{name: _method(name) for name in _METHODS},
    **{ufunc.__name__: function for ufunc, function in FUNCTIONS.items()},
    **making.FUNCTIONS_OF_MAKING,
    "abs": FUNCTIONS[np.absolute], "allclose": reductions.allclose, "allequal": reductions.allequal, "argsort": argsort,
    "average": reductions.average, "count_masked": reductions.count_masked, "divide": FUNCTIONS[np.true_divide], "dot": dot,
    "filled": parts.filled, "getdata": parts.getdata, "getmask": parts.getmask, "getmaskarray": parts.getmaskarray,
    "isMA": is_masked_array, "isMaskedArray": is_masked_array, "is_masked": is_masked, "isarray": is_masked_array,
    "mask_or": mask_or, "maximum": _extremum(np.greater), "median": reductions.median, "minimum": _extremum(np.less),
    "mod": FUNCTIONS[np.remainder], "sort": sort,
}  # fmt: skip


def _of_data(function):
    def call(*args, **kwargs):
        args = [getdata(one) if isinstance(one, MaskedArray) else one for one in args]
        kwargs = {name: getdata(one) if isinstance(one, MaskedArray) else one for name, one in kwargs.items()}
        return function(*args, **kwargs)

    return call


_OF_NUMPY = {
    **{getattr(np, name): _method(name) for name in _METHODS_OF_NUMPY},
    **{function: _of_data(function) for function in _OF_DATA},
    np.amax: _method("max"), np.amin: _method("min"), np.expand_dims: making.expand_dims, np.ndim: lambda a: a.ndim,
    np.shape: lambda a: a.shape, np.size: lambda a: a.size,
}  # fmt: skip


def of_function(self, function, types, args, kwargs):
    if function not in _OF_NUMPY:
        raise NotImplementedError(f"np.{function.__name__} of masked arrays is not implemented in traced functions")
    return _OF_NUMPY[function](*args, **kwargs)


MaskedArray.__array_function__ = of_function

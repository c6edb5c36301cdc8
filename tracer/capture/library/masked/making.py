"""How masked arrays are made: of data and a mask, by what a condition masks, and of several others."""

import numpy as np
from numpy.ma import MaskError, nomask

from .array import MaskedArray, either, fill_of, filled, getdata, getmask, getmaskarray
from .elementwise import FUNCTIONS


def array(
    data, dtype=None, copy=False, order=None, mask=nomask, fill_value=None, keep_mask=True, hard_mask=False, shrink=True,
    subok=True, ndmin=0,
):  # fmt: skip
    if order is not None:
        raise NotImplementedError("np.ma.array with order= is not implemented in traced functions")
    if isinstance(data, (list, tuple)) and any([isinstance(one, MaskedArray) or one is np.ma.masked for one in data]):
        return array(_of_elements(data), dtype, False, None, mask, fill_value, keep_mask, hard_mask, ndmin=ndmin)
    before = getmask(data)
    fill = fill_of(data) if fill_value is None else fill_value
    is_hard = hard_mask or isinstance(data, MaskedArray) and data.is_hard
    found = np.array(getdata(data), dtype=dtype) if copy else np.asarray(getdata(data), dtype=dtype)
    if found.ndim < ndmin:
        found = found.reshape((1,) * (ndmin - found.ndim) + found.shape)
        before = before if before is nomask else before.reshape(found.shape)
    if mask is nomask:
        return MaskedArray(found, before.copy() if copy and before is not nomask else before, fill, is_hard)
    if mask is True or mask is False:
        given = np.full(found.shape, mask)
    else:
        given = np.array(getdata(mask), dtype=bool) if copy else np.asarray(getdata(mask), dtype=bool)
    if given.shape != found.shape:
        if given.size == 1:
            given = np.broadcast_to(given.reshape(()), found.shape).copy()
        elif given.size == found.size:
            given = given.reshape(found.shape)
        else:
            raise MaskError(f"Mask and data not compatible: data size is {found.size}, mask size is {given.size}.")
    if before is not nomask and keep_mask:
        given = given | before
    return MaskedArray(found, given, fill, is_hard)


def _of_elements(values):
    """Of a list of numbers, some of which may be masked, or of arrays; a mask makes integers floats in NumPy."""
    masked = [one for one in values if isinstance(one, MaskedArray)]
    if any([one.ndim == 0 and one.dtype not in (np.float64, np.complex128) for one in masked]):
        raise NotImplementedError("np.ma.array of a list of integers that may be masked is not implemented in traced functions")
    if any([isinstance(one, (list, tuple)) for one in values]):
        raise NotImplementedError("np.ma.array of lists of what may be masked is not implemented in traced functions")
    parts = [one if isinstance(one, MaskedArray) else _known_element(one) for one in values]
    return MaskedArray(np.stack([_or_nan(one) for one in parts]), np.stack([getmaskarray(one) for one in parts]))


def _known_element(value):
    return MaskedArray(np.array(np.nan), np.array(True)) if value is np.ma.masked else MaskedArray(np.asarray(value), nomask)


def _or_nan(value):
    if value.ndim or value.mask is nomask:
        return value.data
    return np.where(value.mask, np.nan, value.data)


def masked_array(data=None, mask=nomask, dtype=None, copy=False, subok=True, ndmin=0, fill_value=None, keep_mask=True,
                 hard_mask=None, shrink=True, order=None):  # fmt: skip
    return array(
        [] if data is None else data, dtype, copy, order, mask, fill_value, keep_mask, bool(hard_mask), shrink, subok, ndmin
    )


def asarray(a, dtype=None, order=None):
    return array(a, dtype, False, order)


# --- by a condition ---


def masked_where(condition, a, copy=True):
    condition = np.asarray(filled(condition, True), dtype=bool)
    data = np.array(getdata(a)) if copy else getdata(a)
    if condition.shape and condition.shape != data.shape:
        raise IndexError(f"Inconsistent shape between the condition and the input (got {condition.shape} and {data.shape})")
    mask = np.broadcast_to(condition, data.shape).copy()
    return MaskedArray(data, either(mask, getmask(a)), fill_of(a))


def _where_compared(ufunc, is_filled):
    def call(x, value, copy=True):
        found = masked_where(FUNCTIONS[ufunc](x, value), x, copy)
        if is_filled:
            found.fill = value
        return found

    return call


def _within(x, v1, v2):
    least, most = (v2, v1) if v2 < v1 else (v1, v2)
    data = filled(x)
    return (data >= least) & (data <= most)


def masked_inside(x, v1, v2, copy=True):
    return masked_where(_within(x, v1, v2), x, copy)


def masked_outside(x, v1, v2, copy=True):
    least, most = (v2, v1) if v2 < v1 else (v1, v2)
    data = filled(x)
    return masked_where((data < least) | (data > most), x, copy)


def masked_values(x, value, rtol=1e-5, atol=1e-8, copy=True, shrink=True):
    data = np.asarray(filled(x, value))
    mask = np.isclose(data, value, atol=atol, rtol=rtol) if data.dtype.kind == "f" else data == value
    return MaskedArray(np.array(data) if copy else data, mask, value)


def masked_invalid(a, copy=True):
    return masked_where(~np.isfinite(getdata(a)), a, copy)


def fix_invalid(a, mask=nomask, copy=True, fill_value=None):
    made = array(a, mask=mask, copy=copy)
    invalid = ~np.isfinite(made.data)
    fill = np.asarray(made.fill_value if fill_value is None else fill_value).astype(made.dtype)
    made.data[...] = np.where(invalid, fill, made.data)
    return MaskedArray(made.data, either(made.mask, invalid), made.fill, made.is_hard)


# --- without data ---


def masked_all(shape, dtype=float):
    return MaskedArray(np.zeros(shape, dtype), np.ones(shape, bool))


def masked_all_like(arr):
    return masked_all(np.shape(getdata(arr)), getdata(arr).dtype)


def _without_mask(function):
    return lambda *args, **kwargs: MaskedArray(function(*args, **kwargs), nomask)


# --- of others ---


def where(condition, x=None, y=None):
    if x is None and y is None:
        return np.nonzero(filled(condition, False))
    is_first = filled(condition, False)
    mask = np.where(is_first, getmaskarray(x), getmaskarray(y)) | getmaskarray(condition)
    return MaskedArray(np.where(is_first, getdata(x), getdata(y)), mask)


def concatenate(arrays, axis=0):
    return _together(np.concatenate, arrays, {"axis": axis})


def stack(arrays, axis=0):
    return _together(np.stack, arrays, {"axis": axis})


def _stacked(function):
    return lambda arrays: _together(function, arrays, {})


def _together(function, arrays, keywords):
    arrays = list(arrays)
    data = function([getdata(one) for one in arrays], **keywords)
    if all(getmask(one) is nomask for one in arrays):
        return MaskedArray(data, nomask)
    return MaskedArray(data, function([getmaskarray(one) for one in arrays], **keywords))


def expand_dims(a, axis):
    mask = getmask(a)
    return MaskedArray(np.expand_dims(getdata(a), axis), mask if mask is nomask else np.expand_dims(mask, axis), fill_of(a))


FUNCTIONS_OF_MAKING = {
    "MaskedArray": masked_array, "array": array, "asanyarray": asarray, "asarray": asarray, "concatenate": concatenate,
    "expand_dims": expand_dims, "fix_invalid": fix_invalid, "masked_all": masked_all, "masked_all_like": masked_all_like,
    "masked_array": masked_array, "masked_inside": masked_inside, "masked_invalid": masked_invalid,
    "masked_outside": masked_outside, "masked_values": masked_values, "masked_where": masked_where, "stack": stack,
    "where": where,
    **{f"masked_{ufunc.__name__}": _where_compared(ufunc, ufunc is np.equal) for ufunc in (
        np.equal, np.not_equal, np.greater, np.greater_equal, np.less, np.less_equal,
    )},
    **{name: _stacked(getattr(np, name)) for name in ("column_stack", "dstack", "hstack", "vstack")},
    **{name: _without_mask(getattr(np, name)) for name in ("arange", "empty", "ones", "zeros")},
}  # fmt: skip

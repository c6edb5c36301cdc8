"""Masked arrays whose elements are moved, chosen or put together otherwise; and equal ones, which are taken for one."""

import numpy as np
from numpy.ma import nomask

from . import making
from .array import MaskedArray, either, fill_of, filled, getdata, getmask, getmaskarray


def of_both(function):
    """What moves the elements of an array, done with data and mask."""

    def call(a, *args, **kwargs):
        data, mask = function(getdata(a), *args, **kwargs), getmask(a)
        if mask is not nomask:
            mask = function(mask, *args, **kwargs)
        if isinstance(data, (list, tuple)):
            masks = [mask] * len(data) if mask is nomask else mask
            return [MaskedArray(one, other, fill_of(a)) for one, other in zip(data, masks)]
        return MaskedArray(data, mask, fill_of(a))

    return call


def without_mask(function):
    """NumPy's own function of several, which knows of no masks, but gives masked arrays."""

    def call(*args, **kwargs):
        found = function(*[_data_in(one) for one in args], **kwargs)
        return (
            MaskedArray(found, nomask) if not isinstance(found, tuple) else tuple([MaskedArray(one, nomask) for one in found])
        )

    return call


def _data_in(value):
    if isinstance(value, (list, tuple)):
        return [getdata(one) if isinstance(one, MaskedArray) else one for one in value]
    return getdata(value) if isinstance(value, MaskedArray) else value


def stacked(function):
    """`numpy.ma.hsplit`, which gives the parts as one array."""

    def call(a, *args):
        parts = function(getdata(a), *args)
        return MaskedArray(np.stack(parts), np.stack(function(getmaskarray(a), *args)))

    return call


def with_mask(function):
    """Likewise `numpy.ma.atleast_2d`, whose result always has a mask."""
    return lambda a: MaskedArray(function(getdata(a)), function(getmaskarray(a)), fill_of(a))


def like(function, has_mask=True):
    def call(a, *args, **kwargs):
        mask = getmask(a) if has_mask else nomask
        return MaskedArray(function(getdata(a), *args, **kwargs), mask if mask is nomask else mask.copy(), fill_of(a))

    return call


def resize(x, new_shape):
    mask = getmask(x)
    return MaskedArray(np.resize(getdata(x), new_shape), mask if mask is nomask else np.resize(mask, new_shape))


def diag(v, k=0):
    mask = getmask(v)
    return MaskedArray(np.diag(getdata(v), k), mask if mask is nomask else np.diag(mask, k))


def vander(x, n=None):
    found, mask = np.vander(getdata(x), n), getmask(x)
    return found if mask is nomask else np.where(mask[:, None], np.zeros((), found.dtype), found)


def extract(condition, arr):
    return making.array(arr).ravel().take(np.nonzero(np.ravel(getdata(condition)))[0])


def put(a, indices, values, mode="raise"):
    """What is put there is not masked, unless it is masked itself."""
    if a.is_hard:
        raise NotImplementedError("put of an array with a hard mask is not implemented in traced functions")
    a.data.put(indices, getdata(values), mode=mode)
    if a.mask is nomask:
        if getmask(values) is nomask:
            return
        a.begin_mask()
    a.mask.put(indices, False if getmask(values) is nomask else getmask(values), mode=mode)


def putmask(a, mask, values):
    mask, masked = getdata(mask), getmask(values)
    if a.mask is nomask and masked is not nomask:
        a.begin_mask()
    own = a.mask
    if a.is_hard:
        if masked is not nomask:
            own |= np.where(mask, masked, own)
    elif own is not nomask:
        np.copyto(own, getmaskarray(values), where=mask)
    np.copyto(a.data, getdata(values), where=mask)


def choose(indices, choices, out=None, mode="raise"):
    if out is not None:
        raise NotImplementedError("np.ma.choose with out= is not implemented in traced functions")
    places = filled(indices, 0)
    data = [filled(one) for one in choices]
    mask = np.choose(places, [getmaskarray(one) for one in choices], mode=mode)
    return MaskedArray(np.choose(places, data, mode=mode), either(mask, getmask(indices)))


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """Of what gives a number, or an array of one shape, for each line."""
    arr = making.array(arr)
    lines = arr.swapaxes(axis, -1) if arr.ndim > 1 else arr
    shape = lines.shape[:-1]
    found = [func1d(lines[index], *args, **kwargs) for index in np.ndindex(shape)]
    data = np.stack([getdata(one) for one in found])
    if all(getmask(one) is nomask for one in found):
        mask = nomask
    else:
        mask = np.stack([getmaskarray(one) for one in found])
    if data.ndim > 1 and arr.ndim > 1:
        raise NotImplementedError("np.ma.apply_along_axis of what gives arrays is not implemented in traced functions")
    made = MaskedArray(data, mask)
    return made.reshape(shape) if data.ndim == 1 else made.reshape(data.shape[1:])


# --- differences ---


def diff(a, n=1, axis=-1, prepend=None, append=None):
    a = making.array(a)
    parts = [_beside(one, a, axis) for one in (prepend, a, append) if one is not None]
    if len(parts) > 1:
        a = making.concatenate(parts, axis)
    difference = np.not_equal if a.dtype.kind == "b" else np.subtract
    for _ in range(n):
        later, earlier = [slice(None)] * a.ndim, [slice(None)] * a.ndim
        later[axis], earlier[axis] = slice(1, None), slice(None, -1)
        a = difference(a[tuple(later)], a[tuple(earlier)])
    return a


def _beside(value, a, axis):
    if np.ndim(getdata(value)):
        return value
    shape = list(a.shape)
    shape[axis] = 1
    return np.broadcast_to(getdata(value), shape)


def ediff1d(arr, to_end=None, to_begin=None):
    arr = making.array(arr).ravel()
    parts = [one for one in (to_begin, arr[1:] - arr[:-1], to_end) if one is not None]
    if len(parts) == 1:
        return parts[0]
    return making.concatenate([making.array(np.atleast_1d(one) if np.ndim(one) == 0 else one) for one in parts])


# --- equal ones ---


def unique(ar1, return_index=False, return_inverse=False):
    """All masked elements are one, which is the last."""
    a = making.array(ar1).ravel()
    if a.mask is nomask:
        found = np.unique(a.data, return_index=return_index, return_inverse=return_inverse)
        if return_index or return_inverse:
            return MaskedArray(found[0], nomask), *found[1:]
        return MaskedArray(found, nomask)
    order = np.lexsort((np.where(a.mask, np.zeros((), a.dtype), a.data), a.mask))
    data, mask = a.data[order], a.mask[order]
    is_new = (data[1:] != data[:-1]) & ~mask[1:] | (mask[1:] != mask[:-1])
    is_new = np.concatenate([np.ones(1, bool), is_new])
    found = MaskedArray(data[is_new], mask[is_new], a.fill)
    if not return_index and not return_inverse:
        return found
    others = []
    if return_index:
        others.append(order[is_new])
    if return_inverse:
        others.append((np.cumsum(is_new) - 1)[np.argsort(order)])
    return found, *others


FUNCTIONS_OF_ARRANGEMENT = {
    "apply_along_axis": apply_along_axis, "choose": choose, "diag": diag, "diff": diff, "ediff1d": ediff1d,
    "empty_like": like(np.empty_like), "hsplit": stacked(np.hsplit), "identity": without_mask(np.identity),
    "indices": without_mask(np.indices), "ones_like": like(np.ones_like), "put": put, "putmask": putmask, "resize": resize,
    "unique": unique, "vander": vander, "zeros_like": like(np.zeros_like),
    **{function.__name__: with_mask(function) for function in (np.atleast_1d, np.atleast_2d, np.atleast_3d)},
}  # fmt: skip

_MOVING = (
    np.array_split, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.dsplit, np.flip, np.fliplr, np.flipud, np.hsplit,
    np.moveaxis, np.roll, np.rollaxis, np.rot90, np.split, np.take_along_axis, np.tile, np.vsplit,
)  # fmt: skip
_TOGETHER = (
    np.append, np.column_stack, np.concatenate, np.delete, np.dstack, np.hstack, np.insert, np.meshgrid, np.resize, np.stack,
    np.vstack,
)  # fmt: skip
# NumPy's own functions of masked arrays.
OF_NUMPY = {
    **{function: of_both(function) for function in _MOVING}, **{function: without_mask(function) for function in _TOGETHER},
    **{function: like(function) for function in (np.empty_like, np.full_like, np.ones_like, np.zeros_like)},
    np.diff: diff, np.ediff1d: ediff1d, np.extract: extract, np.unique: unique,
}  # fmt: skip

MaskedArray.put = put

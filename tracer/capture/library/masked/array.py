"""Masked arrays: data, and a mask that is ``nomask`` or an array of the same shape."""

import numpy as np
from numpy.ma import MaskError, nomask

_FILLS = {"b": True, "c": 1e20 + 0j, "f": 1e20, "i": 999999, "u": 999999}
_MOVING = (
    "diagonal", "flatten", "ravel", "repeat", "reshape", "squeeze", "swapaxes", "transpose",
)  # fmt: skip
_OF_ARRAYS = ("dtype", "flags", "itemsize", "nbytes", "ndim", "shape", "size", "strides")


class MaskedArray:
    """What stands for a masked array, or for a number that may be masked.

    ``fill``: what fills masked elements, None for what a type has. ``is_hard``: what is masked stays so. ``is_decided``: it is
    ``numpy.ma.masked`` or a number, as the program decides, and an array of arithmetic with that is masked as a whole or plain.
    ``is_outside``: it was there before the call, and of it only the arrays can be changed.
    """

    __array_priority__ = 15
    __hash__ = None

    def __init__(self, data, mask, fill=None, is_hard=False, is_decided=False, is_outside=False):
        self.data, self._mask, self.fill = data, mask, fill
        self.is_hard, self.is_decided, self.is_outside = is_hard, is_decided, is_outside

    def as_result(self):
        """What the caller gets, when the program has run."""
        if self.is_decided and not np.any(self._mask):
            return self.data[()]
        if self.is_decided and not np.ndim(self.data):
            return np.ma.masked
        return np.ma.array(self.data, mask=self._mask, fill_value=self.fill, hard_mask=self.is_hard, copy=False)

    def like(self, data, mask):
        return MaskedArray(data, mask, self.fill, self.is_hard, self.is_decided)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.data, dtype=dtype)

    def __getattr__(self, name):
        if name in _OF_ARRAYS:
            return getattr(self.data, name)
        if hasattr(np.ma.MaskedArray, name) and not name.startswith("__"):
            raise NotImplementedError(f"{name} of masked arrays is not implemented in traced functions")
        raise AttributeError(f"'MaskedArray' object has no attribute '{name}'")

    # --- what it consists of ---

    @property
    def _data(self):
        return self.data

    @property
    def mask(self):
        return self._mask

    @mask.setter
    def mask(self, value):
        if value is np.ma.masked:
            value = True
        if self._mask is nomask:
            if value is nomask:
                return
            self.begin_mask()
        given = np.asarray(value, dtype=bool)
        if given.ndim and given.size == self._mask.size:
            given = given.reshape(self._mask.shape)
        if self.is_hard:
            self._mask |= given
        else:
            self._mask[...] = given

    @property
    def recordmask(self):
        return self._mask

    @property
    def hardmask(self):
        return self.is_hard

    @property
    def fill_value(self):
        fill = _FILLS[self.data.dtype.kind] if self.fill is None else self.fill
        return np.asarray(fill).astype(self.data.dtype)[()]

    @fill_value.setter
    def fill_value(self, value):
        self._require_own()
        self.fill = value

    def get_fill_value(self):
        return self.fill_value

    def set_fill_value(self, value=None):
        self.fill_value = value

    @property
    def baseclass(self):
        return np.ndarray

    @property
    def flat(self):
        return MaskedFlat(self)

    @property
    def T(self):
        return self.transpose()

    @property
    def real(self):
        return self.like(self.data.real, self._mask)

    @property
    def imag(self):
        return self.like(self.data.imag, self._mask)

    def _require_own(self):
        if self.is_outside:
            raise NotImplementedError(
                "a masked array from outside is changed but for its elements, or gets its first mask, in a traced function; "
                "make it with a mask (np.ma.array(x, mask=False)), or change a copy"
            )

    def begin_mask(self):
        self._require_own()
        self._mask = np.zeros(self.data.shape, bool)

    def harden_mask(self):
        self._require_own()
        self.is_hard = True
        return self

    def soften_mask(self):
        self._require_own()
        self.is_hard = False
        return self

    def unshare_mask(self):
        self._require_own()
        if self._mask is not nomask:
            self._mask = self._mask.copy()
        return self

    # --- elements ---

    def __len__(self):
        return len(self.data)

    def __iter__(self):
        for index in range(len(self.data)):
            yield self[index]

    def __getitem__(self, index):
        if isinstance(index, MaskedArray):
            index = index._data
        data = self.data[index]
        made = self.like(data, nomask if self._mask is nomask else self._mask[index])
        if np.ndim(data) == 0:
            made.is_decided = True
        return made

    def __setitem__(self, index, value):
        if isinstance(index, MaskedArray):
            index = index._data
        if value is np.ma.masked:
            if self._mask is nomask:
                self.begin_mask()
            self._mask[index] = True
            return
        data, mask = getdata(value), getmask(value)
        if self._mask is nomask:
            self.data[index] = data
            if mask is not nomask:
                self.begin_mask()
                self._mask[index] = mask
        elif not self.is_hard:
            self.data[index] = data
            self._mask[index] = mask
        else:
            kept = self._mask[index].copy()
            self.data[index] = np.where(kept, self.data[index], data)
            self._mask[index] = kept | mask

    def __bool__(self):
        return bool(self.data if self._mask is nomask else np.where(self._mask, False, self.data))

    def __float__(self):
        return float(self.data if self._mask is nomask else np.where(self._mask, np.nan, self.data))

    def __int__(self):
        if self._mask is not nomask and self._mask.any():
            raise MaskError("Cannot convert masked element to a Python int.")
        return int(self.data)

    def __str__(self):
        if not self.is_decided or self.data.ndim:
            return shown(str, self.data, self._mask, self.fill)
        if self._mask is not nomask and self._mask:
            return "--"
        return str(self.data[()])

    def __repr__(self):
        if self.is_decided:
            raise NotImplementedError("repr of what may be numpy.ma.masked is not implemented in traced functions")
        return shown(repr, self.data, self._mask, self.fill)

    def __format__(self, form):
        if not self.is_decided or self.data.ndim:
            if form:
                raise TypeError("unsupported format string passed to MaskedArray.__format__")
            return str(self)
        if self._mask is not nomask and self._mask:
            return "--"
        return format(self.data[()], form)

    # --- what is masked ---

    def filled(self, fill_value=None):
        if self._mask is nomask:
            return self.data
        fill = self.fill_value if fill_value is None else np.asarray(fill_value).astype(self.data.dtype)
        return np.where(self._mask, fill, self.data)

    def compressed(self):
        return self.data.ravel() if self._mask is nomask else self.data.ravel()[~self._mask.ravel()]

    def count(self, axis=None, keepdims=False):
        there = np.ones(self.data.shape, bool) if self._mask is nomask else ~self._mask
        return np.sum(there, axis=axis, dtype=np.intp, keepdims=keepdims)

    def nonzero(self):
        return np.nonzero(self.filled(0))

    def shrink_mask(self):
        """A mask stays there as a whole, where NumPy's has no elements if nothing is masked."""
        return self

    def tolist(self, fill_value=None):
        """Python's numbers, and None, or what fills them, where they are masked."""
        if self._mask is nomask or fill_value is not None:
            return self.filled(fill_value).tolist()
        if not self.data.ndim:
            return None if self._mask else self.data.item()
        if self.data.ndim > 1:
            return [row.tolist() for row in self]
        return [None if is_masked else one for one, is_masked in zip(self.data.tolist(), self._mask.tolist())]

    def item(self, *args):
        """Whether it is masked does not matter to NumPy."""
        return self.data.item(*args)

    # --- copies ---

    def copy(self, order="C"):
        return self.like(self.data.copy(order), self._mask if self._mask is nomask else self._mask.copy(order))

    def astype(self, dtype):
        return self.like(self.data.astype(dtype), self._mask if self._mask is nomask else self._mask.copy())

    def take(self, indices, axis=None):
        places, mask = getdata(indices), self._mask
        if mask is not nomask:
            mask = mask.take(places, axis)
        taken = self.data.take(places, axis)
        return MaskedArray(taken, either(mask, getmask(indices)), is_decided=np.ndim(taken) == 0)

    def compress(self, condition, axis=None):
        places = getdata(condition)
        if self._mask is nomask:
            return self.like(self.data.compress(places, axis), nomask)
        return self.like(self.data.compress(places, axis), self._mask.compress(places, axis))

    def view(self, dtype=None, type=None):
        wanted = dtype if type is None else type
        if wanted is np.ndarray and (dtype is None or type is None):
            return self.data
        if wanted is None or wanted is np.ma.MaskedArray:
            return self.like(self.data, self._mask)
        raise NotImplementedError("view of masked arrays as another dtype is not implemented in traced functions")

    def clip(self, min=None, max=None):
        return self.like(np.clip(self.data, min, max), self._mask)

    def round(self, decimals=0):
        return self.like(np.round(self.data, decimals), self._mask)


def _moving(name):
    def method(self, *args, **kwargs):
        mask = nomask if self._mask is nomask else getattr(self._mask, name)(*args, **kwargs)
        return self.like(getattr(self.data, name)(*args, **kwargs), mask)

    return method


for _name in _MOVING:
    setattr(MaskedArray, _name, _moving(_name))


class MaskedFlat:
    """What goes over the elements in their order."""

    def __init__(self, array):
        self.array = array.ravel()

    def __len__(self):
        return len(self.array)

    def __iter__(self):
        return iter(self.array)

    def __getitem__(self, index):
        return self.array[index]

    def __setitem__(self, index, value):
        raise NotImplementedError("assignments to .flat of masked arrays are not implemented in traced functions")


def shown(convert, data, mask, fill):
    """The text of a masked array, which is made when the program has run."""
    return convert(np.ma.array(data, mask=mask, fill_value=fill))


def getdata(a, subok=True):
    return a.data if isinstance(a, MaskedArray) else np.asarray(a)


def getmask(a):
    return a._mask if isinstance(a, MaskedArray) else nomask


def getmaskarray(arr):
    mask = getmask(arr)
    return np.zeros(np.shape(getdata(arr)), bool) if mask is nomask else mask


def filled(a, fill_value=None):
    return a.filled(fill_value) if isinstance(a, MaskedArray) else a


def either(first, second):
    """The mask of what one of two masks."""
    if first is nomask:
        return second
    return first if second is nomask else np.logical_or(first, second)


def fill_of(*values):
    for value in values:
        if isinstance(value, MaskedArray):
            return value.fill
    return None


def is_decided(*values):
    """Whether a result is masked as a whole or plain: all that may be masked of what it is made of are."""
    masked = [value.is_decided for value in values if isinstance(value, MaskedArray)]
    return bool(masked) and all(masked)


def as_array(a):
    """What NumPy makes of it where it knows nothing of masks."""
    return a.data if not a.is_decided or a._mask is nomask else np.where(a._mask, np.zeros((), a.data.dtype), a.data)


def as_element(a):
    if not a.is_decided or a._mask is nomask or a.data.ndim:
        return a.data
    if a.data.dtype.kind in "fc":
        return np.where(a._mask, np.nan, a.data)
    if a._mask:
        raise MaskError("Cannot convert masked element to a Python int.")
    return a.data


def without_out(out):
    if out is not None:
        raise NotImplementedError("out= of masked arrays is not implemented in traced functions")

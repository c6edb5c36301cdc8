"""ndarray's methods on traced arrays, as far as they differ from NumPy's functions of the same name."""

from __future__ import annotations

import builtins
import math
from fractions import Fraction

import numpy as np

from ... import hlo
from ..indexing.basic import assigned_value
from ..recording import promotion
from ..recording.array import TracedArray, require_trace
from ..recording.cast_errors import flag_errors_of_cast
from ..recording.function_tables import FUNCTIONS, implementation, implements_method
from ..recording.memory_order import laid_out
from ..recording.operands import ARRAYS_ARE_NUMBERS, as_size, convert, instruction_of, no_element, require_element, result
from .dates import known_as_dates


@implements_method(np.ndarray.clip)
def clip(self, min=None, max=None, out=None, **keywords):
    """As `numpy.clip`; either bound may be left out."""
    return FUNCTIONS[np.clip](self, min, max, out, **keywords)


@implements_method(np.ndarray.reshape)
def reshape(self, *shape, order="C", copy=None):
    """As `ndarray.reshape`: the sizes as one argument or several."""
    sizes = shape[0] if len(shape) == 1 else shape
    return FUNCTIONS[np.reshape](self, sizes, order=order, copy=copy)


@implements_method(np.ndarray.transpose)
def transpose(self, *axes):
    """As `ndarray.transpose`: the axes as one argument, several, or none."""
    order = None if not axes else axes[0] if len(axes) == 1 else axes
    return FUNCTIONS[np.transpose](self, order)


@implements_method(np.ndarray.flatten)
def flatten(self, order="C"):
    """A copy in one dimension."""
    return FUNCTIONS[np.copy](FUNCTIONS[np.ravel](self, order))


@implements_method(np.ndarray.copy)
def copy(self, order="C"):
    """As `ndarray.copy`: a row-major array, where numpy.copy keeps the order."""
    return self if self.is_scalar else FUNCTIONS[np.copy](self, order)


@implements_method(np.ndarray.astype)
def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
    """The array in another dtype; a copy unless ``copy`` is false and nothing changes. Raises TypeError as NumPy does."""
    if hlo.as_dtype(dtype).kind in "mM":
        return known_as_dates(self).astype(dtype)
    target = promotion.native(dtype)
    promotion.require_cast(self.dtype, target, casting)
    if not copy and target == self.dtype:
        return self
    trace = require_trace(self)
    if self.exact is not None:
        return result(trace, instruction_of(trace, self, hlo.element_type_of(target)))
    value = self.instruction(trace)
    converted = flag_errors_of_cast(trace, value, convert(value, hlo.element_type_of(target)))
    return laid_out(TracedArray.from_instruction(trace, converted, is_scalar=self.is_scalar), (self,), order, True)


@implements_method(np.ndarray.conj, np.ndarray.conjugate)
def conj(self):
    """The complex conjugate; a real array itself."""
    if not self.element_type.is_complex:
        return self
    found = np.conjugate(self)
    found.weak_type = self.weak_type
    return found


@implements_method(np.ndarray.fill)
def fill(self, value):
    """Set all elements to a scalar."""
    if self.is_scalar:
        raise TypeError("a scalar cannot be filled in place")
    if np.ndim(value) and not ARRAYS_ARE_NUMBERS:
        raise no_element(self.element_type, value)
    trace = require_trace(self)
    require_element(self.element_type, value)
    self.set_value(assigned_value(trace, value, self.shape, self.element_type))


@implements_method(np.ndarray.view)
def view(self, dtype=None, type=None):
    """The same memory read as another dtype; without one, another handle to the same array.

    Of another width than the elements the last dimension becomes longer or shorter.
    """
    if isinstance(dtype, builtins.type) and issubclass(dtype, np.ndarray):
        dtype, type = None, dtype
    if type not in (None, np.ndarray):
        raise NotImplementedError(f"a view as {type.__name__}, a subclass of numpy.ndarray, is not implemented")
    if dtype is None:
        return TracedArray.view_of(
            self, self.shape, lambda trace, base: base, lambda trace, base, value: value, self.unusual_strides
        )
    target = hlo.element_type_of(promotion.native(dtype))
    if self.has_other_order:
        return _view_in_other_order(self, target, hlo.as_dtype(dtype))
    if not hlo.as_dtype(dtype).isnative:
        raise NotImplementedError(
            f"a view of a traced array as {hlo.as_dtype(dtype)}, in the other byte order, is not implemented. "
            f"Fix: .view({str(target.dtype)!r}).byteswap()"
        )
    source = self.element_type
    if target is source:
        return self.view()
    if source.is_complex or target.is_complex or source.byte_size != target.byte_size:
        return _view_of_another_width(self, source, target)

    def read(trace, base):
        return _same_bytes(base, target)

    def write(trace, base, value):
        return _same_bytes(value, source)

    return TracedArray.view_of(self, self.shape, read, write, self.unusual_strides, target)


def _same_bytes(value, target):
    """The elements read as another type of their width: a truth is the byte 0 or 1, and every other byte but 0 is true."""
    if value.shape.element_type is hlo.PRED:
        value = hlo.convert(value, hlo.U8)
    if target is hlo.PRED:
        return hlo.ne(value, 0)
    shape = hlo.Shape(target, value.shape.dimensions)
    return value if value.shape == shape else hlo.emit("bitcast-convert", value, shape=shape)


def _view_in_other_order(array, target, dtype):
    """A view of an array of the other byte order as a dtype, read in that of this machine."""
    source, sizes = array.element_type, array.shape
    if target is source and not dtype.isnative:
        return array.view()
    if not dtype.isnative or source.is_complex or target.is_complex or not sizes or array.element_strides[-1] != 1:
        raise NotImplementedError(
            f"a view of an array in the other byte order, {array.dtype.newbyteorder()}, as {dtype} is not implemented. Fix: "
            f".astype({str(array.dtype)!r}), and a view of that"
        )
    given = _view_of_another_width if source.byte_size != target.byte_size else None
    shape = sizes if given is None else given(array, source, target).shape

    def read(trace, base):
        return _joined(_turned(_divided(base, 1)), target, shape)

    def write(trace, base, value):
        pieces = _divided(value, 1)
        return _joined(_turned(hlo.reshape(pieces, (*sizes, source.byte_size))), source, sizes)

    return TracedArray.view_of(array, shape, read, write, None, target, swaps_bytes=True)


def _turned(pieces):
    """The bytes of each element, which are the last dimension, in the other order."""
    return hlo.reverse(pieces, dimensions=(len(pieces.shape.dimensions) - 1,))


def _view_of_another_width(array, source, target):
    """By way of unsigned integers of the smaller width; complex numbers are two floats."""
    sizes, least = array.shape, min(part.byte_size for part in (source, target))
    is_as_wide = source.byte_size == target.byte_size
    if hlo.PRED in (source, target):
        raise NotImplementedError(f"a view of {array.dtype} as {target.dtype} is not implemented for traced arrays")
    if not sizes and not is_as_wide:
        raise ValueError("Changing the dtype of a 0d array is only supported if the itemsize is unchanged")
    if not is_as_wide and sizes[-1] != 1 and array.element_strides[-1] != 1:
        raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")
    if not is_as_wide and sizes[-1] * source.byte_size % target.byte_size:
        raise ValueError(
            "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last axis of the "
            "array."
        )
    shape = sizes if is_as_wide else (*sizes[:-1], sizes[-1] * source.byte_size // target.byte_size)

    def read(trace, base):
        return _joined(_divided(base, min(least, 8)), target, shape)

    def write(trace, base, value):
        return _joined(_divided(value, min(least, 8)), source, sizes)

    if is_as_wide:
        return TracedArray.view_of(array, shape, read, write, array.unusual_strides, target)
    steps = [_whole(Fraction(step * source.byte_size, target.byte_size)) for step in array.element_strides[:-1]]
    return TracedArray.view_of(array, shape, read, write, (*steps, 1), target)


def _whole(number):
    """A fraction as an integer, where it is one."""
    return number.numerator if number.denominator == 1 else number


def _divided(value, width):
    """The value as unsigned integers of at most this many bytes, in one more dimension."""
    kind, sizes = value.shape.element_type, value.shape.dimensions
    if kind.is_complex:
        parts = [hlo.reshape(part, (*sizes, 1)) for part in (hlo.real(value), hlo.imag(value))]
        value = hlo.concatenate(*parts, dimensions=(len(sizes),))
        kind, sizes = value.shape.element_type, value.shape.dimensions
    width = min(width, kind.byte_size)
    integer = hlo.element_type_of(np.dtype(f"u{width}"))
    count = kind.byte_size // width
    shape = hlo.Shape(integer, (*sizes, count) if count > 1 else sizes)
    return hlo.emit("bitcast-convert", value, shape=shape)


def _joined(pieces, target, shape):
    """Integers, row-major, as an array of another type."""
    part = hlo.component_type(target) if target.is_complex else target
    width = pieces.shape.element_type.byte_size
    if part.byte_size < width:
        pieces = _divided(pieces, part.byte_size)
        width = part.byte_size
    wide, count = (*shape, 2) if target.is_complex else shape, part.byte_size // width
    pieces = hlo.reshape(pieces, (*wide, count) if count > 1 else wide)
    value = hlo.emit("bitcast-convert", pieces, shape=hlo.Shape(part, wide))
    if not target.is_complex:
        return value
    real, imaginary = (hlo.reshape(hlo.slice(value, (*[0] * len(shape), k), (*shape, k + 1)), shape) for k in (0, 1))
    return hlo.complex(real, imaginary)


@implements_method(np.ndarray.getfield)
def getfield(self, dtype, offset=0):
    """A view of a part of each element."""
    return _fields(self, np.dtype(dtype), offset).copy()


@implements_method(np.ndarray.setfield)
def setfield(self, val, dtype, offset=0):
    _fields(self, np.dtype(dtype), offset)[...] = val


def _fields(array, dtype, offset):
    if offset < 0 or offset + dtype.itemsize > array.itemsize:
        raise ValueError(
            f"Need 0 <= offset <= {array.itemsize - dtype.itemsize} for requested type but received offset = {offset}"
        )
    if offset % dtype.itemsize or array.itemsize % dtype.itemsize:
        raise NotImplementedError(f"a field of {dtype} at {offset} in {array.dtype} is not implemented for traced arrays")
    return array.view(dtype)[..., offset // dtype.itemsize :: array.itemsize // dtype.itemsize]


@implements_method(np.ndarray.sort)
def sort(self, axis=-1, kind=None, order=None, *, stable=None, descending=None):
    """Sort in place."""
    self[...] = implementation(np.sort)(self, axis, kind, order, stable=stable, descending=descending)


@implements_method(np.ndarray.partition)
def partition(self, kth, axis=-1, kind="introselect", order=None):
    """Partition in place."""
    self[...] = FUNCTIONS[np.partition](self, kth, axis, kind, order)


@implements_method(np.ndarray.choose)
def choose(self, *choices, out=None, mode="raise"):
    """As `numpy.choose`; the choices may be arguments of their own."""
    return FUNCTIONS[np.choose](self, choices[0] if len(choices) == 1 else choices, out, mode)


@implements_method(np.ndarray.compress)
def compress(self, condition, axis=None, out=None):
    """As `numpy.compress`."""
    return FUNCTIONS[np.compress](condition, self, axis, out)


@implements_method(np.ndarray.put)
def put(self, indices, values, mode="raise"):
    """As `numpy.put`."""
    FUNCTIONS[np.put](self, indices, values, mode)


@implements_method(np.ndarray.resize)
def resize(self, *shape, refcheck=True):
    """Of an array that the function has made, and where it has made it; what is new is 0. It has no views, by NumPy's rules."""
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    if not shape or shape == (None,):
        return
    if self.base is not None:
        raise ValueError("cannot resize this array: it does not own its data")
    if self.is_scalar or self.is_dynamic or self.storage.is_from_outside or self.storage.trace is not require_trace(self):
        raise NotImplementedError(
            "ndarray.resize of an array from outside, in a loop or a branch, or of a size that is known at run time only, is "
            "not implemented; use np.resize, np.pad or np.concatenate"
        )
    sizes = tuple(map(as_size, sizes))
    if any(size < 0 for size in sizes):
        raise ValueError("all elements of `new_shape` must be non-negative")
    if not self.flags.c_contiguous:
        raise NotImplementedError("ndarray.resize of a column-major array is not implemented")
    line, count = FUNCTIONS[np.ravel](self), math.prod(sizes)
    new = FUNCTIONS[np.zeros](count, self.dtype)
    kept = min(count, self.size)
    new[:kept] = line[:kept]
    self.become(FUNCTIONS[np.reshape](new, sizes).copy())


@implements_method(np.ndarray.setflags)
def setflags(self, write=None, align=None, uic=None):
    """Only what they are already."""
    if write is not None and bool(write) != self.is_writeable or align not in (None, True, 1) or uic:
        raise NotImplementedError("ndarray.setflags is not implemented for traced arrays")


def _with_bytes_turned(words: TracedArray, width: int) -> TracedArray:
    """Unsigned words of so many bytes, in the other order: neighbors change places, bytes, then pairs of them, ..."""
    distance = 1
    while distance < width:
        low = sum((1 << 8 * distance) - 1 << 8 * first for first in range(0, width, 2 * distance))
        mask, shift = (words.dtype.type(number) for number in (low, 8 * distance))
        words = (words & mask) << shift | words >> shift & mask
        distance *= 2
    return words


@implements_method(np.ndarray.byteswap)
def byteswap(self, inplace=False):
    """The bytes of each element, of both parts of complex ones, in the other order."""
    width = self.itemsize // 2 if self.element_type.is_complex else self.itemsize
    found = self.astype(self.dtype, order="C")  # whose bytes lie as this machine has them
    if width > 1:
        found = _with_bytes_turned(found.reshape(-1).view(f"u{width}"), width).view(self.dtype).reshape(self.shape)
    found.root_storage.has_other_order = self.has_other_order
    if not inplace:
        return found[()] if self.is_scalar else found
    self[...] = found
    return self


@implements_method(np.ndarray.to_device)
def to_device(self, device, /, *, stream=None):
    """As `ndarray.to_device`: the array itself, as NumPy knows no device but the CPU."""
    if device != "cpu":
        raise ValueError(f"Unsupported device: {device!r}")
    return self

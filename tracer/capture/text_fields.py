"""Arrays of texts of one length at most, whose characters the program has: fields of records.

They are arrays of code points, or of bytes, with an axis more, as they lie in NumPy's memory: behind a text's characters there
are zeros. So what the texts are is not known while the function is traced, and no code is made for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ... import hlo
from ..recording import pytree
from ..recording.array import TracedArray, require_trace
from .loops.iteration import ArrayRows, Lazy, Rows
from .texts.characters import memory
from .texts.deferred import Deferred, is_made_text
from .texts.reading import places_of, plain
from .texts.writing import OF_NUMBERS, WRITERS, Piece


class TextArray(Lazy):
    """``codes[..., k]`` is the k-th character of each text, 0 behind the last one."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, codes: TracedArray, dtype: np.dtype) -> None:
        self.codes, self.dtype = codes, dtype.newbyteorder("=")

    shape = property(lambda self: self.codes.shape[:-1])
    ndim = property(lambda self: self.codes.ndim - 1)
    size = property(lambda self: self.codes.size // self.codes.shape[-1])
    itemsize = property(lambda self: self.dtype.itemsize)

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Any]:
        return iter([self[place] for place in range(len(self))])

    def rows(self) -> Rows:
        return _TextRows(self)

    def __getitem__(self, index: Any) -> Any:
        codes = self.codes[with_last_axis(index)]
        return self.of(codes, any(part is Ellipsis for part in (index if isinstance(index, tuple) else (index,))))

    def of(self, codes: TracedArray, is_array: bool = False) -> Any:
        """Texts of this type; a text where there is one, unless it is to be an array."""
        if codes.ndim > 1 or is_array:
            return TextArray(codes, self.dtype)
        if self.dtype.kind == "S":
            raise _not_implemented("an element")
        return Deferred(text_of_codes, codes)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.codes[with_last_axis(index)] = codes_of(value, self.dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if ufunc not in _COMPARISONS or method != "__call__" or kwargs:
            raise _not_implemented(f"np.{ufunc.__name__}")
        return _COMPARISONS[ufunc](*inputs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _not_implemented(f".{name}")

    def copy(self, order: str = "C") -> TextArray:
        return TextArray(self.codes.copy(), self.dtype)

    def tolist(self) -> Any:
        if self.ndim == 0:
            return as_python(self[()])
        return [one.tolist() if isinstance(one, TextArray) else as_python(one) for one in self]

    def reshape(self, *shape: Any) -> TextArray:
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return TextArray(self.codes.reshape((*sizes, self.codes.shape[-1])), self.dtype)

    def ravel(self) -> TextArray:
        return self.reshape(-1)


class _TextRows(Rows):
    def __init__(self, array: TextArray) -> None:
        self.array, self.codes, self.length = array, ArrayRows(array.codes), array.shape[0]

    def element(self, position: Any) -> Any:
        return self.array.of(self.codes.element(position))


def _not_implemented(what: str) -> NotImplementedError:
    return NotImplementedError(f"{what} of texts in a field of a structured array, or of numbers, is not implemented")


def with_last_axis(index: Any) -> Any:
    """The index of an array that has an axis more, of which it takes all."""
    parts = index if isinstance(index, tuple) else (index,)
    return (*parts, slice(None)) if any(part is Ellipsis for part in parts) else index


def _together(dtype: np.dtype, children: Sequence[Any]) -> Any:
    (codes,) = children
    if not isinstance(codes, np.ndarray):
        return TextArray(codes, dtype)
    return np.ndarray(codes.shape[:-1], dtype, codes if codes.flags.c_contiguous else codes.copy())


pytree.register_pytree(TextArray, lambda array: ((array.codes,), array.dtype), _together)


# --- one text ---


def text_of_codes(codes: np.ndarray) -> np.str_:
    return np.ascontiguousarray(codes).view(f"U{len(codes)}")[0]


def text_of_python(codes: np.ndarray) -> str:
    return str(text_of_codes(codes))


def as_python(text: Any) -> Any:
    """A text of NumPy's as one of Python's."""
    is_one = type(text) is Deferred and text.function is text_of_codes
    return Deferred(text_of_python, *text.values) if is_one else text


def _piece(codes: TracedArray) -> Piece:
    places = np.arange(1, codes.shape[-1] + 1)
    count = np.max(np.where(codes != 0, places, 0))
    most = hlo.constant(np.int64(codes.shape[-1]))
    return Piece(_converted(count, hlo.S64), most, lambda position: memory().put(position, _converted(codes, hlo.S32)))


def _converted(array: TracedArray, kind: hlo.ElementType) -> hlo.Instruction:
    return hlo.convert(array.instruction(require_trace()), kind)


_TEXTS = (text_of_codes, text_of_python)
WRITERS.update(dict.fromkeys(_TEXTS, _piece))
OF_NUMBERS.update(_TEXTS)


# --- several ---


def codes_of(value: Any, dtype: np.dtype | None = None) -> Any:
    """The code points of texts, as many as they have at most, or as a type has."""
    if isinstance(value, TextArray):
        codes = value.codes
    elif isinstance(value, Deferred) and getattr(value, "function", None) in _TEXTS:
        (codes,) = value.values
    elif isinstance(value, (str, bytes, list, tuple, np.ndarray, np.generic, int, float)):
        array = np.ascontiguousarray(np.array(value) if dtype is None else np.array(value, dtype))
        if array.dtype.kind not in "US":
            raise _not_implemented(f"a comparison with {array.dtype}")
        width = np.uint32 if array.dtype.kind == "U" else np.uint8
        codes = array.reshape((*np.shape(value), 1)).view(width)
    elif dtype is not None and dtype.kind == "U" and is_made_text(value):
        return _written_codes(value, dtype.itemsize // 4)
    else:
        raise _not_implemented(f"a {type(value).__name__} beside those")
    return codes if dtype is None else _widened(codes, dtype.itemsize // (4 if dtype.kind == "U" else 1))


def _written_codes(text: Any, width: int) -> TracedArray:
    """The first characters of a text that lies among the program's, and zeros behind it."""
    start, count = places_of(plain(text))
    characters, places = memory().now(), hlo.iota(hlo.Shape(hlo.S64, (width,)), 0)
    inside = hlo.minimum(hlo.add(places, hlo.full_like(places, start)), characters.shape.size - 1)
    found = hlo.gather(
        characters, inside, offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,), index_vector_dim=1,
        slice_sizes=(1,),
    )  # fmt: skip
    found = hlo.select(hlo.lt(places, hlo.full_like(places, count)), found, hlo.full_like(found, 0))
    return TracedArray.from_instruction(require_trace(), hlo.convert(found, hlo.U32), is_scalar=False)


def _widened(codes: Any, width: int) -> Any:
    missing = width - codes.shape[-1]
    if missing <= 0:
        return codes[..., :width]
    return np.concatenate([codes, np.zeros((*codes.shape[:-1], missing), codes.dtype)], axis=-1)


def of_one_width(values: Sequence[Any]) -> list[Any]:
    made = [is_made_text(one) and getattr(one, "function", None) not in _TEXTS for one in values]
    found = [None if is_made else codes_of(one) for one, is_made in zip(values, made)]
    # Of a text that the program makes one more is looked at, which is 0 unless it is longer.
    width = max(one.shape[-1] for one in found if one is not None) + any(made)
    return [_written_codes(one, width) if codes is None else _widened(codes, width) for one, codes in zip(values, found)]


def _equal(first: Any, second: Any) -> Any:
    one, other = of_one_width((first, second))
    return np.all(one == other, axis=-1)


def _less(first: Any, second: Any) -> Any:
    """Whether the first character that differs is a smaller one."""
    one, other = of_one_width((first, second))
    differs = one != other
    place = np.argmax(differs, axis=-1)[..., None]
    found = np.take_along_axis((one < other) & differs, place, axis=-1)
    return found[..., 0]


_COMPARISONS: dict[np.ufunc, Callable] = {
    np.equal: _equal,
    np.not_equal: lambda first, second: ~_equal(first, second),
    np.less: _less,
    np.greater: lambda first, second: _less(second, first),
    np.less_equal: lambda first, second: ~_less(second, first),
    np.greater_equal: lambda first, second: ~_less(first, second),
}


def _operator(compare: Callable) -> Callable:
    return lambda self, other: compare(self, other)


for _name, _ufunc in (
    ("eq", np.equal), ("ne", np.not_equal), ("lt", np.less), ("gt", np.greater), ("le", np.less_equal),
    ("ge", np.greater_equal),
):  # fmt: skip
    setattr(TextArray, f"__{_name}__", _operator(_COMPARISONS[_ufunc]))

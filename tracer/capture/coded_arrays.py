"""Arrays of texts or dates whose elements the program chooses among known ones: numbers, and a table of what they stand for.

So it is with `np.where(x > 0, "up", "down")`, and `names[np.argsort(x)]`. The table is in order, so that the numbers are
ordered as the elements are.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ... import hlo
from ..recording import pytree
from ..recording.array import TracedArray, require_trace
from ..recording.current_trace import current_trace
from ..recording.dynamic_array import DynamicArray
from ..recording.errors import RecordedAgain
from ..recording.operands import has_traced
from .choices import Choice
from .loops.iteration import ArrayRows, Lazy, Rows
from .texts.deferred import Deferred

_KINDS = "USmM"
_MOST_PAIRS = 1 << 20  # of elements of two tables, of which all sums or differences are known
_MOST_ALTERNATIVES = 32  # values of one text that may be one of several


class CodedArray(Lazy):
    """``table[codes]``"""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, codes: Any, table: np.ndarray) -> None:
        self.codes, self.table = codes, table

    dtype = property(lambda self: self.table.dtype)
    shape = property(lambda self: self.codes.shape)
    ndim = property(lambda self: self.codes.ndim)
    size = property(lambda self: self.codes.size)
    T = property(lambda self: CodedArray(self.codes.T, self.table))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: Any) -> Any:
        return self._of(self.codes[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        value = coded(value)
        value = value if value.dtype == self.dtype else coded(value.astype(self.dtype))
        require_in_tables(value.table, self.table)
        self.codes[index] = _in_table(value, self.table)

    def __iter__(self) -> Iterator[Any]:
        return iter([self[place] for place in range(len(self))])

    def rows(self) -> Rows:
        return _CodedRows(self)

    def __array_function__(self, function: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        return call_with_codes(function, args, kwargs)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            raise _not_implemented(f"np.{ufunc.__name__}.{method}")
        return operated(ufunc, *inputs)

    def _of(self, codes: Any) -> Any:
        return CodedArray(codes, self.table) if codes.ndim or not codes.is_scalar else _element(self.table, codes)

    def astype(self, dtype: Any) -> Any:
        return operated(lambda table: table.astype(dtype), self)

    def copy(self, order: str = "C") -> CodedArray:
        return CodedArray(self.codes.copy(), self.table)

    def item(self, *index: Any) -> Any:
        return as_python(self[index or (0,) * self.ndim])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _EXTREMA and self.dtype.kind in "mM":
            return functools.partial(_EXTREMA[name], self)
        if name not in _METHODS:
            raise _not_implemented(name)
        method = getattr(self.codes, name)
        return method if name == "argsort" else lambda *args, **kwargs: self._of(method(*args, **kwargs))


class _CodedRows(Rows):
    def __init__(self, array: CodedArray) -> None:
        self.rows, self.table, self.length = ArrayRows(array.codes), array.table, array.shape[0]

    def element(self, position: Any) -> Any:
        return CodedArray(None, self.table)._of(self.rows.element(position))


def _not_implemented(name: str) -> NotImplementedError:
    return NotImplementedError(f"{name} of an array of texts or dates that depend on traced values is not implemented")


class _Table:
    """What a form of such arrays is known by."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self._key = values, (values.dtype, values.tobytes())

    def __eq__(self, other: Any) -> bool:
        return type(other) is _Table and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)


def _put_together(table: _Table, children: Sequence[Any]) -> Any:
    (codes,) = children
    if isinstance(codes, TracedArray):
        return CodedArray(codes, table.values)
    return np.asarray(table.values[codes]) if isinstance(codes, np.ndarray) else table.values[codes]


pytree.register_pytree(CodedArray, lambda array: ((array.codes,), _Table(array.table)), _put_together)


def _element(table: np.ndarray, code: TracedArray) -> Any:
    """One element of the table; a text of many exists when the program runs, a date is its number."""
    if code.known_value is not None:
        return table[int(code.known_value)]
    if len(table) <= _MOST_ALTERNATIVES:
        return Choice(code, list(table))
    if table.dtype.kind in "mM":
        return CodedArray(code, table)
    if table.dtype.kind != "U":
        raise _not_implemented("an element")
    return Deferred(operator.getitem, table, code)


def as_python(element: Any) -> Any:
    if isinstance(element, CodedArray):
        raise _not_implemented("an object of Python's of an element")
    if isinstance(element, Choice):
        return Choice(element.number, [one.item() for one in element.values])
    return Deferred(str, element) if isinstance(element, Deferred) else element.item()


def _constant(values: np.ndarray) -> TracedArray:
    return TracedArray.from_instruction(require_trace(), hlo.constant(values), is_scalar=False)


def coded(values: Any) -> CodedArray:
    """A known array, or a text, as codes."""
    if isinstance(values, CodedArray):
        return values
    array = np.asarray(values)
    table = _table_of(array)
    return CodedArray(_constant(np.searchsorted(table, array)), table)


# --- arrays that are changed ---

_PUT = "texts that are put into arrays"


def require_in_tables(values: np.ndarray, table: np.ndarray) -> None:
    """Where one of these is not in a table, the function is recorded again with tables that have them all."""
    if not np.isin(values, table).all():
        require_trace().program.guessed_bounds.setdefault(_PUT, []).extend(values)
        raise RecordedAgain


def change_known(value: Any) -> None:
    """A known array is about to be changed as the program says: it has codes when the function is recorded again."""
    guessed = require_trace().program.guessed_bounds
    if _PUT in guessed:
        raise NotImplementedError("an array of texts that NumPy has made of known ones is changed as the program decides")
    guessed[_PUT] = list(coded(value).table)
    raise RecordedAgain


def changeable(array: np.ndarray) -> Any:
    """A known array that the function has made: as codes, where the function changes such arrays as the program says."""
    return coded(array) if _PUT in require_trace().program.guessed_bounds else array


def _table_of(values: np.ndarray) -> np.ndarray:
    """The elements in their order, and what is put into arrays elsewhere."""
    trace = current_trace()
    put = () if trace is None or values.dtype.kind not in "US" else trace.program.guessed_bounds.get(_PUT, ())
    others = [np.asarray(one).astype(values.dtype) for one in put]
    return np.unique(np.concatenate([np.ravel(values), np.array(others, values.dtype)])) if others else np.unique(values)


def _is_known(value: Any) -> bool:
    """Whether this is a text, a date or an array of these."""
    return isinstance(value, (str, bytes)) or isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in _KINDS


def _is_one(value: Any) -> bool:
    if type(value) in (list, tuple):
        return any(map(_is_one, value))
    return isinstance(value, CodedArray) or _is_known(value)


def _joint_table(arrays: Sequence[CodedArray]) -> np.ndarray:
    return _table_of(np.concatenate([one.table for one in arrays]))


def _in_table(array: CodedArray, table: np.ndarray) -> Any:
    """The codes in a table that has all elements, and perhaps more."""
    if np.array_equal(table, array.table):
        return array.codes
    return _constant(np.searchsorted(table, array.table))[array.codes]


def operated(function: Callable, *operands: Any) -> Any:
    """What a function makes of such an array element by element, or of one and a known value."""
    operands = tuple([coded(one) if _is_known(one) and np.ndim(one) else one for one in operands])
    arrays = [one for one in operands if isinstance(one, CodedArray)]
    if len(arrays) == 1 and not has_traced([one for one in operands if one is not arrays[0]]):
        return _chosen(np.asarray(function(*[one.table if one is arrays[0] else one for one in operands])), arrays[0].codes)
    name = getattr(function, "__name__", "a function")
    if len(arrays) == 2 and name.strip("_") in _COMPARISONS:
        return _compared(function, arrays)
    if len(arrays) != 2 or len(operands) > 2 or len(arrays[0].table) * len(arrays[1].table) > _MOST_PAIRS:
        raise _not_implemented(name)
    first, second = arrays
    of_all = np.asarray(function(first.table[:, None], second.table)).ravel()
    return _chosen(of_all, first.codes * len(second.table) + second.codes)


def _compared(function: Callable, arrays: Sequence[CodedArray]) -> Any:
    """A comparison of two, in which NaT, the last one of the table, is not equal to anything, nor before or behind it."""
    table = _joint_table(arrays)
    first, second = (_in_table(one, table) for one in arrays)
    found, last = function(first, second), len(table) - 1
    if table.dtype.kind not in "mM" or last < 0 or not np.isnat(table[last]):
        return found
    is_nat = (first == last) | (second == last)
    return found | is_nat if function.__name__.strip("_") in ("ne", "not_equal") else found & ~is_nat


def _chosen(found: np.ndarray, codes: Any) -> Any:
    """Those of known values that the codes say: numbers, or codes in a table of their own."""
    if found.dtype.kind not in _KINDS:
        return _constant(found)[codes]
    table = _table_of(found)
    return _decoded(_constant(np.searchsorted(table, found))[codes], table)


_COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}


def _operator(function: Callable, is_reflected: bool = False) -> Callable:
    def operate(self: CodedArray, other: Any) -> Any:
        return operated(function, *((other, self) if is_reflected else (self, other)))

    return operate


for _name in ("eq", "ne", "lt", "le", "gt", "ge", "add", "sub"):
    setattr(CodedArray, f"__{_name}__", _operator(getattr(operator, _name)))
for _name in ("add", "sub"):
    setattr(CodedArray, f"__r{_name}__", _operator(getattr(operator, _name), is_reflected=True))

# Functions that take codes as they take elements; of these what they give are codes, or only the first of what they give.
_METHODS = {"reshape", "ravel", "flatten", "transpose", "squeeze", "repeat", "take", "swapaxes", "argsort", "compress"}
_ELSEWHERE = {
    np.where, np.select, np.choose, np.reshape, np.ravel, np.transpose, np.squeeze, np.expand_dims, np.repeat, np.tile, np.take,
    np.roll, np.flip, np.fliplr, np.flipud, np.rot90, np.swapaxes, np.moveaxis, np.broadcast_to, np.concatenate, np.stack,
    np.hstack, np.vstack, np.column_stack, np.append, np.sort, np.copy, np.delete, np.compress, np.union1d, np.intersect1d,
    np.setdiff1d, np.setxor1d, np.atleast_1d, np.atleast_2d, np.split, np.array_split, np.take_along_axis,
}  # fmt: skip
_NUMBERS = {np.argsort, np.isin, np.searchsorted, np.shape, np.size, np.ndim, np.array_equal, np.lexsort}
# Which arguments hold elements, where it is not the first one alone; keys of np.lexsort need not be of one kind.
_ELEMENTS = {
    np.where: (1, 2), np.select: (1, 2), np.choose: (1,), np.compress: (1,), np.append: (0, 1), np.union1d: (0, 1),
    np.intersect1d: (0, 1), np.setdiff1d: (0, 1), np.setxor1d: (0, 1), np.isin: (0, 1), np.searchsorted: (0, 1),
    np.array_equal: (0, 1), np.lexsort: (),
}  # fmt: skip
_NAMES_OF_ELEMENTS = frozenset({"default", "choicelist", "choices", "values", "ar2", "test_elements", "v", "a2"})
_CHOOSING = {np.where, np.select, np.choose}


def are_chosen(function: Callable, args: tuple, kwargs: dict) -> bool:
    """Whether a function is called with such arrays, or chooses among texts as the program says."""
    given = (*args, *kwargs.values())
    if any(isinstance(one, CodedArray) or type(one) in (list, tuple) and _holds_coded(one) for one in given):
        return True
    return function in _CHOOSING and any(map(_is_one, (*args[:3], kwargs.get("default")))) and has_traced(given)


def _holds_coded(values: Sequence[Any]) -> bool:
    return any(isinstance(one, CodedArray) for one in values)


def call_with_codes(function: Callable, args: tuple, kwargs: dict) -> Any:
    """``function(*args, **kwargs)``, with codes in the place of elements."""
    module = getattr(function, "__module__", "") or ""
    if isinstance(function, np.ufunc) or module.rpartition(".")[2] in ("char", "strings", "defchararray"):
        if kwargs:
            raise _not_implemented(function.__name__)
        return operated(function, *args)
    name = getattr(function, "__name__", "")
    if name in _EXTREMA and isinstance(args[0], CodedArray) and args[0].dtype.kind in "mM":
        return _EXTREMA[name](*args, **kwargs)
    if function is np.diff and len(args) == 1 and not kwargs and args[0].ndim == 1:
        return operated(np.subtract, args[0][1:], args[0][:-1])
    if function is not np.unique and function not in _ELSEWHERE | _NUMBERS:
        raise _not_implemented(f"np.{getattr(function, '__name__', function)}")
    _refuse_numbers(function, args, kwargs)
    arrays: list[CodedArray] = []

    def noted(value: Any) -> Any:
        if type(value) in (list, tuple) and _is_one(value):
            return type(value)(map(noted, value))
        if not isinstance(value, CodedArray) and not _is_known(value):
            return value
        arrays.append(coded(value))
        return arrays[-1]

    args = tuple(map(noted, args))
    kwargs = {name: noted(one) if name == "default" else one for name, one in kwargs.items()}
    table = _joint_table(arrays)

    def with_codes(value: Any) -> Any:
        if type(value) in (list, tuple):
            return type(value)(map(with_codes, value))
        return _in_table(value, table) if isinstance(value, CodedArray) else value

    found = function(*map(with_codes, args), **{name: with_codes(one) for name, one in kwargs.items()})
    if function in _NUMBERS:
        return found
    if type(found) in (list, tuple):
        decoded = len(found) if function is not np.unique else 1
        return type(found)([*[_decoded(one, table) for one in found[:decoded]], *found[decoded:]])
    return _decoded(found, table)


def _refuse_numbers(function: Callable, args: tuple, kwargs: dict) -> None:
    """Raise NotImplementedError where numbers are among the elements, of which NumPy makes texts: they are no codes."""
    elements = [args[place] for place in _ELEMENTS.get(function, (0,)) if place < len(args)]
    elements += [one for name, one in kwargs.items() if name in _NAMES_OF_ELEMENTS]
    if function is np.select and len(args) < 3 and "default" not in kwargs:
        elements.append(0)
    while elements:
        one = elements.pop()
        if type(one) in (list, tuple):
            elements += one
        elif isinstance(one, (TracedArray, DynamicArray, bool, int, float, complex, np.number, np.bool)) or (
            isinstance(one, np.ndarray) and one.dtype.kind in "biufc"
        ):
            raise NotImplementedError(
                f"np.{function.__name__} of numbers together with texts or dates that depend on traced values is not "
                "implemented. Fix: give it texts, or dates, alone; np.select has 0 as its default"
            )


def _extremum(name: str, array: CodedArray, axis: int | None = None, **others: Any) -> Any:
    """The first or last of dates, or where it is; NaT, the last one of the table, where there is any."""
    if others:
        raise _not_implemented(f"{name} with {', '.join(others)}")
    find = getattr(np, name)
    found = find(array.codes, axis)
    if name.endswith("min") and len(array.table) and np.isnat(array.table[-1]):
        of_nat = np.argmax(array.codes, axis) if name == "argmin" else len(array.table) - 1
        found = np.where(np.max(array.codes, axis) == len(array.table) - 1, of_nat, found)[()]
    return found if name.startswith("arg") else array._of(found)


_EXTREMA = {name: functools.partial(_extremum, name) for name in ("min", "max", "argmin", "argmax")}


def _decoded(codes: Any, table: np.ndarray) -> Any:
    return CodedArray(codes, table)._of(codes) if isinstance(codes, TracedArray | DynamicArray) else np.asarray(table[codes])

"""`numpy.nditer` and `numpy.broadcast`: elements of one array, or of several that are broadcast together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...recording.array import require_trace
from ...recording.dynamic_array import DynamicArray
from ...recording.errors import TracerError
from ...recording.function_tables import FUNCTIONS
from ...recording.operands import as_traced, has_traced
from ..loops.iteration import ArrayRows, Indices, Rows, Zip
from .meanings import implements

_FLAGS = {"multi_index", "c_index", "f_index", "refs_ok", "zerosize_ok"}
# What makes no difference to one piece of memory.
_OF_PIECES = {"external_loop", "buffered", "zerosize_ok", "refs_ok", "growinner", "delay_bufalloc"}
_BUFFER = 8192
_WRITTEN = {"readwrite", "writeonly"}


class ArrayIterator(Rows):
    """What `numpy.nditer` gives: gone over by a loop, or asked by its methods for one element after the other."""

    def __init__(self, operands: Sequence[Any], order: str, flags: Sequence[str], is_written: Sequence[bool]) -> None:
        self.shape = np.broadcast_shapes(*[one.shape for one in operands])
        if any(written and one.shape != self.shape for one, written in zip(operands, is_written)):
            raise ValueError("non-broadcastable operand: its shape is not the one that the operands have together")
        self.operands = tuple(operands)
        self.ndim, self.nop, self.itersize = len(self.shape), len(operands), int(np.prod(self.shape))
        self.length, self.finished = self.itersize, self.itersize == 0
        self._flags, self._is_last_first = flags, order == "F"
        self._views = [one if written else np.broadcast_to(one, self.shape) for one, written in zip(operands, is_written)]
        self._indices = Indices(self.shape[::-1] if self._is_last_first else self.shape)
        self._trace, self._position = require_trace(), 0
        self._trace_of_position = self._trace

    def element(self, position: Any) -> Any:
        self._position, self._trace_of_position = position, require_trace()
        return self.value

    @property
    def value(self) -> Any:
        """A view of the current element of the array, or those of all arrays."""
        return self[0] if self.nop == 1 else tuple([self[number] for number in range(self.nop)])

    def __getitem__(self, number: Any) -> Any:
        return self._views[number][(*self._multi_index(), ...)]

    def __setitem__(self, number: Any, value: Any) -> None:
        self._views[number][self._multi_index()] = value

    def _multi_index(self) -> tuple[Any, ...]:
        if self.finished:
            raise ValueError("Iterator is past the end")
        trace = require_trace()
        while trace is not self._trace_of_position:
            trace = trace.parent
            if trace is None:
                raise TracerError(
                    "where an np.nditer is, behind a loop that the program may leave, is not known. Fix: keep its multi_index "
                    "in the loop"
                )
        index = self._indices.element(self._position)
        return index[::-1] if self._is_last_first else index

    @property
    def multi_index(self) -> tuple[Any, ...]:
        if "multi_index" not in self._flags:
            raise ValueError("Iterator is not tracking a multi-index")
        return self._multi_index()

    @property
    def index(self) -> Any:
        """The number of the current element in row- or column-major order."""
        if not {"c_index", "f_index"} & set(self._flags):
            raise ValueError("Iterator does not have an index")
        number: Any = 0
        places = list(zip(self._multi_index(), self.shape))
        for place, size in places if "c_index" in self._flags else places[::-1]:
            number = number * size + place
        return number

    def iternext(self) -> bool:
        """Goes on to the next element, where Python knows which one that is."""
        if require_trace() is not self._trace:
            raise TracerError(
                "an np.nditer that is made outside of a loop or a branch that depends on traced values goes on in it. Fix: "
                "for value in np.nditer(...)"
            )
        self._position += 1
        self.finished = self._position >= self.itersize
        return not self.finished

    def reset(self) -> None:
        self._position, self.finished = 0, self.itersize == 0

    def close(self) -> None:
        """Nothing is kept back."""

    def __enter__(self) -> ArrayIterator:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


class WholePiece(Rows):
    """What `numpy.nditer` gives with ``external_loop`` of arrays without gaps that lie alike: all elements, as one piece."""

    length = 1

    def __init__(self, operands: Sequence[Any]) -> None:
        self.operands, self.nop, self.itersize = tuple(operands), len(operands), operands[0].size

    def element(self, position: Any) -> Any:
        return self.value

    @property
    def value(self) -> Any:
        pieces = [one.T.reshape(-1) if _is_column_major(one) else one.reshape(-1) for one in self.operands]
        return pieces[0] if self.nop == 1 else tuple(pieces)

    def __enter__(self) -> WholePiece:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


def _is_column_major(array: Any) -> bool:
    return array.flags.f_contiguous and not array.flags.c_contiguous


def _piece(operands: Sequence[Any], order: str, flags: Sequence[str]) -> WholePiece | None:
    """None where the arrays are several pieces, or NumPy copies them."""
    first = operands[0]
    are_alike = all(one.shape == first.shape and _is_column_major(one) == _is_column_major(first) for one in operands)
    has_no_gaps = all(one.flags.c_contiguous or one.flags.f_contiguous for one in operands)
    fits = "buffered" not in flags or first.size <= _BUFFER
    if not are_alike or not has_no_gaps or not fits or order not in ("K", "F" if _is_column_major(first) else "C"):
        return None
    return WholePiece(operands)


class Broadcast(Zip):
    """What `numpy.broadcast` gives: the shape of arrays together, and their elements, in tuples."""

    def __init__(self, arrays: Sequence[Any]) -> None:
        self.shape = np.broadcast_shapes(*[one.shape for one in arrays])
        self.ndim = self.nd = len(self.shape)
        self.size, self.numiter = int(np.prod(self.shape)), len(arrays)
        super().__init__([ArrayRows(np.broadcast_to(one, self.shape).reshape(-1)) for one in arrays])


@implements(np.broadcast)
def broadcast(*args: Any) -> Any:
    if not has_traced(args):
        return np.broadcast(*args)
    arrays = [as_traced(one) for one in args]
    if any(isinstance(one, DynamicArray) for one in arrays):
        raise NotImplementedError("np.broadcast of an array whose size is known at run time only is not implemented")
    return Broadcast(arrays)


def _order_of(operands: Sequence[Any], order: str) -> str | None:
    """C or F; None for another order, in which memory has the elements."""
    if order in "CF":
        return order
    strides = [[stride for stride, size in zip(one.strides, one.shape) if size != 1] for one in operands]
    if order != "K" or any(stride < 0 for one in strides for stride in one):
        return None
    if all(one == sorted(one, reverse=True) for one in strides):
        return "C"
    return "F" if all(one == sorted(one) for one in strides) and len({one.ndim for one in operands}) == 1 else None


def _with_results(operands: Sequence[Any]) -> list[Any]:
    """The operands as arrays, and new ones where None stands."""
    arrays = [None if one is None else as_traced(one) for one in operands]
    given = [one for one in arrays if one is not None]
    shape, dtype = np.broadcast_shapes(*[one.shape for one in given]), np.result_type(*[one.dtype for one in given])
    return [FUNCTIONS[np.zeros](shape, dtype) if one is None else one for one in arrays]


@implements(np.nditer)
def nditer(op: Any, flags: Any = None, op_flags: Any = None, *args: Any, order: str = "K", **kwargs: Any) -> Any:
    operands = list(op) if isinstance(op, (list, tuple)) else [op]
    if not has_traced(operands):
        return np.nditer(op, flags, op_flags, *args, order=order, **kwargs)
    flags = list(flags or ())
    are_pieces = "external_loop" in flags
    known = _OF_PIECES if are_pieces else _FLAGS
    if args or kwargs or not known.issuperset(flags) or any(isinstance(one, DynamicArray) for one in operands):
        raise _not_implemented("with these arguments")
    each = [op_flags] * len(operands) if op_flags and isinstance(op_flags[0], str) else list(op_flags or [()] * len(operands))
    is_written = [one is None or not _WRITTEN.isdisjoint(own) for one, own in zip(operands, each)]
    arrays = _with_results(operands)
    if are_pieces:
        piece = _piece(arrays, order, flags)
        if piece is None:
            raise _not_implemented("with external_loop, that lie in several pieces or have another order,")
        return piece
    found = _order_of([array for array, one in zip(arrays, operands) if one is not None], order)
    if found is None:
        raise _not_implemented("in an order of memory that is neither C nor F")
    return ArrayIterator(arrays, found, flags, is_written)


def _not_implemented(what: str) -> NotImplementedError:
    return NotImplementedError(f"np.nditer of traced arrays {what} is not implemented; use np.ndindex(x.shape)")

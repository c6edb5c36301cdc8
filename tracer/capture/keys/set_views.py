"""What sets are gone over by: their elements in Python's order, where they were put into an empty one, one after the other.

That order follows from their hashes: of numbers and of tuples of numbers, as CPython's Python/pyhash.c and
Objects/tupleobject.c compute them. Those of texts are other ones in each process.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from ...recording.errors import RecordedAgain, TracerError
from ..calls.dispatch import call
from ..entries import INSERTED, UNORDERED, contents_of
from ..library import set_order
from ..lists.access import gathered, item_at
from ..lists.runs import Run, instruction_of, instructions, length_of, number_of, ordered, settled
from ..loops.iteration import ROWS_OF_KEYS, Rows
from .lookup import keys_of
from .views import KEYS, DictRows, DictView, entries_of, parts_of

_BITS = 61
_MODULUS = (1 << _BITS) - 1
_PRIMES = 11400714785074694791, 14029467366897019727, 2870177450012600261  # the first, second and fifth of xxHash


class SetRows(DictRows):
    """The elements of a set, in Python's order."""

    def __init__(self, holder: Any, in_order: list[Any]) -> None:
        super().__init__(holder, KEYS)
        self.in_order = in_order

    def element(self, position: Any) -> Any:
        self.require_same_length(length_of(entries_of(self.holder)))
        return item_at(self.in_order, position)[KEYS]


class SetView(DictView):
    """As `DictView`, of a set whose entries are these in Python's order."""

    def __init__(self, holder: Any, in_order: list[Any]) -> None:
        super().__init__(holder, KEYS)
        self.in_order = in_order

    def rows(self) -> Rows:
        return SetRows(self.holder, self.in_order)

    def listed(self) -> list[Any]:
        return parts_of(self.in_order, KEYS)


_ORDERS_ARE_LOST, _ORDERS_ARE_KEPT = (
    "sets have lost their order by what was taken out",
    "what is taken out leaves sets in order",
)


def is_order_kept(mark: Any) -> bool:
    """Whether a set with this mark has an order, which it keeps where an element is taken out."""
    if mark in (UNORDERED, INSERTED):
        return False
    known = require_trace().program.guessed_bounds
    if _ORDERS_ARE_KEPT not in known:
        known[_ORDERS_ARE_LOST] = True
    return _ORDERS_ARE_KEPT in known


def _keep_orders() -> None:
    """To be called where a set has no order that is known. Raises RecordedAgain where it has perhaps lost it."""
    known = require_trace().program.guessed_bounds
    if known.pop(_ORDERS_ARE_LOST, False):
        known[_ORDERS_ARE_KEPT] = True
        raise RecordedAgain


def view_of_set(holder: Any, any_order: bool = False) -> DictView:
    """What goes over a set; of one with elements that the program computes, where the order does not matter."""
    contents = contents_of(holder)
    if any_order or UNORDERED not in contents and INSERTED not in contents:
        return DictView(holder, KEYS)
    in_order = _in_order_of_python(settled(entries_of(holder))) if INSERTED in contents else None
    if in_order is None:
        if UNORDERED in contents:
            _keep_orders()
        raise TracerError(
            "the order of a set's elements, which the program computes, is Python's own and not known: it cannot be gone over "
            "one by one, nor popped. Fix: sorted(...) of the set, or a dict in its place (dict.fromkeys), which has an order"
        )
    return SetView(holder, [in_order])


def _rows(holder: Any) -> Rows:
    return DictRows(holder, KEYS) if isinstance(holder, dict) else view_of_set(holder).rows()


def _in_order_of_python(run: Run) -> Run | None:
    """The entries of a set in the order in which it is gone over; None where that is not known."""
    keys = keys_of(ordered(run))
    if sys.implementation.name != "cpython" or any(
        not leaf.is_number or leaf.is_coded or leaf.text is not None or number.shape.dimensions
        for leaf, number in zip(keys.form.leaves, keys.type.numbers)
    ):
        return None
    trace = require_trace()
    columns = iter([TracedArray.from_instruction(trace, column, is_scalar=False) for column in instructions(keys)])
    hashes = _hashes(keys.form.structure, columns)
    if hashes is None:
        return None
    count, capacity = number_of(instruction_of(keys.length)), run.form.capacity
    order = call(set_order.in_order, hashes, count, _size_of_table(capacity))
    return gathered(run, lambda rows: order.instruction(trace), number_of(instruction_of(run.length)))


def _size_of_table(count: int) -> int:
    """The size of a table into which so many elements have been put."""
    mask = set_order.LEAST_SIZE - 1
    while count * 5 >= mask * 3:
        mask = set_order.size_for(-(-mask * 3 // 5)) - 1
    return mask + 1


def _hashes(structure: Any, columns: Iterator[TracedArray]) -> TracedArray | None:
    """The hash of each element, as uint64; None where it is another one in each process."""
    if structure is pytree.LEAF:
        return _hash_of_numbers(next(columns))
    kind, _, children = structure
    if kind is not tuple:
        return None
    first, second, fifth = (np.uint64(prime) for prime in _PRIMES)
    whole: Any = fifth
    for child in children:
        part = _hashes(child, columns)
        if part is None:
            return None
        whole = whole + part * second
        whole = ((whole << np.uint64(31)) | (whole >> np.uint64(33))) * first
    whole = whole + np.uint64(len(children) ^ (_PRIMES[2] ^ 3527539))
    return np.where(whole == np.uint64(2**64 - 1), np.uint64(1546275796), whole)


def _hash_of_numbers(values: TracedArray) -> TracedArray | None:
    kind = values.dtype.kind
    if kind == "f":
        return _hash_of_floats(values.astype(np.float64))
    if kind not in "iub":
        return None
    if kind == "u":
        return values.astype(np.uint64) % np.uint64(_MODULUS)
    return _not_minus_one(np.fmod(values.astype(np.int64), np.int64(_MODULUS)))


def _hash_of_floats(values: TracedArray) -> TracedArray:
    """The residue of the number modulo 2**61 - 1, in which a power of two is a rotation; no element is NaN."""
    fraction, exponent = np.frexp(np.abs(values))
    whole = (fraction * 2.0**53).astype(np.uint64)
    turned = np.mod(exponent.astype(np.int64) - 53, _BITS).astype(np.uint64)
    found = ((whole << turned) & np.uint64(_MODULUS)) | (whole >> (np.uint64(_BITS) - turned))
    found = np.where(np.isinf(values), 314159, found.astype(np.int64))
    return _not_minus_one(np.where(values < 0, -found, found))


def _not_minus_one(hashes: TracedArray) -> TracedArray:
    return np.where(hashes == -1, np.int64(-2), hashes).astype(np.uint64)


ROWS_OF_KEYS.append(_rows)

"""Python's built-in functions, on traced values and on numbers."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from ...recording.attributes import class_of
from ...recording.dynamic_array import DynamicArray
from ...recording.errors import ConcretizationError, TracerError, name_of_type
from ...recording.operands import has_traced
from .. import journals, made_iterators
from ..choices import Choice, Maybe
from ..coded_arrays import CodedArray, coded
from ..conversions import bool_, is_open
from ..distribution import each, length_told, truth_of
from ..entries import elements_in, has_open_keys, is_open_set
from ..equality import choose, is_none
from ..keys.set_views import view_of_set
from ..keys.views import KEYS, DictView
from ..library import iterators, powers
from ..library.listed import Listed
from ..library.masked.array import MaskedArray
from ..lists.access import item_at, items_of
from ..lists.deques import TracedDeque
from ..lists.functions import total, truths
from ..lists.growing import note_list
from ..lists.mapping import mapped
from ..lists.runs import is_open_list, known_length, length_of, type_of_items
from ..loops.comprehensions import Generated, folded, generated, is_open_generator
from ..loops.generators import TracedGenerator, begun, numbered
from ..loops.iteration import (
    Enumerate,
    Indices,
    Lazy,
    ListRows,
    Reversed,
    Rows,
    TracedRange,
    Zip,
    is_captured,
    is_of_open_length,
    items_for_python,
    rows_of,
    unlisted,
)
from ..masked import is_instance as is_masked_instance
from ..masked import type_of as type_of_masked
from ..outside.containers import OutsideList
from ..outside.kinds import OUTSIDE_CONTAINERS
from ..outside.sets import OutsideSet
from ..outside.streams import OutsideIterator
from ..outside.surroundings import current_surroundings
from ..special_methods import special_method
from ..structured_arrays import StructuredArray
from ..structured_arrays import type_of as structured_type
from ..text_fields import TextArray
from ..texts.deferred import Deferred, asked, is_bytes, is_made_text
from ..truths import not_
from .dispatch import call
from .meanings import implements


@implements(len)
def len_(value: Any) -> Any:
    if type(value) is TracedArray:
        return len(value)
    if isinstance(value, OutsideList):
        before, others = value.parts_of_length()
        return before + length_of(others)
    if is_open_list(value):
        return length_of(value)
    if isinstance(value, Deferred):
        return asked(len, 0, value)
    if has_open_keys(value) or type(value) is DictView:
        return (value if type(value) is DictView else DictView(value, KEYS)).length
    if (method := special_method(value, "__len__")) is not None:
        return length_told(method)
    if isinstance(value, (CodedArray, TextArray)):
        value = value.codes
    if isinstance(value, StructuredArray) and not value.form.is_record:
        value = value.numbers
    if isinstance(value, Rows):
        return value.length
    return value.shape[0] if isinstance(value, DynamicArray) else len(value)


@implements(list)
def list_(*args: Any) -> Any:
    args = tuple(map(begun, args))
    made = list(elements_gone_over(args)) if args and _is_taken_apart(args[0]) else list(*args)
    note_list(made)
    return made


@implements(range)
def range_(*bounds: Any) -> Any:
    return TracedRange(*bounds) if any(map(is_open, bounds)) else range(*bounds)


@implements(tuple)
def tuple_(*args: Any) -> tuple:
    args = tuple(map(begun, args))
    if not args or not _is_taken_apart(args[0]):
        return tuple(*args)
    items = elements_gone_over(args)
    if is_open_list(items) and (length := known_length(items)) is not None and length <= _SHORT:
        return tuple([item_at(items, place) for place in range(length)])  # as others with so many elements are
    return tuple(items)


_SHORT = 32


def _is_taken_apart(value: Any) -> bool:
    return isinstance(value, (list, Lazy, Rows)) or is_made_text(value) or has_open_keys(value) or is_of_open_length(value)


def _rows_of_known(iterable: Any) -> Rows | None:
    """What is gone over beside something whose length the program decides."""
    if isinstance(iterable, (list, tuple, str)):
        return ListRows(list(iterable) if isinstance(iterable, str) else iterable)
    is_known = type(iterable) is np.ndarray and iterable.ndim and iterable.dtype.kind in "USmM"
    return coded(iterable).rows() if is_known else None


@implements(zip)
def zip_(*iterables: Any, strict: bool = False) -> Any:
    parts = [rows_of(iterable) for iterable in iterables]
    is_open = any(is_open_list(one) or has_open_keys(one) for one in iterables)
    if is_open or any(part is not None and isinstance(part.length, TracedArray) for part in parts):
        parts = [_rows_of_known(one) if part is None else part for part, one in zip(parts, iterables)]
    if not parts or None in parts or not any(map(is_captured, iterables)) and not all(part.length > 8 for part in parts):
        made = zip(*map(items_for_python, iterables), strict=strict)
        journals.note_made(made)
        return made
    made = Zip(parts, strict)
    if any(part.of_python is None for part in parts):
        return made
    return made.asked_by_python(lambda: zip(*iterables, strict=strict), parts)


@implements(enumerate)
def enumerate_(iterable: Any, start: int = 0) -> Any:
    is_endless = made_iterators.is_endless(iterable)
    if type(iterable := begun(iterable)) is TracedGenerator:
        made = numbered(iterable, start)
        made.is_endless = is_endless
        return made
    rows = rows_of(iterable)
    if rows is None:
        return enumerate(items_for_python(iterable), start)
    made = Enumerate(rows, start)
    return made if rows.of_python is None else made.asked_by_python(lambda: enumerate(iterable, start), (rows,))


@implements(reversed)
def reversed_(sequence: Any) -> Any:
    rows = rows_of(sequence)
    if rows is None:
        return reversed(sequence)
    made = Reversed(rows)
    return made if rows.of_python is None else made.asked_by_python(lambda: reversed(sequence), (rows,))


@implements(np.ndindex)
def ndindex(*shape: Any) -> Any:
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    return Indices(tuple(map(int, shape)))


@implements(next)
def next_(iterator: Any, *default: Any) -> Any:
    if isinstance(iterator, OutsideIterator):
        return iterator.following(*default)
    if isinstance(iterator, TracedGenerator) and is_open_generator(iterator):
        return _first_of(iterator, *default)
    if isinstance(iterator, (Zip, Enumerate, Reversed, Indices)):
        if iterator.iterator is not None:
            return iterator.following(*default)
        raise TracerError(
            f"next of {type(iterator).__name__.lower()}(...) of an array is not followed: it has no position. "
            "Fix: take the elements by their positions, or make a list of it before (list(...))"
        )
    made_iterators.require_made_here(iterator)
    if default and isinstance(iterator, iterators.Iterating):
        return call(iterator.following, *default)
    if default and special_method(iterator, "__next__") is not None:
        return call(iterators.next_or, iterator, *default)
    if (method := special_method(iterator, "__next__")) is not None:
        return method()
    return next(iterator, *default)


def _first_of(generator: TracedGenerator, *default: Any) -> Any:
    """The first value of a generator that nobody can ask for a second one."""
    found: Any = None
    is_there: Any = False

    def take(value: Any) -> bool:
        nonlocal found, is_there
        journals.note_nonlocal(lambda: (found, is_there))
        found, is_there = value, True
        return True

    with journals.own_variables(lambda: (found, is_there)):
        generator.push(take)
    found = found.value if type(found) is Maybe and found.absent is None else found
    if default:
        return choose(is_there, lambda: found, lambda: default[0])
    if not isinstance(is_there, TracedArray):
        return found if is_there else next(iter(()))
    require_trace().add_raise(not_(is_there).instruction(require_trace()), StopIteration())
    return found


@implements(map)
def map_(function: Callable, *iterables: Iterable) -> Any:
    several = len(iterables) > 1

    def called(item: Any) -> Any:
        return call(function, *item) if several else call(function, item)

    called.__wrapped__ = function
    return generated(call(zip, *iterables) if several else iterables[0], lambda one: map(called, one), None, None, called)


@implements(filter)
def filter_(function: Callable | None, iterable: Iterable) -> Any:
    test = _itself if function is None else functools.partial(call, function)
    return generated(iterable, lambda one: filter(test, one), None, test, _itself)


def _itself(value: Any) -> Any:
    return value


def elements_gone_over(args: tuple, any_order: bool = False) -> list[Any]:
    """What is gone over; of a set, where the order matters unless it may be any, that is known."""
    args = tuple(map(unlisted, args))
    if len(args) == 1 and has_open_keys(args[0]):
        return (DictView(args[0], KEYS) if isinstance(args[0], dict) else view_of_set(args[0], any_order)).listed()
    if len(args) == 1 and type(args[0]) is DictView:
        return args[0].listed()
    if len(args) == 1 and type(generator := begun(args[0])) is TracedGenerator:
        args = (generator.elements(),)
    if len(args) == 1 and is_open_list(args[0]):
        return items_of(args[0])
    if len(args) == 1 and (is_of_open_length(args[0]) or is_made_text(args[0])):
        return mapped(_itself, rows_of(args[0]))
    if len(args) == 1 and any_order and isinstance(args[0], (set, frozenset)):
        return list(elements_in(args[0]))
    return list(args[0]) if len(args) == 1 else list(args)


@implements(builtins.sum)
def sum_(iterable: Any, /, start: Any = 0) -> Any:
    if isinstance(iterable, TracedArray) and iterable.ndim >= 1 and type(start) is int and start == 0:
        if not iterable.is_dynamic and not len(iterable):
            return 0
        return np.sum(iterable, axis=0, dtype=(0 + np.zeros((), iterable.dtype)).dtype)
    if isinstance(iterable, Generated) and iterable.is_captured():
        return folded(iterable, start, lambda one, other: one + other)
    iterable = unlisted(iterable)
    if is_open_set(iterable):
        numbers = view_of_set(iterable, any_order=True).listed()
        is_exact = all(kind is not None and not kind.shape.element_type.is_float for kind in type_of_items(numbers).numbers)
        items = numbers if is_exact else view_of_set(iterable).listed()
    else:
        iterable = begun(iterable)
        items = elements_gone_over((iterable,)) if is_captured(iterable) or type(iterable) is TracedGenerator else iterable
    if isinstance(start, list) and not is_open_list(items):
        found = [*start, *[part for item in items for part in items_of(item)]]
    else:
        found = total(items, start) if is_open_list(items) else sum(items, start)
    if type(found) is list:
        note_list(found)
    return found


@implements(math.prod)
def prod_(iterable: Any, /, *, start: Any = 1) -> Any:
    if is_of_open_length(iterable):
        return folded(generated(iterable, iter, None, None, _itself), start, operator.mul)
    return functools.reduce(operator.mul, iterable, start)


def _truths(name: str, items: list[Any]) -> Any:
    """``any(items)`` and ``all(items)``, where the program decides how many there are."""
    kind = type_of_items(items)
    if kind is not None and kind.structure is not pytree.LEAF:
        items = mapped(bool_, rows_of(items))
    return truths(name, items)


@implements(builtins.any)
def any_(iterable: Any) -> Any:
    if isinstance(iterable, TracedArray) and iterable.ndim == 1:
        return bool_(np.any(iterable))
    if isinstance(iterable, Generated) and iterable.is_captured():
        return folded(iterable, False, lambda _, value: bool_(value), bool_)
    items = elements_gone_over((iterable,), any_order=True)
    if is_open_list(items):
        return _truths("any", items)
    return _folded_truths(items, np.logical_or, False)


@implements(builtins.all)
def all_(iterable: Any) -> Any:
    if isinstance(iterable, TracedArray) and iterable.ndim == 1:
        return bool_(np.all(iterable))
    if isinstance(iterable, Generated) and iterable.is_captured():
        return folded(iterable, True, lambda _, value: bool_(value), not_)
    items = elements_gone_over((iterable,), any_order=True)
    if is_open_list(items):
        return _truths("all", items)
    return _folded_truths(items, np.logical_and, True)


def _folded_truths(items: Sequence[Any], operate: np.ufunc, found: Any) -> Any:
    """Whether any, or all, of these values are true, which have been computed."""
    for item in items:
        test = truth_of(item)
        if isinstance(test, TracedArray):
            found = operate(found, test)
        elif bool(test) is (operate is np.logical_or):
            return bool(test)
    return bool_(found)


@implements(builtins.abs)
def abs_(value: Any) -> Any:
    return abs(value)


@implements(builtins.pow)
def pow_(base: Any, exp: Any, mod: Any = None) -> Any:
    """With a modulus Python's integers are multiplied one after the other; of NumPy's Python takes none."""
    if mod is None:
        return base**exp
    numbers = (base, exp, mod)
    if not has_traced(numbers):
        return pow(*numbers)
    if all(type_(number) in (int, bool) for number in numbers):
        return call(powers.power_modulo, *[number + 0 for number in numbers])
    if any(issubclass(type_(number), np.generic) for number in numbers):
        raise TypeError(_NO_POWER.format(*[name_of_type(type_(number)) for number in numbers]))
    raise TypeError("pow() 3rd argument not allowed unless all arguments are integers")


_NO_POWER = "unsupported operand type(s) for ** or pow(): '{}', '{}', '{}'"


def _same_or_each(function: Callable[[Any], Any], value: Choice) -> Any:
    """What the function says of each of several values, where that is known to be one thing; else of the one that it is."""
    found = list(map(function, value.values))
    return found[0] if all(one is found[0] for one in found) else each(function, value)


_STAND_INS = (TracedArray, TracedDeque, Deferred, StructuredArray, TextArray, Listed, *OUTSIDE_CONTAINERS, OutsideSet)


@implements(builtins.isinstance)
def isinstance_(value: Any, kinds: Any) -> bool:
    if type(value) is TracedArray and value.exact is not None:
        value = value.exact
    if type(value) is Choice:
        return _same_or_each(lambda one: isinstance_(one, kinds), value)
    if type(value) is Maybe:
        return choose(is_none(value), lambda: isinstance(None, kinds), lambda: isinstance_(value.value, kinds))
    if isinstance(value, MaskedArray):
        return is_masked_instance(value, kinds)
    if isinstance(value, _STAND_INS):
        return issubclass(type_(value), kinds)
    return isinstance(value, kinds)


@implements(builtins.type)
def type_(*args: Any) -> Any:
    """What the value's type is when the program runs."""
    (value, *others) = args
    if not others and type(value) is Maybe:
        raise ConcretizationError(value.is_there, "to decide between None and a value, by its type", "Use `is None`.")
    if not others and isinstance(value, Deferred):
        return bytes if is_bytes(value) else str
    if not others and type(value) is Choice:
        return _same_or_each(type_, value)
    if not others and type(value) is TracedArray and value.exact is not None:
        return _same_or_each(type_, value.exact)
    if not others and isinstance(value, StructuredArray):
        return structured_type(value)
    if not others and isinstance(value, TextArray):
        return np.ndarray
    if not others and isinstance(value, MaskedArray):
        return type_of_masked(value)
    if not others and isinstance(value, Listed):
        return type(value).listed_as
    if not others and isinstance(value, (*OUTSIDE_CONTAINERS, OutsideSet)):
        return type(current_surroundings().user_container(value))
    if others or not isinstance(value, TracedArray):
        return class_of(type(*args))
    return value.run_time_type


@implements(np.isscalar)
def isscalar(element: Any) -> bool:
    return element.is_scalar if isinstance(element, TracedArray) else np.isscalar(element)


@implements(builtins.callable)
def callable_(value: Any) -> bool:
    return callable(value)


@implements(builtins.hash)
def hash_(value: Any) -> Any:
    """Objects that stand for one of several have a hash of their own, which is none of theirs."""
    return hash(value.required()) if type(value) is Maybe else each(hash, value)

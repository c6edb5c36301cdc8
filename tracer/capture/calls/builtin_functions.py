"""Python's built-in functions, on traced values and on numbers."""

from __future__ import annotations

import builtins
import dataclasses
import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .... import hlo
from ...control_flow.bodies import ValueType
from ...recording.aliases import link
from ...recording.array import TracedArray, require_trace
from ...recording.attributes import class_of
from ...recording.dynamic_array import DynamicArray
from ...recording.errors import ConcretizationError, TracerError, name_of_type
from ...recording.operands import as_traced, has_traced
from .. import journals, made_iterators
from ..choices import Choice, Maybe
from ..coded_arrays import CodedArray, coded
from ..conversions import bool_, is_open
from ..distribution import each, truth_of
from ..entries import elements_in, has_open_keys, is_open_set
from ..equality import choose, is_none, ordered
from ..forms import is_number
from ..keys.set_views import view_of_set
from ..keys.views import KEYS, DictView
from ..library import iterators, powers
from ..library.listed_sets import ListedSet
from ..library.masked.array import MaskedArray
from ..lists.access import change, items_of
from ..lists.deques import TracedDeque
from ..lists.functions import extreme, sorted_list, total, truths
from ..lists.growing import note_list
from ..lists.mapping import mapped
from ..lists.methods import method
from ..lists.runs import is_open_list, length_of, type_of_items
from ..lists.text_ranks import in_groups, in_one_run
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
from ..loops.stacked_rows import row_of as row_of_array
from ..loops.stacked_rows import slice_of, whole_array
from ..masked import is_instance as is_masked_instance
from ..masked import type_of as type_of_masked
from ..outside.containers import OutsideList
from ..outside.kinds import OUTSIDE_CONTAINERS
from ..outside.sets import OutsideSet
from ..outside.streams import OutsideIterator
from ..outside.surroundings import current_surroundings
from ..special_methods import is_compared_by_program, special_method
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
        return method()
    if isinstance(value, CodedArray):
        value = value.codes
    if isinstance(value, StructuredArray) and not value.form.is_record:
        value = value.numbers
    if isinstance(value, Rows):
        return value.length
    return value.shape[0] if isinstance(value, DynamicArray) else len(value)


@implements(list)
def list_(*args: Any) -> Any:
    args = tuple(map(begun, args))
    made = list(_elements(args)) if args and _is_taken_apart(args[0]) else list(*args)
    note_list(made)
    return made


@implements(range)
def range_(*bounds: Any) -> Any:
    return TracedRange(*bounds) if any(map(is_open, bounds)) else range(*bounds)


@implements(tuple)
def tuple_(*args: Any) -> tuple:
    args = tuple(map(begun, args))
    return tuple(_elements(args)) if args and _is_taken_apart(args[0]) else tuple(*args)


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
    if any(map(is_open_list, iterables)) or any(part is not None and isinstance(part.length, TracedArray) for part in parts):
        parts = [_rows_of_known(one) if part is None else part for part, one in zip(parts, iterables)]
    if None in parts or not any(map(is_captured, iterables)) and not all(part.length > 8 for part in parts):
        made = zip(*map(items_for_python, iterables), strict=strict)
        journals.note_made(made)
        return made
    made = Zip(parts)
    if any(part.of_python is None for part in parts):
        return made
    return made.asked_by_python(lambda: zip(*iterables, strict=strict))


@implements(enumerate)
def enumerate_(iterable: Any, start: int = 0) -> Any:
    if type(iterable := begun(iterable)) is TracedGenerator:
        return numbered(iterable, start)
    rows = rows_of(iterable)
    if rows is None:
        return enumerate(items_for_python(iterable), start)
    made = Enumerate(rows, start)
    return made if rows.of_python is None else made.asked_by_python(lambda: enumerate(iterable, start))


@implements(reversed)
def reversed_(sequence: Any) -> Any:
    rows = rows_of(sequence)
    if rows is None:
        return reversed(sequence)
    made = Reversed(rows)
    return made if rows.of_python is None else made.asked_by_python(lambda: reversed(sequence))


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


def _elements(args: tuple, any_order: bool = False) -> list[Any]:
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


def _extreme(builtin: Callable, reduction: Callable, pair: Callable) -> Callable:
    def implementation(*args: Any, key: Callable | None = None, **default: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], TracedArray) and key is None and args[0].ndim == 1:
            if args[0].is_dynamic or args[0].size:
                return _of_array(args[0], reduction)
        if len(args) == 1 and isinstance(args[0], np.ndarray):
            return builtin(*args, key=key, **default)
        items = in_one_run(_elements(args, any_order=key is None))
        items = in_groups(items) if _are_texts(items) else items
        if is_open_list(items) or any(type(item) is Maybe or is_open_list(item) for item in items):
            return extreme(builtin.__name__, items, key, default)
        if not has_traced(items) and key is None and not _have_an_order(items) or not items:
            return builtin(items, **default)
        rows = whole_array(items) if key is None else None
        if rows is not None and rows.ndim == 1 and items[0].exact is None:
            found = _of_array(rows, reduction)
            found.weak_type, found.is_scalar = items[0].weak_type, items[0].is_scalar
            return found
        if key is not None:
            keys = [call(key, item) for item in items]
            if not has_traced(keys):
                return items[keys.index(builtin(keys))]
            best, best_key = items[0], keys[0]
            for item, item_key in zip(items[1:], keys[1:]):
                better = pair(item_key, best_key)
                best, best_key = (_chosen(better, one, other) for one, other in ((item, best), (item_key, best_key)))
            return best
        found = items[0]
        for item in items[1:]:
            found = _chosen(pair(item, found), item, found)
        return found

    return implementation


def _are_texts(items: Sequence[Any]) -> bool:
    """Whether there are texts among these, or first in tuples, that the program makes."""
    firsts = [item[0] if type(item) is tuple and item else item for item in items]
    return len(items) > 1 and any(map(is_made_text, firsts))


def _of_array(array: TracedArray, reduction: Callable) -> Any:
    """The first of its elements than which none is greater, or less, in Python's order: NaN counts only if it is the first."""
    if not array.element_type.is_float:
        return reduction(array)
    position = (np.argmax if reduction is np.max else np.argmin)(array)
    if array.is_dynamic:
        return array[position]
    least = -np.inf if reduction is np.max else np.inf
    position = (np.argmax if reduction is np.max else np.argmin)(np.where(np.isnan(array), least, array))
    return np.where(np.isnan(array[0]), array[0], array[position])[()]


def _have_an_order(items: Any) -> bool:
    """Whether these are objects whose classes say how they are compared."""
    if not isinstance(items, (list, tuple)):
        return False
    are_dataclasses = all(dataclasses.is_dataclass(item) and type(item).__dataclass_params__.order for item in items)
    return are_dataclasses or any(special_method(item, "__lt__", "__gt__") for item in items)


def _chosen(test: Any, first: Any, second: Any) -> Any:
    return choose(test, lambda: first, lambda: second)


implements(builtins.max)(_extreme(builtins.max, np.max, functools.partial(ordered, "gt")))
implements(builtins.min)(_extreme(builtins.min, np.min, functools.partial(ordered, "lt")))


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
        items = _elements((iterable,)) if is_captured(iterable) or type(iterable) is TracedGenerator else iterable
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


@implements(builtins.any)
def any_(iterable: Any) -> Any:
    if isinstance(iterable, TracedArray) and iterable.ndim == 1:
        return bool_(np.any(iterable))
    if isinstance(iterable, Generated) and iterable.is_captured():
        return folded(iterable, False, lambda _, value: bool_(value), bool_)
    items = _elements((iterable,), any_order=True)
    if is_open_list(items):
        return truths("any", items)
    return _folded_truths(items, np.logical_or, False)


@implements(builtins.all)
def all_(iterable: Any) -> Any:
    if isinstance(iterable, TracedArray) and iterable.ndim == 1:
        return bool_(np.all(iterable))
    if isinstance(iterable, Generated) and iterable.is_captured():
        return folded(iterable, True, lambda _, value: bool_(value), not_)
    items = _elements((iterable,), any_order=True)
    if is_open_list(items):
        return truths("all", items)
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


@implements(builtins.sorted)
def sorted_(iterable: Any, /, *, key: Callable | None = None, reverse: bool = False) -> Any:
    found = _in_order(in_one_run(_elements((iterable,), any_order=key is None)), key, reverse)
    note_list(found)
    return found


@method("sort")
def sort(holder: list, *, key: Callable | None = None, reverse: bool = False) -> None:
    change(holder, _in_order(items_of(holder), key, reverse))


def _in_order(items: Any, key: Callable | None, reverse: bool) -> Any:
    is_open = is_open_list(items) or any(type(item) is Maybe for item in items)
    if key is None and not is_open and (known := _order_of_first_parts(items, reverse)) is not None:
        return [items[position] for position in known]
    if is_open or any(is_open_list(item) or is_compared_by_program(item) for item in items):
        return sorted_list(items, key, reverse)
    if _are_texts(items):
        return sorted_list(in_groups(items), key, reverse)
    if not has_traced(items) and key is None:
        return sorted(items, reverse=reverse)
    keys = items if key is None else [call(key, item) for item in items]
    if any(map(is_made_text, keys)):
        return sorted_list(items, key, reverse)
    if not has_traced(keys):
        order = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
        return [items[position] for position in order]
    if not all(map(is_number, (*items, *keys))):
        return sorted_list(items, key, reverse)
    kinds = {type_(item) for item in items}
    if len(kinds) > 1 or any(getattr(item, "exact", None) is not None for item in items):
        return sorted_list(items, key, reverse)
    whole = _in_one_array(items)
    whole = whole[_order(whole if keys is items else _in_one_array(keys), reverse)]
    is_weak = kinds <= {bool, int, float}
    if whole.ndim == 1:
        kind = ValueType(hlo.Shape(whole.element_type), is_weak, is_scalar=True)
        return [row_of_array(whole, position, kind) for position in range(len(items))]
    found = [whole[position] for position in range(len(items))]
    for item in found:
        item.weak_type = is_weak
        link(item.root_storage, [one.root_storage for one in items if isinstance(one, TracedArray)])
    return found


def _in_one_array(items: Sequence[Any]) -> TracedArray:
    """An array of these elements, or the one whose rows they are."""
    rows = slice_of(items)
    return np.stack(list(map(as_traced, items))) if rows is None else TracedArray.from_instruction(require_trace(), rows)


def _order_of_first_parts(items: Sequence[Any], reverse: bool) -> list[int] | None:
    """The order of tuples whose first parts are known and all differ, as those of ``d.items()``: nothing else is compared."""
    firsts = [item[0] for item in items if type(item) is tuple and item]
    if len(firsts) < len(items) or not all(isinstance(one, (int, float, str, bytes, np.generic)) for one in firsts):
        return None
    if len(set(firsts)) < len(firsts) or not has_traced(items):
        return None
    return sorted(range(len(items)), key=firsts.__getitem__, reverse=reverse)


def _order(values: TracedArray, reverse: bool) -> TracedArray:
    """The positions in the order of the keys; where it is reversed, equal ones keep theirs."""
    values = values[::-1] if reverse else values
    if values.element_type.is_float:
        trace = require_trace(values)
        unordered = np.any(np.isnan(values)).instruction(trace)
        trace.add_error_flag(unordered, NotImplementedError, "sorted of traced values, one of which is NaN, is not implemented")
    order = np.argsort(values, kind="stable")
    return len(values) - 1 - order[::-1] if reverse else order


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


_STAND_INS = (TracedArray, TracedDeque, Deferred, StructuredArray, TextArray, ListedSet, *OUTSIDE_CONTAINERS, OutsideSet)


@implements(builtins.isinstance)
def isinstance_(value: Any, kinds: Any) -> bool:
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
    if not others and isinstance(value, StructuredArray):
        return structured_type(value)
    if not others and isinstance(value, TextArray):
        return np.ndarray
    if not others and isinstance(value, MaskedArray):
        return type_of_masked(value)
    if not others and isinstance(value, ListedSet):
        return set
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

"""What puts values in order, or finds the first or the last in it: sorted, list.sort, min and max."""

from __future__ import annotations

import builtins
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .... import hlo
from ...control_flow.bodies import ValueType
from ...recording.aliases import link
from ...recording.array import TracedArray, require_trace
from ...recording.dynamic_array import DynamicArray
from ...recording.operands import as_traced, has_traced
from ..choices import Maybe
from ..equality import choose, ordered
from ..forms import is_number
from ..lists.access import change, items_of
from ..lists.functions import extreme, sorted_by, sorted_list
from ..lists.growing import note_list
from ..lists.methods import method
from ..lists.runs import is_open_list
from ..lists.text_ranks import in_groups, in_one_run
from ..loops.stacked_rows import row_of as row_of_array
from ..loops.stacked_rows import slice_of, whole_array
from ..special_methods import is_compared_by_program, special_method
from ..texts.deferred import is_made_text
from .builtin_functions import elements_gone_over, type_
from .dispatch import call
from .meanings import implements


def _extreme(builtin: Callable, reduction: Callable, pair: Callable) -> Callable:
    def implementation(*args: Any, key: Callable | None = None, **default: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], TracedArray) and key is None and args[0].ndim == 1:
            if args[0].is_dynamic or args[0].size:
                return _of_array(args[0], reduction)
        if len(args) == 1 and isinstance(args[0], np.ndarray):
            return builtin(*args, key=key, **default)
        items = in_one_run(elements_gone_over(args, any_order=key is None))
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


@implements(builtins.sorted)
def sorted_(iterable: Any, /, *, key: Callable | None = None, reverse: bool = False) -> Any:
    found = _in_order(in_one_run(elements_gone_over((iterable,), any_order=key is None)), key, reverse)
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
    found = None if key is None else [call(key, item) for item in items]
    if len(items) < 2:
        return [*items]
    keys = items if found is None else found
    if any(map(is_made_text, keys)):
        return sorted_by(items, found, reverse)
    if not has_traced(keys):
        order = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
        return [items[position] for position in order]
    if not all(map(is_number, (*items, *keys))):
        return sorted_by(items, found, reverse)
    kinds = {type_(item) for item in items}
    if len(kinds) > 1 or any(getattr(item, "exact", None) is not None or isinstance(item, DynamicArray) for item in items):
        return sorted_by(items, found, reverse)
    whole = _in_one_array(items)
    whole = whole[_order(_comparable(whole if keys is items else _in_one_array(keys)), reverse)]
    is_weak = kinds <= {bool, int, float}
    if whole.ndim == 1:
        kind = ValueType(hlo.Shape(whole.element_type), is_weak, is_scalar=True)
        return [row_of_array(whole, position, kind) for position in range(len(items))]
    found = [whole[position] for position in range(len(items))]
    for item in found:
        item.weak_type = is_weak
        link(item.root_storage, [one.root_storage for one in items if isinstance(one, TracedArray)])
    return found


def _comparable(keys: TracedArray) -> TracedArray:
    """The keys as numbers. Raises ValueError as Python does where they are arrays with other than one element."""
    if keys.size != len(keys):
        bool(np.less(keys[0], keys[1]))
    return keys.reshape(-1)


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

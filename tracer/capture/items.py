"""``holder[index]``, read and set, where the holder or the index may be traced."""

from __future__ import annotations

import operator
import types
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..outside.ownership import belongs_to_the_user, is_of_the_user
from ..recording import promotion
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.errors import HINTS, CarryTypeError, ConcretizationError, TracerError, name_of_type
from ..recording.operands import as_traced, class_of, has_traced, prepare
from . import journals, places
from .calls.dispatch import call
from .calls.meanings import implements
from .calls.numpy_calls import traced_constant
from .choices import Choice, Maybe, without_maybes
from .chosen_arrays import ChosenArrays, chosen_arrays
from .coded_arrays import CodedArray, change_known, coded
from .copies import note_copy_of, require_own
from .distribution import each, each_within, holds_choice
from .element_arrays import copy_to_change, note_copy, note_element, note_put, noted, put_element
from .entries import is_open_dict
from .keys import dicts
from .keys.listed_dicts import made_by_factory
from .lists import access as list_access
from .lists import tables
from .lists import unpacking as list_unpacking
from .lists.as_arrays import array_of_list
from .lists.growing import note_list
from .lists.runs import is_open_list
from .loops.iteration import TracedRange, is_of_open_length
from .masked import assigned
from .merging import selected
from .outside.containers import OutsideDict, OutsideList
from .outside.surroundings import current_surroundings
from .sides import MOST_ALTERNATIVES
from .structured_arrays import StructuredArray
from .texts.deferred import Deferred, concrete, part_of_text

# What most indices are, and their parts: nothing of what is looked at elsewhere concerns these.
_PLAIN = frozenset({TracedArray, int, type(None), type(...), np.int64})
_PARTS: dict[type, Callable[[Any], Iterable[type]]] = {
    tuple: lambda index: [type(part) if getattr(part, "exact", None) is None else Choice for part in index],
    slice: lambda index: (type(index.start), type(index.stop), type(index.step)),
}
_KEYS = frozenset({int, str})
_CONTAINERS: dict[type, Callable[[Any], bool]] = {list: is_open_list, tuple: is_open_list, dict: is_open_dict}
_GRIDS = (type(np.mgrid), type(np.ogrid), type(np.r_), type(np.c_))


def getitem(holder: Any, index: Any) -> Any:
    """``holder[index]``: arrays and lists of numbers take traced indices."""
    if type(holder) is TracedArray and holder.weak_type:
        _require_items(holder, "is not subscriptable")
    if _is_plain(holder, index):
        return holder[index]
    if (exact := _exact(holder, index)) is not index:
        return each_within(lambda one: getitem(holder, one), exact)
    if isinstance(holder, _GRIDS) and current_trace() is not None:
        return _grid(holder, _with_arrays(index))
    if type(holder) is Maybe:
        return getitem(holder.required(TypeError, "'NoneType' object is not subscriptable"), index)
    if is_open_list(holder):
        return _item_of_list(holder, without_maybes(index))
    index = _with_arrays(without_maybes(index))
    if type(holder) is Choice or holds_choice(index):
        return each(lambda one: each_within(lambda other: getitem(one, other), index), holder)
    if type(holder) is list and isinstance(index, slice):
        return _item_of_list(holder, index)
    if isinstance(holder, (TracedArray, np.ndarray, CodedArray, StructuredArray)):
        index = _without_lists(index)
    if isinstance(holder, dict):
        return dicts.item(holder, index) if dicts.is_concerned(holder, index) else _item_of_dict(holder, concrete(index))
    if isinstance(holder, (TracedArray, CodedArray, StructuredArray)) or not _needs_values(index):
        return holder[index]
    if isinstance(holder, np.ndarray):
        if holder.dtype.kind == "O":
            raise _no_object(index)
        return (coded if holder.dtype.kind in "USmM" else as_traced)(holder)[index]
    if isinstance(holder, str) and isinstance(index, slice):
        return Deferred(part_of_text, holder, index.start, index.stop, index.step)
    if isinstance(holder, (list, tuple, str)) and isinstance(index, (TracedArray, slice)):
        return _item_of_list(holder, index)
    if isinstance(holder, type) and not hasattr(type(holder), "__getitem__"):
        method = getattr(holder, "__class_getitem__", None)
        if type(method) is types.MethodType and is_of_the_user(method.__func__.__code__.co_filename):
            return call(method, index)
    return holder[index]


def _require_items(number: TracedArray, otherwise: str) -> None:
    """Numbers of Python's have none; NumPy's, which one of several types may be, have themselves."""
    if number.exact is None:
        raise TypeError(f"'{name_of_type(number.run_time_type)}' object {otherwise}")


def _no_object(index: Any) -> Exception:
    if isinstance(index, TracedArray) and index.is_scalar:  # which may become known
        return ConcretizationError(index, "as an index of an array of objects", "Use a list of them.")
    return NotImplementedError("elements of an array of objects at places that the program decides: use a list of them")


def _exact(holder: Any, index: Any) -> Any:
    """An index that is an integer or a number of another type, as the program decides: only an integer is one."""
    if type(index) is TracedArray and index.exact is not None and not index.element_type.is_integer:
        return index if isinstance(holder, dict) else index.exact
    if type(index) is tuple and any(type(part) is TracedArray and part.exact is not None for part in index):
        parts = tuple([_exact(holder, part) for part in index])
        return index if all(map(operator.is_, parts, index)) else parts
    return index


def _is_plain(holder: Any, index: Any) -> bool:
    """Whether an array, or a container, has an item that nothing has to be known of."""
    kind, kind_of_index = type(holder), type(index)
    if kind is TracedArray:
        if kind_of_index is TracedArray:
            return index.exact is None
        return kind_of_index in _PLAIN or kind_of_index in _PARTS and _PLAIN.issuperset(_PARTS[kind_of_index](index))
    return kind_of_index in _KEYS and kind in _CONTAINERS and not _CONTAINERS[kind](holder)


implements(operator.getitem)(getitem)


def _item_of_dict(holder: dict, key: Any) -> Any:
    if hasattr(type(holder), "__missing__") and key not in holder:
        note_contents(holder)  # a value is put there
        factory = getattr(holder, "default_factory", None)
        if type(holder) is defaultdict and factory is not None and current_trace() is not None:
            holder[key] = made_by_factory(factory)
    return holder[key]


def item_to_change(holder: Any, index: Any) -> Any:
    """``holder[index]``, to which an operator is applied in place, before it is set."""
    found = None if _is_plain(holder, index) else chosen_arrays(holder, index, ChosenArrays)
    return copy_to_change(getitem(holder, index), holder, index) if found is None else found


def changed(holder: Any, index: Any) -> Any:
    """``holder[index]``, which is changed in place: of a list or a dict of containers or arrays one of these, and no copy."""
    if (found := chosen_arrays(holder, index)) is not None:
        return found
    if type(holder) is Choice and all(map(_has_containers, holder.values)):
        inside = each(lambda one: list_access.row_at(one, index, "list index out of range"), holder)
        counts = [len(one) for one in holder.values]
        begins = [sum(counts[:place]) for place in range(len(counts))]
        number = inside + selected(holder.number, begins)
        return Choice(number, [item for one in holder.values for item in one])
    if isinstance(holder, dict) and not is_open_dict(holder) and dicts.is_concerned(holder, index):
        return dicts.item(holder, index)
    return note_element(getitem(holder, index), holder, index)


def _one_of_containers(holder: list | tuple, index: Any) -> Any:
    """The one of a list's lists, dicts and sets that the program decides on, itself; None where it has others."""
    position = list_access.row_at(holder, index, f"{type(holder).__name__} index out of range")
    found = None
    if all(type(item) is list for item in holder):
        found = tables.reference(holder, position)
    return Choice(position, list(holder)) if found is None and len(holder) <= MOST_ALTERNATIVES else found


def _has_containers(holder: Any) -> bool:
    """Whether this is a list of several containers, which are known."""
    is_known = type(holder) in (list, tuple) and not is_open_list(holder) and len(holder) > 1
    return is_known and all(isinstance(item, (list, dict, set)) for item in holder)


def _has_several_dtypes(holder: Any) -> bool:
    """Whether this holds a few arrays, which are known, and not of one dtype."""
    if not isinstance(holder, (list, tuple)) or is_open_list(holder) or not 1 < len(holder) <= MOST_ALTERNATIVES:
        return False
    arrays = [item for item in holder if isinstance(item, (TracedArray, np.ndarray)) and item.ndim]
    return len(arrays) == len(holder) and len({item.dtype for item in arrays}) > 1


def _item_of_list(holder: Any, index: Any) -> Any:
    is_chosen = isinstance(index, TracedArray) and index.known_value is None and not index.ndim
    if is_chosen and _has_containers(holder) and (found := _one_of_containers(holder, index)) is not None:
        return found
    if is_chosen and _has_several_dtypes(holder):
        return _one_of(holder, index)
    try:
        found = list_access.get(holder, index)
    except CarryTypeError:
        if is_open_list(holder) or isinstance(index, slice) or not 0 < len(holder) <= MOST_ALTERNATIVES:
            raise
        return _one_of(holder, index)  # elements of several kinds: itself, whichever it is
    if is_chosen and isinstance(found, list):
        note_copy_of(current_trace(), found, holder)
    if isinstance(index, slice):
        note_list(found)
    return found


def _one_of(holder: Sequence[Any], index: TracedArray) -> Choice:
    return Choice(list_access.row_at(holder, index, f"{list_access.kind_of(holder)} index out of range"), list(holder))


def _grid(holder: Any, index: Any) -> Any:
    """``np.mgrid[...]``, ``np.r_[...]`` and the like."""
    parts = index if isinstance(index, tuple) else (index,)
    if any(isinstance(part, Deferred) for part in parts):
        raise NotImplementedError("a text that the program makes, in np.r_ and the like, is not implemented")
    known = tuple([_known_bounds(part) if isinstance(part, slice) else part for part in parts])
    if not has_traced(known):
        return traced_constant(holder[known if isinstance(index, tuple) else known[0]])
    form = known[0] if isinstance(known[0], str) and type(holder) is type(np.r_) else ""
    given = [np.r_[part] if isinstance(part, slice) else prepare(part) for part in known[bool(form) :]]
    if any(isinstance(part, TracedArray) and part.is_dynamic for part in given):
        arrays = [np.atleast_1d(as_traced(part)) for part in given]
    else:  # Python's numbers adapt to the arrays
        common = promotion.result_dtype(map(class_of, given))
        arrays = [np.atleast_1d(as_traced(part, common)) for part in given]
    if type(holder) is type(np.r_):
        return _concatenated(arrays, form)
    if type(holder) is type(np.c_):
        return np.column_stack(arrays)
    raise TypeError("np.mgrid and np.ogrid take slices")


def _concatenated(arrays: list, form: str) -> Any:
    """As ``np.r_["axis,least dimensions", ...]`` says, which puts dimensions that are missing first."""
    numbers = [int(number) for number in form.split(",")] if form.replace(",", "").replace("-", "").isdigit() else []
    if form and not 1 <= len(numbers) <= 2:
        raise NotImplementedError(f"np.r_[{form!r}, ...] of traced arrays is not implemented")
    axis, least = (*numbers, 1)[:2] if numbers else (0, 1)
    return np.concatenate([one.reshape((1,) * (least - one.ndim) + one.shape) for one in arrays], axis)


def _known_bounds(part: slice) -> slice:
    bounds = []
    for bound in (part.start, part.stop, part.step):
        if isinstance(bound, TracedArray):
            if bound.known_value is None:
                raise ConcretizationError(bound, "as a bound of a grid", HINTS["range"])
            bound = bound.item()
        bounds.append(bound)
    return slice(*bounds)


def _with_arrays(index: Any) -> Any:
    """The index with arrays in the place of ranges between traced bounds, and of lists whose length the program decides."""
    if isinstance(index, list) and is_open_list(index):
        return array_of_list(index, has_dtype=True)
    if type(index) is TracedRange:
        return index.as_array()
    return tuple(map(_with_arrays, index)) if type(index) is tuple else index


def _without_lists(index: Any) -> Any:
    """The index of an array with arrays in the place of lists of traced values."""
    if type(index) is tuple:
        return tuple(map(_without_lists, list_unpacking.elements_of(index) if is_open_list(index) else index))
    return call(np.array, index) if type(index) is list and (has_traced(index) or is_open_list(index)) else index


def _needs_values(index: Any) -> bool:
    if isinstance(index, (TracedArray, list)):
        return has_traced(index)
    if isinstance(index, tuple):
        return any(map(_needs_values, index))
    return isinstance(index, slice) and any(isinstance(bound, TracedArray) for bound in (index.start, index.stop, index.step))


def setitem(value: Any, holder: Any, index: Any) -> None:
    """``holder[index] = value``"""
    if type(value) is ChosenArrays:
        return
    if type(holder) is TracedArray and holder.weak_type:
        _require_items(holder, "does not support item assignment")
    if type(holder) is TracedArray and (element := noted(holder)) is not None:
        before = getitem(element.holder, element.index)  # what else has been changed in it meanwhile is there
        array = before.copy()
        setitem(value, array, index)
        setitem(note_copy(array, element, before), element.holder, element.index)
        return
    if _is_plain(holder, index):
        _set_plain_item(value, holder, index)
        return
    if (exact := _exact(holder, index)) is not index:
        each_within(lambda one: setitem(value, holder, one), exact)
        return
    if type(holder) is Choice:
        each(lambda one: setitem(value, one, index), holder)
        return
    if type(holder) is Maybe:
        holder = holder.required(TypeError, "'NoneType' object does not support item assignment")
    index = _with_arrays(without_maybes(index))
    if isinstance(holder, (TracedArray, np.ndarray, CodedArray, StructuredArray)):
        index = _without_lists(index)
    if holds_choice(index):
        each_within(lambda one: setitem(value, holder, one), index)
        return
    value = value if isinstance(holder, (list, dict)) else without_maybes(value)
    if isinstance(holder, (TracedArray, np.ndarray)):
        value = assigned(value)
    if isinstance(holder, StructuredArray):
        holder[index] = value
        return
    if type(holder) is np.ndarray and holder.dtype.kind == "U" and _is_open_change(holder, index, value):
        change_known(value)
    require_own(holder) if isinstance(holder, dict) else note_contents(holder)
    if (surroundings := current_surroundings()) is not None:
        surroundings.require_followed(holder)
    if isinstance(holder, list) and isinstance(index, slice) and is_of_open_length(value):
        value = call(list, value)
    if type(value) is TracedArray and (element := noted(value)) is not None and element.holder is holder:
        put_element(element, partial(_put, value, holder, index))
        return
    note_put(holder, value)
    _put(value, holder, index)


def _put(value: Any, holder: Any, index: Any) -> None:
    if isinstance(holder, dict):
        dicts.put(holder, index, value)
    elif isinstance(holder, list) and (is_open_list(holder) or _needs_values(index)):
        list_access.set_(holder, index, value)
    else:
        holder[index] = value


def _set_plain_item(value: Any, holder: Any, index: Any) -> None:
    if type(holder) is TracedArray:
        require_own(holder)
        value = assigned(without_maybes(value))
    elif type(holder) is dict:
        require_own(holder)
        journals.note_item(holder, index)
    else:
        note_contents(holder)
    if type(holder) is not TracedArray and (surroundings := current_surroundings()) is not None:
        surroundings.require_followed(holder)
    holder[index] = value


@implements(operator.setitem)
def _setitem(holder: Any, index: Any, value: Any) -> None:
    setitem(value, holder, index)


def _is_open_change(holder: np.ndarray, index: Any, value: Any) -> bool:
    """Whether the program decides what is changed in an array that the function has made, or whether it is."""
    surroundings = current_surroundings()
    if surroundings is None or surroundings.path_of(holder) is not None:
        return False
    return journals.is_journaling() or _needs_values(index) or has_traced((value,))


@implements(operator.delitem)
def delitem(holder: Any, index: Any) -> None:
    """``del holder[index]``"""
    if (exact := _exact(holder, index)) is not index:
        each_within(lambda one: delitem(holder, one), exact)
        return
    if type(holder) is Choice or holds_choice(index):
        each(lambda one: each_within(lambda other: delitem(one, other), index), holder)
        return
    if type(holder) is Maybe:
        holder = holder.required(TypeError, "'NoneType' object does not support item deletion")
    if places.owner_of(holder) is None:
        note_contents(holder)
    else:
        journals.note_item(holder, index)
    index = without_maybes(index)
    if isinstance(holder, TracedArray):
        array = holder.run_time_type() if holder.is_scalar else np.zeros((1,) * holder.ndim)
        del array[0]  # raises
    if isinstance(holder, list) and (is_open_list(holder) or _needs_values(index)):
        list_access.delete(holder, index)
    elif isinstance(holder, dict) and dicts.is_concerned(holder, index):
        dicts.delete_item(holder, index)
    else:
        del holder[concrete(index) if isinstance(holder, dict) else index]


def note_contents(holder: Any) -> None:
    """An object is about to be changed in place. Raises TracerError where a loop or a branch cannot carry that."""
    require_own(holder)
    if not journals.is_journaling():
        return
    if isinstance(holder, (OutsideDict, OutsideList)):
        return  # which do so themselves
    if isinstance(holder, (list, dict, set)):
        journals.note(places.Contents(holder))
    elif isinstance(holder, np.ndarray) and holder.dtype.hasobject and current_surroundings().path_of(holder) is None:
        journals.note(places.ContentsOfArray(holder))
    elif isinstance(holder, np.ndarray) and journals.may_be_put_back():
        raise TracerError(
            f"an array of shape {holder.shape} from outside of the traced function is changed in a loop or a branch that "
            "depends on traced values. Pass it as an argument, or change a copy of it"
        )
    elif journals.may_be_put_back() and _is_changed_by_library(type(holder)):
        name = f"{type(holder).__module__}.{type(holder).__qualname__}"
        raise NotImplementedError(
            f"an item of a {name} is changed in a loop or a branch that depends on traced values, and its class does so in a "
            "way that is not followed. Fix: change a dict or a list"
        )


def _is_changed_by_library(kind: type) -> bool:
    """Whether the class inherits what changes items from one of a library's, written in Python."""
    base = next((one for one in kind.__mro__ if "__setitem__" in vars(one)), object)
    is_function = type(vars(base).get("__setitem__")) is types.FunctionType
    return is_function and not belongs_to_the_user(base) and not base.__module__.startswith(__name__.partition(".")[0])

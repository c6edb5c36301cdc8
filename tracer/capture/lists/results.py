"""Lists whose length the program decides as what a call returns or sets outside: lists of that length."""

from __future__ import annotations

import operator
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...recording import pytree
from ...recording.array import TracedArray
from ...recording.byte_order import in_other_order
from ...recording.errors import TracerError
from ...recording.makers import register_maker
from ..entries import is_open_dict
from ..keys.views import entries_of
from ..loops.stacked_rows import is_of_python, whole_lists
from ..outside.containers import OutsideDict
from ..outside.surroundings import current_surroundings
from ..parts import Parts
from ..parts import parts_of as parts_of_object
from ..places import dict_type
from ..shared_containers import Behind, Circle, First, Other
from ..texts.characters import as_result
from ..texts.deferred import AS_RESULTS, Deferred, WrittenText, is_open
from ..texts.reading import written_result
from ..texts.shared import with_texts_made_once
from .access import items_of
from .deques import TracedDeque
from .parts import Elements, parts_of, parts_of_row
from .records import finished_dict
from .references import keys_in, row_behind, row_of
from .runs import Run, is_open_list
from .text_ranks import written_items
from .when_run import maker_of

# Lists of so many numbers that are an array of the program are made of that.
_LONG = 16


@dataclass(frozen=True)
class Making:
    """How such a container is made of arrays and elements: what makes it of a list, and for each piece of that what makes
    elements of several parts; None for an element that is one itself."""

    make: Callable[[list], Any]
    pieces: tuple[Elements | None, ...]

    def __call__(self, *parts: Any) -> Any:
        found: list[Any] = []
        begin = 0
        for elements in self.pieces:
            end = begin + (1 if elements is None else elements.count)
            found += parts[begin:end] if elements is None else elements(parts[begin:end])
            begin = end
        return self.make(found)


class ContainerResult:
    """In the place of such a list (or tuple, or deque), or of a dict or a set, which a call puts together as one."""

    def __init__(self, parts: Sequence[Any], making: Making) -> None:
        self.parts, self.making = parts, making


def _put_together(making: Making, parts: Sequence[Any]) -> Any:
    return ContainerResult(parts, making) if any(map(is_open, parts)) else making(*parts)


pytree.register_pytree(ContainerResult, lambda result: (result.parts, result.making), _put_together)
register_maker(ContainerResult, lambda making: making)


def with_written_texts(tree: Any, is_kept: Callable[[Any], bool]) -> Any:
    """The tree with texts among the program's characters where that is better than to make them by Python."""
    for leaf in pytree.flatten(tree, lambda value: is_kept(value) or is_open_list(value))[0]:
        if is_open_list(leaf) and not is_kept(leaf) and row_behind(leaf) is None:
            written_items(items_of(leaf))  # before any text that lies there is a result; a list stays the one that it is
    leaves, structure = pytree.flatten(tree, lambda value: is_kept(value) or type(value) is Deferred)
    found = [_written(leaf) if type(leaf) is Deferred and not is_kept(leaf) else leaf for leaf in leaves]
    return tree if all(map(operator.is_, found, leaves)) else pytree.unflatten(structure, found)


def _written(text: Deferred) -> Any:
    shared = with_texts_made_once(text)
    found = written_result(shared) if type(shared) is Deferred else None
    return shared if found is None else found


def with_results(tree: Any, is_kept: Callable[[Any], bool] = lambda value: False) -> Any:
    """The tree, with what becomes a list of the right length, where there are such lists; ``is_kept`` says which stay."""
    leaves, structure = pytree.flatten(tree, lambda value: is_kept(value) or _is_replaced(value))
    found = [leaf if is_kept(leaf) else _as_result(leaf, is_kept) for leaf in leaves]
    return tree if all(map(operator.is_, found, leaves)) else pytree.unflatten(structure, found)


def _as_result(leaf: Any, is_kept: Callable[[Any], bool]) -> Any:
    if type(leaf) is Other:
        return leaf
    if type(leaf) is First:
        return First(leaf.mark, with_results(leaf.value, is_kept))
    if type(leaf) is Circle:
        return Circle(leaf.mark, leaf.kind, leaf.auxiliary, [with_results(part, is_kept) for part in leaf.parts])
    if type(leaf) is Behind:
        return Behind([_as_result(one, is_kept) for one in leaf.firsts], with_results(leaf.value, is_kept), leaf.last_of)
    if isinstance(leaf, TracedArray) and leaf.exact is not None:
        return leaf.exact
    if isinstance(leaf, TracedArray) and leaf.has_other_order and not (leaf.base is None and leaf.storage.is_from_outside):
        return ContainerResult([leaf], Making(_first_in_other_order, (None,)))
    if type(leaf) is WrittenText:
        return as_result(leaf)
    if type(leaf) is Parts:
        return Parts(leaf.kind, leaf.auxiliary, [with_results(part, is_kept) for part in leaf.parts])
    return _result(leaf, is_kept) if _is_replaced(leaf) else leaf


AS_RESULTS.append(with_results)


_REPLACED = frozenset({Behind, Circle, First, Other, Parts, TracedDeque, Run, WrittenText, set, frozenset, Counter})


def _is_replaced(value: Any) -> bool:
    if type(value) in _REPLACED or is_open_list(value) or is_open_dict(value) or _is_long_array(value):
        return True
    if type(value) is np.ndarray:
        return value.dtype.hasobject and not _is_from_outside(value)
    return _is_of_a_class_of_dicts(value) or parts_of_object(value) is not None


def _result(value: Any, is_kept: Callable[[Any], bool]) -> Any:
    if type(value) is Run:
        raise TracerError("a list whose length the program decides is one of two of another structure, and cannot be returned")
    if (row := row_behind(value)) is not None:
        parts, elements = parts_of_row(row)
        make = only if row_of(value) is not None else partial(_only_dict, keys_in(value))
        return ContainerResult(parts, Making(make, (elements,)))
    if _is_of_a_class_of_dicts(value):
        return _result_of(
            list(dict.values(value)), OfClass(type(value), tuple(dict.keys(value)), getattr(value, "__dict__", None) is value)
        )
    if isinstance(value, (dict, set, frozenset)):
        return _result_of(entries_of(value), maker_of(value))
    if type(value) is np.ndarray:
        return _result_of(value.ravel().tolist(), partial(_array_of_objects, value.shape))
    if (made := parts_of_object(value)) is not None:
        return _as_result(made, is_kept)
    if _is_long_array(value):
        making = Making(_python_numbers if is_of_python(value) else _numpy_numbers, (None,))
        return ContainerResult([whole_lists(value)], making)
    if type(value) is TracedDeque:
        return _result_of(items_of(value), partial(deque, maxlen=value.maxlen))
    return _result_of(items_of(value), tuple if type(value) is tuple else list)


@dataclass(frozen=True)
class OfClass:
    """What makes a dict of a class that adds methods to it, of its values; it may be the dict of its own attributes."""

    kind: type
    keys: tuple[Any, ...]
    is_of_itself: bool

    def __call__(self, values: list[Any]) -> Any:
        made = self.kind.__new__(self.kind)
        for key, value in zip(self.keys, values):
            dict_type(made).__setitem__(made, key, value)
        if self.is_of_itself:
            made.__dict__ = made
        return made


def _is_of_a_class_of_dicts(value: Any) -> bool:
    """Whether this is a dict that the function has made, of a class of its own without other attributes than the items."""
    if not isinstance(value, dict) or isinstance(value, (OutsideDict, Counter, defaultdict)) or is_open_dict(value):
        return False
    kind = type(value)
    if kind in (dict, OrderedDict) or kind.__new__ is not dict_type(value).__new__:
        return False
    return not hasattr(value, "__dict__") or not vars(value) or vars(value) is value


def _is_from_outside(value: Any) -> bool:
    surroundings = current_surroundings()
    return surroundings is not None and surroundings.path_of(value) is not None


def _array_of_objects(shape: tuple[int, ...], elements: list[Any]) -> np.ndarray:
    made = np.empty(len(elements), object)
    for position, element in enumerate(elements):
        made[position] = element
    return made.reshape(shape)


def _is_long_array(value: Any) -> bool:
    return type(value) is list and len(value) >= _LONG and whole_lists(value) is not None


def _first_in_other_order(made: list[Any]) -> Any:
    return in_other_order(made[0])


def only(made: list[Any]) -> Any:
    """What a list holds alone."""
    return made[0]


def _only_dict(keys: tuple[str, ...], made: list[Any]) -> dict[str, Any]:
    return finished_dict(keys, made[0])


def _python_numbers(arrays: list[np.ndarray]) -> list[Any]:
    return arrays[0].tolist()


def _numpy_numbers(arrays: list[np.ndarray]) -> list[Any]:
    (array,) = arrays
    return list(array) if array.ndim == 1 else [_numpy_numbers([row]) for row in array]


def _result_of(items: Sequence[Any], make: Callable[[list], Any]) -> ContainerResult:
    parts: list[Any] = []
    pieces: list[Elements | None] = []
    for item in written_items(items):
        arrays, elements = parts_of(item) if type(item) is Run else ([with_results(item)], None)
        parts += arrays
        pieces.append(elements)
    return ContainerResult(parts, Making(make, tuple(pieces)))

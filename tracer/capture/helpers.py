"""The helpers that rewritten functions call, by the names that `tracer.source` gives them."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, KeysView, Sequence, ValuesView
from functools import partial
from typing import Any

import numpy as np

from ..recording.array import TracedArray, require_trace
from ..recording.attributes import class_of, is_generated
from ..recording.current_trace import current_trace
from . import made_iterators, places
from .attributes import delattr_, getattr_, imported, note_global, setattr_
from .branches import choose as choose_traced
from .branches import decide, truth
from .calls.dispatch import call
from .calls.meanings import SPECIAL_METHODS
from .choices import Choice, Maybe
from .coded_arrays import CodedArray
from .copies import note_copies, require_identity
from .distribution import condition, each, truth_of
from .entries import elements_in, has_open_keys
from .items import changed, delitem, getitem, item_to_change, note_contents, setitem
from .keys import dicts, sets
from .keys.dicts import contains_key, dict_of
from .keys.listed import set_of
from .keys.views import DictView, holds_in_view
from .library import iterators, orderings
from .lists import comparisons
from .lists.comparisons import sequence_of
from .lists.references import row_behind
from .lists.runs import is_open_list
from .loops.comprehensions import Loop as inner
from .loops.comprehensions import generated, listed
from .loops.generators import TracedGenerator
from .loops.iteration import TracedRange, in_range
from .loops.unrolling import for_, while_
from .managers import handled_by_python, with_
from .masked import is_the_masked
from .operators import NUMBERS, OPERATORS, added_in_place, combined, combined_in_place, made, times
from .origins import is_shared_by_names, may_be_one, merged_from, require_known_arrays
from .outcomes import BREAK, CONTINUE, END_CODE, RETURN_CODE, Mixed, Return
from .places import Names, note_nonlocal
from .special_methods import special_method
from .text_fields import TextArray
from .texts.deferred import Deferred, asked, is_open
from .texts.formatting import text as text_of_parts
from .texts.missing_keys import mod
from .tries import finally_, try_
from .unpacking import is_sequence, known_to_python, pairs_of, spread, spread_text, starred, tuple_of, unpacked, zipped

__all__ = [
    "added_in_place", "and_", "asserted", "bound", "BREAK", "call", "changed", "choose", "combined",
    "combined_in_place", "compare", "concrete_truth", "contains", "CONTINUE", "delattr", "delitem", "dict_of", "differ",
    "equal", "finally_", "for_", "generated", "generator", "getattr", "getitem", "handled_by_python", "if_", "imported",
    "inner", "is_", "is_none", "is_sequence", "item_to_change", "known_to_python", "listed", "made", "mod", "not_",
    "note_contents", "note_global", "note_nonlocal", "or_", "ordered", "pairs_of", "raised", "Return", "set_of",
    "setattr", "setitem", "slice", "spread", "spread_text", "starred", "tested", "text", "then", "times", "try_",
    "tuple_of", "unpacked", "value", "while_", "with_", "zipped",
]  # fmt: skip

built_in_getattr = getattr
delattr, getattr, setattr, slice = delattr_, getattr_, setattr_, slice
Later = Callable[[], Any]


# --- names ---


def bound(name: str, read: Later) -> Any:
    """The value of a name that may have none."""
    try:
        value = read()
    except NameError:
        value = places.UNBOUND
    if value is places.UNBOUND:
        raise UnboundLocalError(_unbound(name))
    if type(value) is Maybe and value.absent is places.UNBOUND:
        return value.required(UnboundLocalError, _unbound(name))
    return value


def _unbound(name: str) -> str:
    return f"cannot access local variable '{name}' where it is not associated with a value"


def text(*parts: Any) -> Any:
    """An f-string, of texts and of (value, conversion, format)."""
    return text_of_parts(*parts)


# --- truth ---


def concrete_truth(value: Any) -> Any:
    """A condition where no branch can be recorded."""
    return value


def is_none(value: Any) -> Any:
    """``value is None``"""
    return not_(value.is_there) if type(value) is Maybe and value.absent is None else value is None


def is_(value: Any, other: Any) -> Any:
    """``value is other``"""
    if type(value) is Choice or type(other) is Choice:
        return each(lambda one: each(lambda two: is_(one, two), other), value)
    if type(value) is Maybe or type(other) is Maybe:
        value, other = (value, other) if type(value) is Maybe else (other, value)
        another = other.value if type(other) is Maybe else other
        return choose(
            is_none(value),
            lambda: is_none(other),
            lambda: choose(is_none(other), lambda: False, lambda: is_(value.value, another)),
        )
    for one, truth_value in ((value, other), (other, value)):
        if isinstance(one, TracedArray) and one.weak_type and isinstance(truth_value, bool):
            return one.element_type.kind == "pred" and (one if truth_value else not_(one))
    if (found := is_the_masked(value, other)) is not None:
        return found
    if (row := row_behind(value)) is not None and (another := row_behind(other)) is not None and value is not other:
        return row.table is another.table and equal(row.position, another.position)
    if value is not other and type(value) is type(other) and is_shared_by_names(value):
        if merged_from(value) is None:
            value, other = other, value
        if (merged := merged_from(value)) is not None and may_be_one(value, other):
            test, (first, second) = merged
            return choose_traced(test, lambda: is_(first, other), lambda: is_(second, other))
        require_identity(value, other)
    if isinstance(value, TracedArray) and isinstance(other, TracedArray) and value is not other:
        for one, another in ((value, other), (other, value)):
            if (merged := merged_from(one)) is not None:
                test, ends = merged
                return choose_traced(test, *[partial(is_, end, another) for end in ends])
        require_known_arrays(value, other)
        require_trace().program.compares_arrays |= value.root_storage.is_from_outside and other.root_storage.is_from_outside
    return value is other


def not_(value: Any) -> Any:
    value = condition(value)
    if isinstance(value, TracedArray) and truth(value) is None:
        negated = np.logical_not(value if not value.shape else value.reshape(()))
        negated.weak_type = True  # a bool of Python's
        return negated
    return not value


def and_(value: Any, *later: Later) -> Any:
    if not later:
        return value
    test = condition(value)
    holds = truth(test)
    if holds is None:
        return choose_traced(test, lambda: and_(later[0](), *later[1:]), lambda: _known_as(False, value))
    return and_(later[0](), *later[1:]) if holds else value


def tested(value: Any) -> Any:
    """What decides in the place of a value, of which only that counts."""
    return truth_of(value) if isinstance(value, (list, dict, set)) and current_trace() is not None else value


def _known_as(truth_value: bool, value: Any) -> Any:
    """A value where its truth is known: one that is a bool is that, so that ``a or True`` is True."""
    if type(value) is Maybe and truth_value:
        return _known_as(True, value.value)
    if isinstance(value, TracedArray) and value.is_scalar and value.element_type.kind == "pred":
        if value.exact is not None:  # a bool of Python's or of NumPy's
            return each(lambda one: _known_as(truth_value, one), value.exact)
        return truth_value if value.weak_type else np.bool_(truth_value)
    return value


def or_(value: Any, *later: Later) -> Any:
    if not later:
        return value
    test = condition(value)
    holds = truth(test)
    if holds is None:
        return choose_traced(test, lambda: _known_as(True, value), lambda: or_(later[0](), *later[1:]))
    return value if holds else or_(later[0](), *later[1:])


_ORDERS = {"lt", "le", "gt", "ge"}


def compare(names: Sequence[str], value: Any, other: Any, *later: Later) -> Any:
    """``a < b < c``: each operand is evaluated once, and none behind a comparison that does not hold."""
    found = _compared(names[0], value, other)
    if not later:
        return found
    return and_(found, lambda: compare(names[1:], other, later[0](), *later[1:]))


def _compared(name: str, value: Any, other: Any) -> Any:
    if name in _ORDERS:
        return ordered(name, value, other)
    return equal(value, other) if name == "eq" else differ(value, other) if name == "ne" else OPERATORS[name](value, other)


def contains(item: Any, container: Any) -> Any:
    """``item in container``."""
    if type(item) is Choice or type(container) is Choice:
        return each(lambda one: each(lambda other: contains(one, other), container), item)
    if isinstance(container, TracedGenerator):
        return call(iterators.holds, item, container)
    if is_open_list(container):
        return comparisons.holds(container, item)
    if has_open_keys(container):
        return contains_key(container, item)
    if type(container) is DictView:
        return holds_in_view(container, item)
    if isinstance(container, (CodedArray, TextArray)):
        return _as_bool(np.any(container == item))
    if isinstance(container, Deferred) or isinstance(container, str) and isinstance(item, Deferred):
        return asked(operator.contains, False, container, item)
    if isinstance(container, TracedArray) and container.is_scalar:
        return item in container.run_time_type()  # raises
    if isinstance(container, (TracedArray, np.ndarray)) and (_is_traced(container) or _is_traced(item)):
        return _as_bool(np.any(container == item))
    if isinstance(container, (KeysView, ValuesView)):
        container = tuple(container)
    if type(container) is TracedRange or isinstance(container, range) and _is_traced(item):
        return _as_bool(in_range(container, item))
    if (method := special_method(container, "__contains__")) is not None:
        return truth_of(method(item))
    if not isinstance(container, (tuple, list, set, frozenset, dict, range)):
        made_iterators.require_made_here(container)
        return item in made_iterators.taken(container)
    held = list(elements_in(container)) if isinstance(container, (set, frozenset)) else container
    if not isinstance(item, Deferred) and not _holds_traced(item) and not any(map(_holds_traced, held)):
        return item in container
    if any(other is item for other in held):
        return True
    found: Any = False
    for other in held:
        found = found | _as_bool(equal(item, other))
    return found


def _is_array(value: Any) -> bool:
    """Whether this is an array, or a number of NumPy's, which compares lists element by element."""
    return isinstance(value, TracedArray) and not value.weak_type or isinstance(value, (np.ndarray, np.generic))


def _is_traced(value: Any) -> bool:
    return isinstance(value, TracedArray) and value.known_value is None


def _holds_traced(value: Any) -> bool:
    if type(value) is Maybe or type(value) is Choice:
        return True
    if is_open_list(value):
        return True
    return _is_traced(value) or (isinstance(value, (tuple, list)) and any(map(_holds_traced, value)))


def _as_bool(value: Any) -> Any:
    """A condition as a bool of Python's."""
    if not isinstance(value, TracedArray) or value.size != 1:
        return bool(value)
    value.weak_type = True
    return value


def choose(test: Any, first: Later, second: Later) -> Any:
    """``first if test else second``"""
    test = condition(test)
    if isinstance(test, TracedArray):
        known = truth(test)
        if known is None:
            return choose_traced(test, first, second)
        test = known
    return first() if test else second()


def _fields(value: Any, other: Any, method: str) -> tuple[tuple, tuple] | None:
    """What is compared of two objects of a class for which `dataclass` has written this comparison; None for others."""
    kind = class_of(type(value))
    if not dataclasses.is_dataclass(kind) or kind is not class_of(type(other)) or not is_generated(getattr(kind, method)):
        return None
    names = [field.name for field in dataclasses.fields(kind) if field.compare]
    return tuple([getattr_(value, name) for name in names]), tuple([getattr_(other, name) for name in names])


def equal(first: Any, second: Any) -> Any:
    """``first == second``; tuples and lists are compared element by element where the program knows some."""
    if type(first) in NUMBERS and type(second) in NUMBERS:
        return first == second
    if _are_compared_each_way(first, second):
        return _each_way(equal, first, second)
    if is_open_list(first) or is_open_list(second):
        return call(np.equal, first, second) if _is_array(first) or _is_array(second) else comparisons.equal(first, second)
    for one, other in ((first, second), (second, first)):
        if isinstance(one, (list, tuple)) and isinstance(other, TracedArray) and other.weak_type:
            return False  # a number of Python's
    if has_open_keys(first) or has_open_keys(second):
        if isinstance(first, dict):
            return isinstance(second, dict) and dicts.equal(first, second, equal)
        return sets.are_sets(first, second) and sets.equal(first, second)
    first, second = _fields(first, second, "__eq__") or (first, second)
    are_alike = any(type(first).__eq__ is kind.__eq__ is type(second).__eq__ for kind in (tuple, list))
    if not are_alike or not (_holds_traced(first) or _holds_traced(second)):
        return first == second
    found: Any = len(first) == len(second)
    for one, other in zip(first, second):
        if found is False:
            break
        if one is not other:
            found = found & _as_bool(condition(equal(one, other)))
    return found


def _are_compared_each_way(first: Any, second: Any) -> bool:
    """Whether one is an array, a tuple or the like, or None, and the other nothing that both are compared with alike."""
    value, other = (first, second) if type(first) is Maybe else (second, first)
    if type(value) is not Maybe or value.absent is not None or other is None or type(other) is Maybe:
        return False
    is_array = isinstance(value.value, TracedArray) and not value.value.is_scalar
    is_container = isinstance(value.value, (tuple, list, dict))
    return isinstance(other, np.generic) or is_container or is_array and not _is_array(other)


def _each_way(compare: Callable[[Any, Any], Any], first: Any, second: Any) -> Any:
    """A comparison where the one that may be None is there, and where it is not."""
    value, other = (first, second) if type(first) is Maybe else (second, first)
    return choose(value.is_there, lambda: compare(value.value, other), lambda: compare(None, other))


def differ(first: Any, second: Any) -> Any:
    """``first != second``"""
    if _are_compared_each_way(first, second):
        return _each_way(differ, first, second)
    are_lists = isinstance(first, (tuple, list)) and isinstance(second, (tuple, list)) or _fields(first, second, "__eq__")
    if any(map(is_open_list, (first, second))) and any(map(_is_array, (first, second))):
        return call(np.not_equal, first, second)
    if are_lists or any(is_open_list(one) or has_open_keys(one) for one in (first, second)):
        return not_(equal(first, second))
    if any(isinstance(one, (list, tuple)) for one in (first, second)) and first is not second:
        numbers = [one for one in (first, second) if isinstance(one, TracedArray) and one.weak_type]
        if numbers:
            return True
    return first != second


def ordered(name: str, first: Any, second: Any) -> Any:
    """``first <= second``, and other comparisons of sets, tuples, lists and dataclasses."""
    if type(first) in NUMBERS and type(second) in NUMBERS:
        return OPERATORS[name](first, second)
    if type(first) is Choice or type(second) is Choice:
        return each(lambda one: each(lambda two: ordered(name, one, two), second), first)
    first, second = _fields(first, second, f"__{name}__") or (first, second)
    if sets.are_sets(first, second):
        return sets.compared(name, first, second)
    if (is_open_list(first) or is_open_list(second)) and sequence_of(first) is sequence_of(second) in (list, tuple):
        return call(orderings.in_lexical_order, OPERATORS[name], first, second)
    if _are_sequences(first, second, f"__{name}__") and (_holds_traced(first) or _holds_traced(second)):
        return _in_lexical_order(name, first, second)
    return OPERATORS[name](first, second)


def _are_sequences(first: Any, second: Any, name: str) -> bool:
    """Whether these are two lists, or two tuples, named ones among them, which Python itself compares."""
    if type(first) is list:
        return type(second) is list
    return all(isinstance(one, tuple) and getattr(type(one), name) is getattr(tuple, name) for one in (first, second))


def _in_lexical_order(name: str, first: Sequence[Any], second: Sequence[Any]) -> Any:
    """The first elements that differ decide, or the lengths."""
    if not first or not second:
        return OPERATORS[name](len(first), len(second))
    one, other = first[0], second[0]
    is_equal = True if one is other else equal(one, other)
    return choose(is_equal, lambda: _in_lexical_order(name, first[1:], second[1:]), lambda: _as_bool(ordered(name, one, other)))


def _not_followed(name: str) -> Callable[..., Any]:
    def apply(holder: Any, *others: Any) -> Any:
        if is_open_list(holder) or any(map(is_open_list, others)):
            raise NotImplementedError(f"{name} of a list whose length the program decides is not implemented: use the operator")
        note_contents(holder)
        return built_in_getattr(holder, name)(*others)

    return apply


for _name in ("add", "iadd", "imul", "iter", "reversed", "ior", "iand", "isub", "ixor", "lt", "le", "gt", "ge"):
    SPECIAL_METHODS[f"__{_name}__"] = _not_followed(f"__{_name}__")
SPECIAL_METHODS.update({
    "__len__": lambda holder: call(len, holder), "__contains__": lambda holder, item: contains(item, holder),
    "__getitem__": getitem, "__setitem__": lambda holder, index, value: setitem(value, holder, index), "__delitem__": delitem,
    "__eq__": equal, "__ne__": differ, "__mul__": times, "__rmul__": times,
})  # fmt: skip


def generator(pull: Callable, push: Callable | None, values: Sequence[Any]) -> Any:
    """What a generator function returns, of the values of its parameters."""
    if push is None or current_trace() is None:
        return pull(*values)
    return TracedGenerator(lambda: pull(*values), lambda take: push(*values, _phlox_take=take))


# --- statements ---


def if_(test: Any, body: Later, orelse: Later | None, names: Names) -> Any:
    """``if``: the way on which control goes on behind it."""
    test = condition(test)
    if isinstance(test, TracedArray):
        known = truth(test)
        if known is None:
            return decide(test, (body, orelse), names)
        test = known
    if test:
        return body()
    return None if orelse is None else orelse()


def then(outcome: Any, rest: Later, names: Names) -> Any:
    """What stands behind a statement, where control reaches its end."""
    if outcome is None:
        return rest()
    if isinstance(outcome, Mixed) and END_CODE in outcome.possible:
        others = outcome.without(END_CODE)
        return decide(outcome.code == END_CODE, (rest, lambda: others), names, (rest,))
    return outcome


def value(outcome: Any) -> Any:
    """What a function returns that is left in this way."""
    if outcome is None:
        return None
    trace = current_trace()
    if trace is not None and trace.program.returned:
        for one in (*trace.program.returned, outcome.value):
            note_copies(trace, one)
        trace.program.returned.clear()
    if isinstance(outcome, Mixed) and outcome.possible != {RETURN_CODE} and outcome.value is not None:
        return choose_traced(outcome.code == RETURN_CODE, lambda: outcome.value, lambda: None)
    return outcome.value


def raised(error: Any) -> Any:
    """What a raise statement raises; of several the last, and the others on sides of branches."""
    if type(error) is Choice:
        for place, other in enumerate(error.values[:-1]):
            decide(error.number == place, (lambda other=other: _raise(other), None))
        return error.values[-1]
    return error


def _raise(error: Any) -> None:
    error = error() if isinstance(error, type) else error
    places.note_made(error)
    raise error


def asserted(test: Any, message: Later | None) -> Any:
    """The condition of an assert statement; one that the program decides counts as true until it runs."""
    test = condition(test)
    if isinstance(test, TracedArray) and truth(test) is None:
        trace = current_trace()
        arguments = () if message is None else (message(),)
        if any(map(is_open, arguments)):
            return decide(test, (None, lambda: _raise(AssertionError(*arguments)))) is None
        trace.add_raise(not_(test).instruction(trace), AssertionError(*arguments))
        return True
    return test

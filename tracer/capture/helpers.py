"""The helpers that rewritten functions call, by the names that `tracer.source` gives them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from . import journals, places
from .attributes import delattr_, getattr_, imported, setattr_
from .branches import choose as choose_traced
from .branches import decide, truth
from .calls.dispatch import call
from .calls.followed_libraries import is_users
from .calls.meanings import SPECIAL_METHODS
from .choices import Choice, Maybe
from .copies import note_copies
from .distribution import condition
from .equality import choose, contains, differ, equal, is_, is_none, ordered
from .global_names import delete_global, note_global
from .items import changed, delitem, getitem, item_to_change, note_contents, setitem
from .journals import note_nonlocal
from .keys.dicts import dict_of
from .keys.listed import set_of
from .lists.runs import is_open_list
from .loops.comprehensions import Loop as inner
from .loops.comprehensions import generated, listed, one_by_one
from .loops.generators import TracedGenerator
from .loops.unrolling import calls_, for_, while_
from .made_iterators import asked
from .managers import handled_by_python, with_
from .operators import OPERATORS, added_in_place, combined, combined_in_place, made, times
from .outcomes import BREAK, CONTINUE, END_CODE, RETURN_CODE, Mixed, Return
from .places import Names
from .recursive_calls import popped, pushed, receiver, sequence
from .texts.formatting import text as text_of_parts
from .texts.missing_keys import mod
from .tries import finally_, try_
from .truths import Later, all_hold, and_, not_, one_holds, or_, tested
from .unpacking import is_sequence, known_to_python, pairs_of, spread, spread_text, starred, tuple_of, unpacked, zipped

__all__ = [
    "added_in_place", "all_hold", "and_", "asked", "asserted", "bound", "BREAK", "call", "calls_", "changed", "choose",
    "combined", "combined_in_place", "compare", "concrete_truth", "contains", "CONTINUE", "delattr", "delete_global", "delitem",
    "dict_of", "differ", "equal", "finally_", "for_", "generated", "generator", "getattr", "getitem", "handled_by_python",
    "if_", "imported", "inner", "is_", "is_none", "is_sequence", "item_to_change", "known_to_python", "listed", "made", "mod",
    "not_", "note_contents", "note_global", "note_nonlocal", "one_by_one", "one_holds", "or_", "ordered", "pairs_of", "popped",
    "pushed", "raised", "receiver", "Return", "sequence", "set_of", "setattr", "setitem", "slice", "spread", "spread_text",
    "starred", "tested", "text", "then", "times", "try_", "tuple_of", "unpacked", "value", "while_", "with_", "zipped",
]  # fmt: skip

built_in_getattr = getattr
delattr, getattr, setattr, slice = delattr_, getattr_, setattr_, slice


# --- names ---


def bound(name: str, read: Later) -> Any:
    """The value of a name that may have none."""
    try:
        value = read()
    except NameError as error:
        if str(error).endswith("is not defined"):  # which is a global name
            raise
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


def decorator(function: Any) -> Any:
    """What decorates a function that is defined here: what one of the user's own makes belongs to the traced function, too."""
    inner = function.__func__ if isinstance(function, MethodType) else function
    return functools.partial(call, function) if is_users(inner) else function


def concrete_truth(value: Any) -> Any:
    """A condition where no branch can be recorded."""
    return value


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
    journals.note_made(error)
    raise error


def asserted(test: Any, message: Later | None) -> Any:
    """The condition of an assert statement; one that the program decides counts as true until it runs."""
    test = condition(test)
    if isinstance(test, TracedArray) and truth(test) is None:
        trace = current_trace()
        if message is not None and (message.__code__.co_names or message.__code__.co_freevars):  # it may fail, or do something
            return decide(test, (None, lambda: _raise(AssertionError(message())))) is None
        trace.add_raise(not_(test).instruction(trace), AssertionError(*(() if message is None else (message(),))))
        return True
    return test

"""Iterators that a function makes: what they have given is not put back, so loops and branches ask only those made in them."""

from __future__ import annotations

import copy
import itertools
import operator
import types
from typing import Any

from ..recording.current_trace import current_trace
from ..recording.errors import RecordedAgain, TracerError, asked_elsewhere
from .choices import Choice
from .entries import has_open_keys
from .journals import note, note_made
from .library.iterators import Count, Cycle, Iterating
from .places import Place


def _is_iterator(value: Any) -> bool:
    kind = type(value)
    return kind.__module__ in ("builtins", "itertools") and hasattr(kind, "__next__") or getattr(kind, "is_pythons", False)


def note_iterator(value: Any) -> Any:
    """To be called with what may be an iterator that has just been made; returns it."""
    if _is_iterator(value):
        note_made(value)
    return value


def are_iterators_asked() -> bool:
    """Whether captured loops or branches ask iterators that are made outside of them: these count positions then."""
    return _ITERATORS_ARE_ASKED in current_trace().program.guessed_bounds


_ITERATORS_ARE_ASKED = "iterators are asked"


def require_made_here(*given: Any) -> None:
    """Raises TracerError for iterators from outside of a loop or a branch, which nobody can put back to where they were.

    The function is recorded again first, with others in the place of those that count positions.
    """
    if current_trace() is None:
        return
    for iterable in given:
        if _is_iterator(iterable) or id(iterable) in current_trace().program.left_iterators:
            _require_made_here(iterable)


def asked(iterable: Any) -> Any:
    """What a generator asks itself for one element after the other."""
    require_made_here(iterable)
    return iterable


def _require_made_here(iterable: Any) -> None:
    program = current_trace().program
    found = program.made_objects.get(id(iterable))
    if found is not None and found[1] is not current_trace() or id(iterable) in program.left_iterators:
        if _ITERATORS_ARE_ASKED not in program.guessed_bounds and _is_iterator(iterable):
            program.guessed_bounds[_ITERATORS_ARE_ASKED] = True
            raise RecordedAgain
        raise asked_elsewhere(
            "an iterator that is made outside of a loop or a branch that depends on traced values is asked for an element in "
            "it, or one that a loop has left where the program decides. Fix: make it there, or count positions (i += 1, and "
            "values[i])"
        )


def require_end(iterator: Any) -> None:
    """To be called where the program may leave a loop: one without another end gets an iterator that counts positions."""
    guessed = current_trace().program.guessed_bounds
    if _ITERATORS_ARE_ASKED not in guessed and type(iterator) in _ENDLESS and is_endless(iterator):
        guessed[_ITERATORS_ARE_ASKED] = True
        raise RecordedAgain


_ENDLESS = (itertools.count, itertools.cycle, itertools.repeat)


def is_endless(iterator: Any) -> bool:
    """Whether this gives elements forever: one of `itertools`, or what ``zip`` and ``enumerate`` make of such."""
    if isinstance(iterator, (Count, Cycle)):
        return True
    if vars(type(iterator)).get("followed_class") is types.GeneratorType:
        return iterator.is_endless
    if type(iterator) in (zip, enumerate):
        parts = iterator.__reduce__()[1]
        return bool(parts) and all(map(is_endless, parts if type(iterator) is zip else parts[:1]))
    return type(iterator) in _ENDLESS and operator.length_hint(iterator, -1) < 0


def note_left(iterator: Any) -> None:
    """To be called where the program may decide how many elements an iterator is asked for."""
    current_trace().program.left_iterators[id(iterator)] = iterator


class GoneOver(Place):
    """Whether something that can be gone over once has been."""

    def __init__(self, iterable: Any) -> None:
        self.holder, self.name = iterable, f"whether {type(iterable).__name__.lower()}(...) has been gone over"

    @property
    def key(self) -> Any:
        return id(self.holder), GoneOver

    def get(self) -> Any:
        return self.holder.is_gone_over

    def set(self, value: Any) -> None:
        self.holder.is_gone_over = value


def taken(iterable: Any) -> Any:
    """What stands for the elements of something that is gone over now, and perhaps can be gone over once."""
    if type(iterable) is Choice and any(map(has_open_keys, iterable.values)):
        raise TracerError(
            "one of several dicts or sets, whose elements the program computes, is gone over. Fix: len(...), sum(...) or "
            "sorted(...) of it"
        )
    if current_trace() is None or not getattr(type(iterable), "is_once", False):
        return iterable
    if not iterable.is_once or iterable.is_begun:
        return iterable
    if iterable.is_gone_over is not False:
        raise TracerError(
            f"{type(iterable).__name__.lower()}(...) is gone over again: nothing is left of it, or what a loop has left. Fix: "
            "make a list of it before (list(...)), or make another one"
        )
    note(GoneOver(iterable))
    elements = copy.copy(iterable)
    elements.is_once = False  # those who go over it ask here, too
    iterable.is_gone_over = True
    return elements


def asked_by_generator(iterable: Any) -> Any:
    """What a generator expression goes over, of which nobody knows how far it comes: others do not go on with that."""
    if not _is_iterator(iterable) and not isinstance(iterable, ITERATORS):
        return taken(iterable)
    note_left(iterable)
    asked = itertools.chain((), iterable) if _is_iterator(iterable) else copy.copy(iterable)
    note_made(asked)
    return asked


# Those that have positions, which captured loops and branches carry.
ITERATORS = (Iterating, Cycle, Count)

"""Generators while a function is traced: whoever goes over one to its end hands in what is to be done with each value.

Then the loops and branches of the generator are those of the function that goes over it, and are captured with it.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Callable, Iterator
from typing import Any

from ...outside.ownership import is_of_the_user
from ...recording.current_trace import current_trace
from ...recording.errors import TracerError, asked_elsewhere
from .. import journals, made_iterators
from ..calls.dispatch import call
from .iteration import Lazy, unlisted

Take = Callable[[Any], Any]


class TracedGenerator(Lazy):
    """A generator that has not begun: it may be asked for one value after the other, or give all of them to a function.

    pulled: an iterator that can be asked.
    push: calls this function with each value, and ends once that returns something true, which may be traced.
    """

    followed_class = types.GeneratorType
    is_endless = False

    def __init__(self, pull: Callable[[], Iterator[Any]], push: Callable[[Take], Any]) -> None:
        self.pulled, self._push = pull, push
        self._iterator: Iterator[Any] | None = None
        self._trace = current_trace()
        self._is_pushed = self._is_left = False

    def push(self, take: Take) -> None:
        """Raises TracerError in a loop or a branch that is captured, where the generator has been made outside of it."""

        def watched(value: Any) -> Any:
            ends = take(value)
            self._is_left = self._is_left or ends is not None and ends is not False
            return ends

        if self.has_begun:
            for value in self:
                if take(value):
                    return
            return
        self._require_made_here("gone over")
        self._is_pushed = True
        self._push(watched)

    def _require_made_here(self, what: str) -> None:
        """Nobody can put it back to where it was before a loop or a branch, which may be recorded again, or done many times."""
        if current_trace() is not self._trace:
            raise asked_elsewhere(
                f"a generator that is made outside of a loop or a branch that depends on traced values is {what} in it. Fix: "
                "make it there, or make a list of it before (list(...))"
            )

    def left(self) -> TracedGenerator:
        """The generator, for another one that asks it for values: nobody knows for how many."""
        if self.has_begun:
            return self
        self._require_made_here("gone over")
        if self._is_left:
            self._values()
        asked = copy.copy(self)
        self._is_left = True
        return asked

    @property
    def has_begun(self) -> bool:
        return self._iterator is not None or self._is_pushed

    def elements(self) -> list[Any]:
        """A list of all values."""
        return journals.collected(self.push)

    def rows(self) -> None:
        return None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._values())

    def _values(self) -> Iterator[Any]:
        if self._is_left:
            raise TracerError(
                "a generator is gone on with behind a loop over it that was left. Fix: make a list of it before (list(...)), "
                "or take the first values by next(...)"
            )
        if not self._is_pushed:
            self._require_made_here("asked for a value")
        if self._iterator is None:
            self._iterator = iter(()) if self._is_pushed else self.pulled()
        return self._iterator

    def send(self, value: Any) -> Any:
        return self._values().send(value)

    def throw(self, *error: Any) -> Any:
        return self._values().throw(*error)

    def close(self) -> None:
        if self._iterator is not None:
            self._iterator.close()
        self._is_pushed = True


def begun(iterable: Any) -> Any:
    """What goes over an object of the user's class, as its ``__iter__`` says; anything else as it is."""
    made_iterators.require_made_here(iterable)
    iterable = unlisted(made_iterators.taken(iterable))
    method = getattr(type(iterable), "__iter__", None)
    if type(method) is not types.FunctionType or isinstance(iterable, Lazy):
        return iterable
    if is_of_the_user(method.__code__.co_filename):
        iterator = call(method, iterable)
    elif "followed_class" in vars(type(iterable)):
        iterator = iter(iterable)
    else:
        return iterable
    return begun(iterator) if isinstance(iterator, made_iterators.ITERATORS) else iterator


def numbered(generator: TracedGenerator, start: Any) -> TracedGenerator:
    """``enumerate(generator, start)``"""

    def push(take: Take) -> None:
        number = start

        def take_numbered(value: Any) -> Any:
            nonlocal number
            journals.note_nonlocal(lambda: number)
            number += 1
            return take((number - 1, value))

        with journals.own_variables(lambda: number):
            generator.push(take_numbered)

    return TracedGenerator(lambda: enumerate(generator, start), push)

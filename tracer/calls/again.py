"""Calls that Python makes again from the start, because the program has found an error behind changes.

What the program has done outside is not done twice: generators of random numbers begin where they began before, what was
printed is not printed again, and calls by `host_call` return what they have returned.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

# The iterator whose next element was taken, None for other calls; what the call has returned, or what it has raised.
Done = tuple[Any, Any, BaseException | None]


# The last of what was done, until it is.
_BEGUN: Done = (None, None, None)
# What is being taken down. A native call sets it without a function of Python's.
noted: ContextVar[list[Done] | None] = ContextVar("what a call does outside", default=None)


class _Thread(threading.local):
    def __init__(self) -> None:
        self.remaining: deque[Done] = deque()
        self.made_again: list[Done] | None = None


_thread = _Thread()


def make_again(done: list[Done]) -> None:
    """Python makes a native call again that has done this: the next one that `made_again` is asked about in this thread."""
    _thread.made_again = done


def made_again() -> Beginning | None:
    """How it was outside when the native call began that Python makes again now; None where it makes a new one."""
    done = _thread.made_again
    if done is None:
        return None
    _thread.made_again = None
    return Beginning((), done)


class Beginning:
    """How it was outside when a program began that calls Python: the states of generators; and what it has called since."""

    def __init__(self, generators: Iterable[Any], done: Iterable[Done] = ()) -> None:
        self.done: list[Done] = list(done)
        self._states = [(generator, _state(generator)) for generator in generators]

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Meanwhile `once` takes down what it does."""
        outer = noted.set(self.done)
        try:
            yield
        finally:
            noted.reset(outer)

    @contextmanager
    def repeating(self) -> Iterator[None]:
        """Meanwhile `once` gives what has been taken down, as long as there is some."""
        for generator, state in self._states:
            _set_state(generator, state)
        outer, _thread.remaining = _thread.remaining, deque(self.done)
        try:
            yield
        finally:
            _thread.remaining = outer


def once(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)``, unless Python makes a call again in which this has been called already."""
    subject = args[0] if function is next else None
    thread, taken_down = _thread, noted.get()
    if thread.remaining and thread.remaining[0][0] is subject:
        done = thread.remaining.popleft()
        if taken_down is not None:
            taken_down.append(done)
        _, value, error = done
        if error is not None:
            raise error
        return value
    if taken_down is None or taken_down and taken_down[-1] is _BEGUN:  # what a function calls is part of it
        return function(*args, **kwargs)
    taken_down.append(_BEGUN)
    try:
        value = function(*args, **kwargs)
    except BaseException as error:
        taken_down[-1] = subject, None, error
        raise
    taken_down[-1] = subject, value, None
    return value


def is_repeating() -> bool:
    """Whether Python makes a call again, and is where the program has been."""
    return bool(_thread.remaining)


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    if isinstance(generator, np.random.RandomState):
        return generator.get_state()
    return None if isinstance(generator, random.SystemRandom) else generator.getstate()


def _set_state(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    elif state is not None:
        generator.setstate(state)

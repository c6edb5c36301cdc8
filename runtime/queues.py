"""Bounded queues between a running program and the host, for infeed and outfeed.

Every wait ends: with a value, with QueueClosedError, or with TimeoutError. The messages say who waited for what.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from types import EllipsisType
from typing import Any

import numpy as np

from ..hlo import compatible, shape_of
from ..hlo.shape import AnyShape, array_of_value
from .communicator import raise_if_run_has_failed
from .locks import new_condition

DEFAULT_TIMEOUT = 60.0  # seconds


class QueueClosedError(RuntimeError):
    """A queue or channel was closed, and holds nothing that the caller could have."""

    __module__ = "phlox.runtime"  # where users find it


class HostQueue:
    """A queue of values, in order, at most ``capacity`` of them; safe to use from several threads at once.

    A value is an array, or a tuple of values. Waits end after ``timeout`` seconds, None for no end; each call can say its own.

    >>> queue = HostQueue("infeed")
    >>> queue.put(np.float32([1, 2]))
    >>> queue.get()
    array([1., 2.], dtype=float32)
    """

    def __init__(self, name: str, capacity: int = 16, timeout: float | None = DEFAULT_TIMEOUT) -> None:
        if capacity < 1:
            raise ValueError(f"queue {name}: the capacity must be at least 1, got {capacity}")
        self.name, self.capacity, self.timeout = name, capacity, timeout
        self._values: deque[Any] = deque()
        self._changed = new_condition()
        self._is_closed = False

    def __len__(self) -> int:
        """The number of values that wait in the queue."""
        return len(self._values)

    def __repr__(self) -> str:
        state = "closed, " if self._is_closed else ""
        return f"<queue {self.name}: {state}{len(self)} of {self.capacity} values>"

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def put(self, value: Any, timeout: float | None | EllipsisType = ...) -> None:
        """Append a copy of the value; waits while the queue is full.

        Raises TypeError for what is no value, QueueClosedError where the queue is closed, TimeoutError after ``timeout``
        seconds.
        """
        self._put(owned(value, self.name), "the host", timeout)

    def get(self, timeout: float | None | EllipsisType = ...) -> Any:
        """Take the first value; waits while the queue is empty.

        Raises QueueClosedError where the queue is closed and empty, TimeoutError after ``timeout`` seconds.
        """
        return self._get("the host waits for a value", timeout)

    def close(self) -> None:
        """Take no more values. What is in the queue can still be had; whoever would have to wait gets QueueClosedError."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def clear(self) -> None:
        """Drop what is in the queue, and open it again."""
        with self._changed:
            self._values.clear()
            self._is_closed = False
            self._changed.notify_all()

    # --- the side of the program ---

    def feed(self, shape: AnyShape) -> Any:
        """The first value, for a program that wants one of this shape.

        Raises TypeError, and leaves the value where it is, for a value of another shape; and as `get`.
        """
        return self._get(f"the program waits for a value of shape {shape}", ..., shape)

    def emit(self, value: Any) -> None:
        """Append a value that the program hands out; waits and raises as `put`."""
        self._put(owned(value, self.name), "the program", ...)

    def _put(self, value: Any, who: str, timeout: Any) -> None:
        with self._changed:
            self._wait(
                lambda: len(self._values) < self.capacity or self._is_closed,
                timeout,
                lambda: f"{who} waits to put a value of shape {shape_of(value)}, and {self.capacity} are there already",
            )
            if self._is_closed:
                raise QueueClosedError(f"{self.name}: the queue is closed; {who} cannot put a value of shape {shape_of(value)}")
            self._values.append(value)
            self._changed.notify_all()

    def _get(self, purpose: str, timeout: Any, shape: AnyShape | None = None) -> Any:
        with self._changed:
            self._wait(lambda: bool(self._values) or self._is_closed, timeout, lambda: purpose)
            if not self._values:
                raise QueueClosedError(f"{self.name}: the queue is closed and empty; {purpose}")
            if shape is not None:
                check_shape(self.name, shape, self._values[0])
            value = self._values.popleft()
            self._changed.notify_all()
            return value

    def _wait(self, condition: Callable[[], bool], timeout: Any, purpose: Callable[[], str]) -> None:
        timeout = self.timeout if timeout is ... else timeout
        if not wait_until(self._changed, condition, timeout):
            raise TimeoutError(f"{self.name}: {purpose()}; nothing happened for {timeout:g} seconds")


def wait_until(changed: threading.Condition, condition: Callable[[], bool], timeout: float | None) -> bool:
    """Wait, holding the lock, until the condition is true; False after ``timeout`` seconds. Signals are handled in between."""
    end = None if timeout is None else time.monotonic() + timeout
    while not condition():
        raise_if_run_has_failed()
        left = 1.0 if end is None else min(1.0, end - time.monotonic())
        if left <= 0:
            return False
        changed.wait(left)
    return True


def owned(value: Any, name: str) -> Any:
    """A copy of a value; raises TypeError for what is neither an array nor a tuple of values."""
    if isinstance(value, tuple):
        return tuple([owned(element, name) for element in value])
    if value is None:
        return None
    array = np.array(array_of_value(name, value))
    try:
        shape_of(array)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise TypeError(f"{name}: an array, or a tuple of arrays, is required, {type(value).__name__} given: {error}") from None
    return array[()]


def check_shape(name: str, wanted: AnyShape, value: Any) -> None:
    """Raise TypeError, which names both, unless the value has the wanted shape."""
    given = shape_of(value)
    if not compatible(wanted, given):
        raise TypeError(f"{name}: the program takes a value of shape {wanted}, but one of shape {given} was given")

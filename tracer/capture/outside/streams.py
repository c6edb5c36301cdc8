"""What a traced function sees of iterators, files, locks, weak containers and the environment: what they are at each call."""

from __future__ import annotations

import copy
import functools
import io
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ...calls.again import once
from ...calls.host_call import call_when_run
from ...calls.outside_state import meaning
from ...outside.paths import Path
from ...recording.errors import TracerError


class OutsideEnvironment:
    """``os.environ``: the variables that are read are looked at before each call."""

    def __getattr__(self, name: str) -> Any:
        return meaning(getattr(os.environ, name))


def _method(name: str) -> Callable[..., Any]:
    return lambda self, *args: meaning(getattr(os.environ, name))(*args)


for _name in ("__getitem__", "__contains__", "__setitem__", "__delitem__", "__iter__", "__len__", "__or__", "__ior__"):
    setattr(OutsideEnvironment, _name, _method(_name))


class OutsideIterator:
    """An iterator, a generator or a file: the program takes the next element when it comes there, and that is all it can do."""

    def __init__(self, original: Iterator[Any], path: Path) -> None:
        self.original, self.path = original, path

    def following(self, *default: Any) -> Any:
        """``next(iterator, default)``"""
        try:
            example = next(copy.deepcopy(self.original), *default)
        except (TypeError, AttributeError):
            raise self._error("a copy of it, which would tell what it gives, cannot be made") from None
        try:
            return call_when_run(functools.partial(once, next), example, (self.original, *default), named=next)
        except TypeError:
            raise self._error("it gives no arrays or numbers") from None

    def __next__(self) -> Any:
        return self.following()

    def __iter__(self) -> Iterator[Any]:
        raise self._error("how many elements it has is not known while the function is traced")

    def __getattr__(self, name: str) -> Any:
        getattr(self.original, name)
        raise self._error("it is at another place at each call")

    def _error(self, why: str) -> TracerError:
        return TracerError(
            f"{self.path.text}, a {type(self.original).__name__}, is used by the traced function: {why}. Take elements outside "
            "and pass them, or wrap what is done with it in a function that returns arrays or numbers, and call that by "
            "phlox.host_call(function, result_shapes, *args)"
        )


class OutsideLock:
    """A lock: what is set outside is set when the call is over, and no lock that the function takes would be held then."""

    def __init__(self, original: Any, path: Path) -> None:
        self._original, self._path = original, path

    def __enter__(self) -> None:
        raise TracerError(
            f"{self._path.text}, a {type(self._original).__name__}, is used by the traced function: what it sets outside is "
            "set when the call is over. Take the lock around the call"
        )

    def __exit__(self, *error: Any) -> None: ...

    def __getattr__(self, name: str) -> Any:
        getattr(self._original, name)
        return self.__enter__()


class OutsideWeakly:
    """A container that keeps none of what it holds: that may go between calls, and nobody sees it."""

    def __init__(self, original: Any, path: Path) -> None:
        self._original, self._path = original, path

    def _refused(self, *given: Any) -> Any:
        raise TracerError(
            f"{self._path.text}, a {type(self._original).__name__}, is read by the traced function: what it holds may be gone "
            "at the next call. Take what is needed outside, and pass it"
        )

    def __getattr__(self, name: str) -> Any:
        getattr(self._original, name)
        return self._refused()


for _name in ("getitem", "setitem", "delitem", "contains", "len", "iter", "bool", "eq", "or", "and", "sub"):
    setattr(OutsideWeakly, f"__{_name}__", OutsideWeakly._refused)

_WEAK = (weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet)
_LOCKS = (type(threading.Lock()), type(threading.RLock()), threading.Condition, threading.Semaphore)


def seen(value: Any, path: Path) -> Any:
    """What stands for such an object, None for another one."""
    if value is os.environ:
        return OutsideEnvironment()
    if isinstance(value, io.IOBase) or hasattr(type(value), "__next__") and isinstance(value, Iterator):
        return OutsideIterator(value, path)
    if isinstance(value, _WEAK):
        return OutsideWeakly(value, path)
    return OutsideLock(value, path) if isinstance(value, _LOCKS) else None

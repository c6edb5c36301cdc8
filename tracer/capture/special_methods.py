"""Special methods of the user's, asked by rewritten functions: what they return may be known when the program runs only."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable
from typing import Any

from ..outside.ownership import is_of_the_user
from ..recording.attributes import attributes_of, is_generated
from ..recording.operands import has_traced

_MADE_BY_A_STATEMENT = 1 << 9  # of the flags of classes, CPython's Py_TPFLAGS_HEAPTYPE
# How a special method is called of an object whose class nothing stands for; `outside.objects` says it.
CALLED: list[Callable[..., Any]] = []


def special_method(value: Any, *names: str) -> Callable[..., Any] | None:
    """The first of these methods that the user's class has of an object; None for anything else."""
    kind = type(value)
    if not kind.__flags__ & _MADE_BY_A_STATEMENT:
        return None
    methods = vars(kind).get("followed_methods")
    if methods is not None:
        return next((functools.partial(methods[name], value) for name in names if name in methods), None)
    for name in names:
        method = getattr(kind, name, None)
        if type(method) is types.FunctionType and is_of_the_user(file := method.__code__.co_filename) and file != "<string>":
            return functools.partial(CALLED[0], kind, name, value)
    return None


def is_compared_by_program(item: Any) -> bool:
    """Whether the user's class of an object, or of one in a tuple, compares what the program computes."""
    if type(item) is tuple:
        return any(map(is_compared_by_program, item))
    kind = type(item)
    is_compared = dataclasses.is_dataclass(kind) and is_generated(kind.__lt__) or special_method(item, "__lt__") is not None
    return is_compared and has_traced(list(attributes_of(item).values()))

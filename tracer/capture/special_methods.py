"""Special methods of the user's, asked by rewritten functions: what they return may be known when the program runs only."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def special_method(value: Any, *names: str) -> Callable[..., Any] | None:
    """The first of these methods that the user's class has of an object that is followed; None for anything else."""
    methods = vars(type(value)).get("followed_methods")
    if methods is None:
        return None
    return next((functools.partial(methods[name], value) for name in names if name in methods), None)

"""What calls mean where traced values are about: tables, which the modules of that subject fill, and `dispatch` asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...calls.outside_state import RETURN_NOTHING
from ...recording.function_tables import filling

Call = Callable[..., Any]  # `dispatch.call`, which those who answer a call make others by
UNANSWERED = object()  # by one of them: those behind it are asked

# Functions that mean something else where traced values are about. `builtin_functions` and `creation` fill it.
MEANINGS: dict[Any, Callable] = {}
# Those that say something outside, which is not said again where Python makes a call again. `printing` adds to it.
SAYING: set[Any] = {print, next, *RETURN_NOTHING}
# What Python calls in the place of a function that asks who has called it.
MADE_BY_PYTHON: dict[Any, Callable[..., Any]] = {}
# Those of them that look at what may be None themselves.
TAKE_MAYBES: set[Any] = {print, str, repr, format, isinstance, type, bool}
# The same for methods of str, by name: they take the method, its arguments and those by name.
TEXT_METHODS: dict[str, Callable] = {}
# Methods of lists whose length the program decides; they take the list and the arguments.
LIST_METHODS: dict[str, Callable] = {}
# The same for methods of dicts, and of sets, whose keys the program computes.
DICT_METHODS: dict[str, Callable] = {}
SET_METHODS: dict[str, Callable] = {}
# What becomes of a call with such a list, by the function's package, "" for others: takes the function and its arguments.
NEEDS_ARRAYS: dict[str, Callable] = {}
# What is written otherwise as a rule, by the names of the special methods of containers; they take the container.
SPECIAL_METHODS: dict[str, Callable] = {}

# Decorator: what a call of these functions means while a function is traced.
implements = filling(MEANINGS)


def meaning_of(function: Any) -> Callable | None:
    """What a call of a function means, None where nobody says so."""
    try:
        return MEANINGS.get(function)
    except TypeError:  # not hashable
        return None

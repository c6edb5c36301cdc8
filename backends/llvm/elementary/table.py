"""The table of the elementary functions, which they fill themselves."""

from collections.abc import Callable

# Keyed by HLO opcode.
ELEMENTARY_FUNCTIONS: dict[str, Callable] = {}
# Those of them that are about as short as a call.
SHORT_FUNCTIONS: set[str] = set()


def elementary(function: Callable) -> Callable:
    """Decorator: the function is the native code of the operation of its name, with hyphens for underscores."""
    ELEMENTARY_FUNCTIONS[_opcode(function)] = function
    return function


def short_elementary(function: Callable) -> Callable:
    """Decorator: as `elementary`, of a function that is about as short as a call."""
    SHORT_FUNCTIONS.add(_opcode(function))
    return elementary(function)


def _opcode(function: Callable) -> str:
    return function.__name__.replace("_", "-")

"""The table of the elementary functions, which they fill themselves."""

from collections.abc import Callable

# Keyed by HLO opcode.
ELEMENTARY_FUNCTIONS: dict[str, Callable] = {}


def elementary(function: Callable) -> Callable:
    """Decorator: the function is the native code of the operation of its name, with hyphens for underscores."""
    ELEMENTARY_FUNCTIONS[function.__name__.replace("_", "-")] = function
    return function

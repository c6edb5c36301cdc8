"""Libraries of vendors, opened where they are, and their functions with the types of their arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

Signature = tuple[type | None, ...]


def open_library(names: Iterable[str]) -> ctypes.CDLL:
    """The first of these libraries that can be opened, by name or path. Raises OSError, which says what was tried."""
    reasons = []
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reasons.append(str(error))
    raise OSError("; ".join(reasons))


def functions(library: ctypes.CDLL, signatures: Mapping[str, Signature]) -> SimpleNamespace:
    """Functions of a library by name. A signature is the type of the result and those of the arguments.

    Raises OSError where the library, which is too old then, has not all of them.
    """
    found = SimpleNamespace()
    for name, signature in signatures.items():
        address = address_of(library, name)
        if address is None:
            raise OSError(f"{library._name} has no function {name}")
        setattr(found, name, function_at(address, signature))
    return found


def address_of(library: ctypes.CDLL, name: str) -> int | None:
    """The address of a function; None where the library has none of this name."""
    function = getattr(library, name, None)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


def function_at(address: int, signature: Signature) -> Any:
    return ctypes.CFUNCTYPE(*signature)(address)  # type: ignore[arg-type]

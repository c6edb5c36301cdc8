"""Libraries of vendors, opened where they are, and their functions with the types of their arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

Signature = tuple[type | None, ...]


def open_library(names: Sequence[str]) -> ctypes.CDLL:
    """The first of these libraries that can be opened, by name or path. Raises OSError, which says why none can."""
    reasons = []
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            # One that is there and needs another that is not says more than those that are not there.
            if not str(error).startswith(f"{name}: cannot open"):
                reasons.append(str(error))
    raise OSError("; ".join(reasons) or f"{names[0]} is not found")


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

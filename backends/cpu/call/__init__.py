"""The compiled Python entry: calls of a jitted function reach native code without a Python frame.

`make_vectorcall_type` makes the type of the callable, `bind_entry` binds a `CallSignature` to a compiled kernel,
`install_entry` puts the entry before the others of an instance. `unsupported_reason` says why an interpreter has to do without.
"""

from .call_signature import (
    ArgumentGuard,
    ArgumentResult,
    ArrayGuard,
    CallSignature,
    NumPyScalarGuard,
    PythonScalarGuard,
    ResultSpec,
    StaticGuard,
)
from .entry import BoundEntry, bind_entry, install_entry, remove_entries
from .object_layout import unsupported_reason
from .outside import Fact, words_of
from .vectorcall_type import make_vectorcall_type

__all__ = [
    "ArgumentGuard",
    "ArgumentResult",
    "ArrayGuard",
    "BoundEntry",
    "CallSignature",
    "Fact",
    "NumPyScalarGuard",
    "PythonScalarGuard",
    "ResultSpec",
    "StaticGuard",
    "bind_entry",
    "install_entry",
    "make_vectorcall_type",
    "remove_entries",
    "unsupported_reason",
    "words_of",
]

"""The compiled Python entry: calls of a jitted function reach native code without a Python frame.

`make_vectorcall_type` makes the type of the callable, `bind_entry` binds a `CallSignature` to a compiled kernel,
`install_entry` puts the entry before the others of an instance. `unsupported_reason` says why an interpreter has to do without.
"""

from .call_signature import (
    AddressGuard,
    ArgumentGuard,
    ArrayGuard,
    CallSignature,
    KeysGuard,
    NumPyScalarGuard,
    PythonScalarGuard,
    ResultSpec,
    SizeGuard,
    StaticGuard,
    TypeGuard,
    ValueGuard,
)
from .entries import MOST_NUMBERS, EntryColumns
from .entry import BoundEntry, bind_entry, install_entry, remove_entries
from .finishing import Step
from .kept_values import InstanceValue, entry_number, instance_value
from .new_entries import NewEntries
from .object_layout import unsupported_reason
from .outside import Fact, words_of
from .places import (
    CheckedGuard,
    FunctionGuard,
    IdentityGuard,
    MethodGuard,
    PackedGuard,
    Place,
    SameGuard,
    TextGuard,
    size_of_texts,
)
from .rows import Choice, Container, Leaf, Numbers, Rows, Shared, Shown
from .texts import Text, number_format
from .vectorcall_type import make_vectorcall_type

__all__ = [
    "AddressGuard",
    "ArgumentGuard",
    "ArrayGuard",
    "BoundEntry",
    "CallSignature",
    "CheckedGuard",
    "Choice",
    "Container",
    "EntryColumns",
    "Fact",
    "FunctionGuard",
    "IdentityGuard",
    "InstanceValue",
    "KeysGuard",
    "Leaf",
    "MOST_NUMBERS",
    "MethodGuard",
    "NewEntries",
    "NumPyScalarGuard",
    "Numbers",
    "PackedGuard",
    "Place",
    "PythonScalarGuard",
    "ResultSpec",
    "Rows",
    "SameGuard",
    "Shared",
    "Shown",
    "SizeGuard",
    "StaticGuard",
    "Step",
    "Text",
    "TextGuard",
    "TypeGuard",
    "ValueGuard",
    "bind_entry",
    "entry_number",
    "install_entry",
    "instance_value",
    "make_vectorcall_type",
    "number_format",
    "remove_entries",
    "size_of_texts",
    "unsupported_reason",
    "words_of",
]

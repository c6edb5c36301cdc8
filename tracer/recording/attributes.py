"""The attributes that an object has of its own: in a dict, or in slots."""

from __future__ import annotations

import types
from contextlib import suppress
from typing import Any


def slots_of(kind: type) -> dict[str, types.MemberDescriptorType]:
    slotted = [vars(base) for base in kind.__mro__ if "__slots__" in vars(base)]
    return {name: slot for held in slotted for name, slot in held.items() if isinstance(slot, types.MemberDescriptorType)}


def attributes_of(value: Any) -> dict[str, Any]:
    """The names of an object's attributes, and what they hold."""
    held = dict(getattr(value, "__dict__", {}))
    for name, slot in slots_of(type(value)).items():
        with suppress(AttributeError):  # it holds nothing
            held[name] = slot.__get__(value)
    return held

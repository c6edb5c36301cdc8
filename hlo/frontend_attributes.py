"""What a program says to backends: ``frontend_attributes`` of the module, ``key="value"`` each, which its text has, too."""

from __future__ import annotations

from .instruction import Module

_ATTRIBUTE = "frontend_attributes"


def add_frontend_attribute(module: Module, key: str, value: bool) -> None:
    """Add one whose value is ``true`` or ``false``."""
    others = module.attributes.get(_ATTRIBUTE, "{}").strip("{}")
    module.attributes[_ATTRIBUTE] = "{" + ",".join(filter(None, [others, _text(key, value)])) + "}"


def has_frontend_attribute(module: Module, key: str, value: bool) -> bool:
    """Whether the module has it, with this value."""
    return _text(key, value) in module.attributes.get(_ATTRIBUTE, "")


def _text(key: str, value: bool) -> str:
    return f'{key}="{str(value).lower()}"'

"""Whether a module's sums may be computed in other ways than they are written: an attribute of the module, in its text, too."""

from __future__ import annotations

from .instruction import Module

_ATTRIBUTE, _WORD = "frontend_attributes", 'fastmath="true"'


def add_frontend_attribute(module: Module, text: str) -> None:
    """Add what the program says to backends, ``key="value"``."""
    others = module.attributes.get(_ATTRIBUTE, "{}").strip("{}")
    module.attributes[_ATTRIBUTE] = "{" + ",".join(filter(None, [others, text])) + "}"


def has_frontend_attribute(module: Module, text: str) -> bool:
    """Whether the program says this, ``key="value"``."""
    return text in module.attributes.get(_ATTRIBUTE, "")


def allow_fast_math(module: Module) -> None:
    """Let a product that is added to something be rounded together with the sum, once, and loops add up in another order."""
    add_frontend_attribute(module, _WORD)


def has_fast_math(module: Module) -> bool:
    """Whether the module allows this.

    >>> from phlox.hlo import parse_module
    >>> has_fast_math(parse_module('''
    ... HloModule m, frontend_attributes={fastmath="true"}
    ... ENTRY e {
    ...   ROOT x = f32[] parameter(0)
    ... }'''))
    True
    """
    return has_frontend_attribute(module, _WORD)

"""Whether a module's sums may be computed in other ways than they are written: an attribute of the module, in its text, too."""

from __future__ import annotations

from .frontend_attributes import add_frontend_attribute, has_frontend_attribute
from .instruction import Module

_KEY = "fastmath"


def allow_fast_math(module: Module) -> None:
    """Let a product that is added to something be rounded together with the sum, once, and loops add up in another order."""
    add_frontend_attribute(module, _KEY, True)


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
    return has_frontend_attribute(module, _KEY, True)

"""Whether a module's products and sums may be rounded together: an attribute of the module, which its text has, too."""

from __future__ import annotations

from .instruction import Module

_ATTRIBUTE, _WORD = "frontend_attributes", 'fastmath="true"'


def allow_fast_math(module: Module) -> None:
    """Let a product that is added to something be rounded together with the sum, once."""
    others = module.attributes.get(_ATTRIBUTE, "{}").strip("{}")
    module.attributes[_ATTRIBUTE] = "{" + ",".join(filter(None, [others, _WORD])) + "}"


def has_fast_math(module: Module) -> bool:
    """Whether the module allows that.

    >>> from phlox.hlo import parse_module
    >>> has_fast_math(parse_module('''
    ... HloModule m, frontend_attributes={fastmath="true"}
    ... ENTRY e {
    ...   ROOT x = f32[] parameter(0)
    ... }'''))
    True
    """
    return _WORD in module.attributes.get(_ATTRIBUTE, "")

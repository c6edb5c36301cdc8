"""Whether a module's sums may be computed in other ways than they are written: an attribute of the module, in its text, too."""

from __future__ import annotations

from .instruction import Module

_ATTRIBUTE, _WORD = "frontend_attributes", 'fastmath="true"'


def allow_fast_math(module: Module) -> None:
    """Let a product that is added to something be rounded together with the sum, once, and loops add up in another order."""
    others = module.attributes.get(_ATTRIBUTE, "{}").strip("{}")
    module.attributes[_ATTRIBUTE] = "{" + ",".join(filter(None, [others, _WORD])) + "}"


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
    return _WORD in module.attributes.get(_ATTRIBUTE, "")

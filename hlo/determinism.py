"""Whether a module's results are to be the same from run to run: an attribute of the module, in its text, too."""

from __future__ import annotations

from .frontend_attributes import add_frontend_attribute, has_frontend_attribute
from .instruction import Module

_KEY = "deterministic"


def set_determinism(module: Module, is_deterministic: bool) -> None:
    """Ask for results that are the same from run to run, or for none such in particular."""
    add_frontend_attribute(module, _KEY, is_deterministic)


def determinism_of(module: Module) -> bool | None:
    """What the module asks for; None where it says nothing.

    >>> from phlox.hlo import parse_module
    >>> determinism_of(parse_module('''
    ... HloModule m, frontend_attributes={deterministic="true"}
    ... ENTRY e {
    ...   ROOT x = f32[] parameter(0)
    ... }'''))
    True
    """
    return next((asked for asked in (True, False) if has_frontend_attribute(module, _KEY, asked)), None)

"""Algebraic simplification: rewrite rules as data, one file a subject, and the pass that applies them."""

from . import (
    arithmetic,
    concatenation,
    control,
    conversion,
    logic,
    movement,
    ordering,
    ranges,
    reductions,
    shifted,
    slices,
    updates,
    windows,
)
from .rule import RULES, Rule, rule, simplify

__all__ = [
    "RULES",
    "Rule",
    "arithmetic",
    "concatenation",
    "control",
    "conversion",
    "logic",
    "movement",
    "ordering",
    "ranges",
    "reductions",
    "rule",
    "shifted",
    "simplify",
    "slices",
    "updates",
    "windows",
]

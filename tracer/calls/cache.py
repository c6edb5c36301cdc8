"""What a jitted function has been compiled for, and why."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from .leaves import Leaf, StaticLeaf, explain_difference


@dataclass(frozen=True)
class CacheEntry:
    """One compiled signature.

    ``leaves`` describe the arguments, ``reason`` says why the call that compiled it fitted none of the entries that there
    were, ``static_numbers`` lists the arguments that became static because the function needs their values, and ``native``
    tells whether calls of this form bypass Python, ``compile_seconds`` how long it took to make code of what was traced.
    """

    leaves: tuple[Leaf, ...]
    structure: str
    reason: str
    static_numbers: tuple[str, ...] = ()
    native: bool = False
    compile_seconds: float = 0.0

    @property
    def signature(self) -> str:
        return ", ".join(map(str, self.leaves)) or "no arguments"

    def __str__(self) -> str:
        text = f"({self.signature})\n    compiled because: {self.reason}"
        if self.static_numbers:
            made_static = ", ".join(self.static_numbers)
            text += f"\n    made static, because their values decide shapes or the course of the function: {made_static}"
        return text + ("\n    called natively" if self.native else "")


@dataclass(frozen=True)
class CacheInfo:
    """The state of a jitted function's cache.

    ``hits`` counts the calls that Python dispatched to an entry, ``misses`` those that were traced and compiled. Calls that
    native code takes never reach Python and are not counted. ``not_captured`` says why control flow is not captured from the
    source, where it is not.
    """

    name: str
    hits: int
    misses: int
    entries: tuple[CacheEntry, ...] = field(default=())
    not_captured: str | None = None

    def __str__(self) -> str:
        native = " (calls that bypass Python are not counted)" if any(entry.native for entry in self.entries) else ""
        lines = [f"{self.name}: {self.hits} hits{native}, {self.misses} misses, {len(self.entries)} entries"]
        if self.not_captured:
            lines.append(f"control flow is left to tracing: {self.not_captured}")
        lines += [f"{number}. {entry}" for number, entry in enumerate(self.entries, 1)]
        return "\n".join(lines)

    __repr__ = __str__


def explain_miss(leaves: list[Leaf], structure: str, entries: list[CacheEntry]) -> str:
    """Why a call fits none of the entries: its differences from the nearest one."""
    if not entries:
        return "first call"
    candidates = []
    for entry in entries:
        differences = explain_difference(leaves, list(entry.leaves))
        if structure != entry.structure and not differences:
            differences.append(f"structure {entry.structure} -> {structure}")
        candidates.append(differences)
    nearest = min(candidates, key=len)
    return "; ".join(nearest) if nearest else "a captured array changed its shape, dtype or memory order"


def static_numbers(leaves: list[Leaf], paths: Collection[str]) -> tuple[str, ...]:
    return tuple(f"{leaf.path}={leaf.value}" for leaf in leaves if isinstance(leaf, StaticLeaf) and leaf.path in paths)

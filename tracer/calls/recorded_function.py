"""A traced function as a value: how it was called, the module, and what its parameters and results mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ... import hlo
from ...runtime.host_functions import HostFunction
from ..outside.guards import Guard
from ..outside.paths import Path
from ..recording import pytree
from ..recording.intervals import Interval
from ..recording.program import Capture, ErrorMessage
from .leaves import Leaf, PackedLeaf, TextLeaf, TracedLeaf
from .returned_views import Steps

# The arguments' names with their structures.
Structures = tuple[tuple[str, pytree.Structure], ...]
# Numbers of leaves, and of such that are one parameter.
Selection = list[int | list[int]]


def selected(leaves: Sequence[Any], selection: Selection) -> list[Any]:
    return [leaves[one] if isinstance(one, int) else [leaves[number] for number in one] for one in selection]


@dataclass(frozen=True)
class CallForm:
    """How a function is called: its arguments taken apart, in the order of the function's parameters.

    The last of them are given under ``keywords``; ``numbers`` has the places of Python integers with the
    intervals that they are traced for, None where the function needs their values. ``packs`` are the leaves that are parts of
    one parameter, but for those of the arguments ``taken_apart``.
    """

    leaves: list[Leaf]
    structures: Structures
    keywords: tuple[str, ...]
    numbers: dict[str, Interval | None] = field(default_factory=dict)
    packs: tuple[PackedLeaf, ...] = ()
    taken_apart: frozenset[str] = frozenset()

    def put_together(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments of this form with other leaves: by position, and by name."""
        remaining = iter(values)
        given = [pytree.unflatten_from(structure, remaining) for _, structure in self.structures]
        positional = len(given) - len(self.keywords)
        return tuple(given[:positional]), dict(zip(self.keywords, given[positional:]))

    @property
    def texts(self) -> dict[str, int]:
        """The places of texts that are inputs, with how many characters all of the argument may have."""
        return {leaf.path: leaf.room for leaf in self.leaves if isinstance(leaf, TextLeaf)}

    def selection(self, order: Sequence[int]) -> Selection | None:
        """For each parameter the number of its leaf, or of its leaves, among those of a call in this order; None where these
        are the parameters."""
        found = [
            [order[member] for member, _ in leaf.members] if isinstance(leaf, PackedLeaf) else order[number]
            for leaf, number in self.numbered_parameters()
        ]
        return None if found == list(range(len(order))) else found

    @property
    def parameters(self) -> list[TracedLeaf]:
        """The leaves that are parameters, in order; those of a pack in the place of its first member."""
        return [leaf for leaf, _ in self.numbered_parameters()]

    def numbered_parameters(self) -> Iterator[tuple[TracedLeaf, int]]:
        """The same with the place of each, or of its first member, among the leaves."""
        firsts = {pack.members[0][0]: pack for pack in self.packs}
        packed = {number for pack in self.packs for number, _ in pack.members}
        for number, leaf in enumerate(self.leaves):
            if number in firsts:
                yield firsts[number], number
            elif number not in packed and isinstance(leaf, TracedLeaf):
                yield leaf, number


@dataclass(frozen=True, slots=True)
class Output:
    """One leaf of what the function returns, or sets outside: a result of the module, an argument itself, what stands at the
    path ``value`` outside, the view of either that the functions ``steps`` make, or a value known already.

    ``index`` numbers the results or the arguments. Of results without dimensions NumPy's rules make a "python scalar" or a
    "0-d array" of some. What NumPy has in column-major ``order`` is transposed as a result of the module.
    """

    kind: str  # "result", "python scalar", "0-d array", "argument", "outside" or "value"
    index: int = 0
    value: Any = None
    order: str = "C"
    steps: Steps = ()

    @property
    def known_value(self) -> Any:
        """The value, an array as a copy: callers may change what they get."""
        return self.value.copy("K") if isinstance(self.value, np.ndarray) else self.value


class Effect(NamedTuple):
    """Something that is set outside behind each call: how, where, and which of the outputs make up the value."""

    how: str  # "write", "append", "contents", "entries" or "delete"
    path: Path
    structure: pytree.Structure
    outputs: slice


@dataclass
class Recording:
    """A traced function: the module and what its parameters and results mean.

    The module's parameters are the ``leaves`` (each once where arguments are the same object) and the captured arrays; its
    results are those that ``outputs`` count, then the new contents of the arguments ``mutated`` and of the captured arrays
    ``mutated_captures``, then, if there are ``error_messages``, the error code. The first outputs, ``out_count`` of them, are
    the leaves of what the function returns, the others those of ``effects``. ``guards`` have to hold at a call. The program
    calls ``host_functions``, and takes random numbers of the ``generators`` at these paths. Outputs and effects need the
    arguments ``containers``. It ``compares_arrays`` where it asks whether two of the caller's are one. ``unrolled_loops`` says
    by file and line how, and why, a loop is none of the program. ``changes_before_errors``: sides of branches that raise change
    something before, which no result shows.
    """

    module: hlo.Module
    leaves: list[TracedLeaf]
    captures: list[Capture]
    out_structure: pytree.Structure
    outputs: list[Output]
    result_count: int
    mutated: list[int]
    mutated_captures: list[int]
    error_messages: list[ErrorMessage] = field(default_factory=list)
    out_count: int = 0
    effects: list[Effect] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    host_functions: list[HostFunction] = field(default_factory=list)
    generators: list[Path] = field(default_factory=list)
    containers: frozenset[str] = frozenset()
    compares_arrays: bool = False
    unrolled_loops: dict[tuple[str, int], str] = field(default_factory=dict)
    changes_before_errors: bool = False
    trace_seconds: float = 0.0

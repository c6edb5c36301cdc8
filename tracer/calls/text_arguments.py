"""Texts among the arguments that are others at each call: they are inputs, whose characters the program reads when it runs.

At first a text is static, as its value may say what is to be done. Where a place has had other texts it is *open*: its
characters are a part of one array for each argument, a parameter of the program.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import hlo
from ..outside.entries import codes_of
from ..recording import pytree
from .leaves import Leaf, PackedLeaf, TextLeaf

if TYPE_CHECKING:
    from .arguments import Call

# So many are compiled for before a place is opened: a text may be one of a few names of what is to be done.
_MOST_STATIC = 2
_LEAST_ROOM = 64  # characters
_ELEMENT = "[]"
_MOST_NOTED = 64  # calls
# The most instructions of a program that reads its texts when it runs, beside those of programs that know them. What is larger
# takes longer to compile than many of these.
_MOST_OF_KNOWN, _MOST_BESIDE = 8, 10_000


class TextArguments:
    """At which places of one function's arguments texts are open. The elements of a list are one place: ``words[]``."""

    def __init__(self) -> None:
        self.places: frozenset[str] = frozenset()
        self._closed: frozenset[str] = frozenset()  # as the function needs to know them
        self._calls: deque[dict[str, int]] = deque(maxlen=_MOST_NOTED)  # hashes of the texts at each place
        self._room: dict[str, int] = {}
        self._of_known = 0  # instructions of the largest program in which none was open

    def __bool__(self) -> bool:
        return bool(self.places)

    def clear(self) -> None:
        """Forget what texts there have been."""
        self.places = self._closed = frozenset()
        self._calls.clear()
        self._room.clear()
        self._of_known = 0

    def begin_again(self) -> None:
        """Other arguments come to have texts from now on: which ones differ where those are the same is to be seen."""
        self.places = frozenset()
        self._calls.clear()

    def of(self, name: str, structure: pytree.Structure, leaves: Sequence[Any]) -> list[int]:
        """Which of the leaves of an argument are texts at open places."""
        return [number for number, place in _texts(name, structure, leaves) if place in self.places]

    def room(self, name: str, texts: Iterable[str]) -> int:
        """How many characters all open texts of an argument together may have, these among them."""
        needed, found = sum(map(len, texts)), self._room.get(name, 0)
        if needed > found or not found:
            found = self._room[name] = max(_LEAST_ROOM, 1 << (2 * needed - 1).bit_length())
        return found

    def note(self, call: Call) -> str:
        """Takes down the texts of a call that is to be compiled for, and opens places that have had others; says which."""
        if not (texts := _by_place(call)):
            return ""
        self._calls.append({place: hash(tuple(found)) for place, found in texts.items()})
        new = [place for place in texts if place not in self.places | self._closed and self._has_had_others(place)]
        self.places |= {*new}
        return "; ".join([f"argument {place}: texts are inputs from now on, as there have been several" for place in new])

    def _has_had_others(self, place: str) -> bool:
        """Whether it had several texts beside the same ones at the closed places, which are compiled for in any case."""
        seen: dict[Any, set[int]] = {}
        for one in self._calls:
            if place in one:
                seen.setdefault(tuple([one.get(closed) for closed in self._closed]), set()).add(one[place])
        return any(len(texts) > _MOST_STATIC for texts in seen.values())

    def close(self, call: Call, names: Collection[str] = ()) -> bool:
        """Let the open texts of these arguments of a call, or of all, be static for good; whether there are any."""
        found = self.places.intersection(_by_place(call, names)) or self.places.intersection(_by_place(call))
        self._closed |= found
        self.places = frozenset([place for place in self.places - found if self._has_had_others(place)])
        return bool(found)

    def make_too_long(self, call: Call, module: hlo.Module) -> bool:
        """Whether the program of a call has more instructions than its open texts are worth."""
        if not self._calls:  # there have been none
            return False
        instructions = module.instruction_count()
        if not call.open_texts():
            self._of_known = max(self._of_known, instructions)
            return False
        return bool(self._of_known) and instructions > _MOST_OF_KNOWN * self._of_known + _MOST_BESIDE

    def state(self) -> tuple[frozenset[str], frozenset[str]]:
        """What `put_back` takes to undo `close`."""
        return self.places, self._closed

    def put_back(self, state: tuple[frozenset[str], frozenset[str]]) -> None:
        self.places, self._closed = state


def _by_place(call: Call, names: Collection[str] = ()) -> dict[str, list[str]]:
    """The texts of a call, or of these arguments of it, by their places."""
    found: dict[str, list[str]] = {}
    for one in call.arguments:
        if one.name not in call.reader.static_names and (not names or one.name in names):
            for number, place in _texts(one.name, one.structure, one.leaves):
                found.setdefault(place, []).append(one.leaves[number])
    return found


def _texts(name: str, structure: pytree.Structure, leaves: Sequence[Any]) -> list[tuple[int, str]]:
    """Which of the leaves of an argument are texts, and their places."""
    if str not in map(type, leaves):
        return []
    return [(number, place) for number, place in enumerate(_places(structure, name)) if type(leaves[number]) is str]


def _places(structure: pytree.Structure, prefix: str) -> Iterator[str]:
    """The place of each leaf: as `pytree.leaf_paths` has it, but for the elements of lists, which are one."""
    if structure is pytree.LEAF:
        yield prefix
        return
    is_list = structure[0] is list
    for label, child in zip(pytree.child_labels(structure), structure[2]):
        yield from _places(child, prefix + (_ELEMENT if is_list else label))


def pack_of_texts(name: str, begin: int, leaves: list[Leaf]) -> Iterator[PackedLeaf]:
    """The one parameter that the open texts of an argument are, whose leaves are those from ``begin`` on, if there are some."""
    members = [(number, leaf.path) for number, leaf in enumerate(leaves[begin:], begin) if isinstance(leaf, TextLeaf)]
    if members:
        room = leaves[members[0][0]].room
        shape = hlo.Shape(hlo.S32, (2 * len(members) + room,))
        yield PackedLeaf(name, shape, "texts", partial(characters, room), members=tuple(members))


def characters(room: int, texts: Sequence[str]) -> np.ndarray:
    """For each text where its characters begin, and how many there are; behind them the characters of all.

    >>> characters(5, ["ab", "", "c"]).tolist()
    [0, 2, 2, 0, 2, 1, 97, 98, 99, 0, 0]
    """
    found = np.zeros(2 * len(texts) + room, np.int32)
    lengths = np.fromiter(map(len, texts), np.int32, len(texts))
    ends = np.cumsum(lengths)
    found[0 : 2 * len(texts) : 2] = ends - lengths
    found[1 : 2 * len(texts) : 2] = lengths
    codes = codes_of("".join(texts))
    found[2 * len(texts) : 2 * len(texts) + len(codes)] = codes
    return found

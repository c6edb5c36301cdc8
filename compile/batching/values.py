"""What a value of a loop's body is in all rounds at once."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...hlo import Instruction
from ..loop_state import Progression


class NotBatchedError(Exception):
    """The rounds need one another, or hold an operation that is not known here. Says which."""


class Fixed(NamedTuple):
    """The same in each round."""

    instruction: Instruction


class Varying(NamedTuple):
    """Row k is the value in round k; an integer scalar may be known to be ``start + step * k``."""

    instruction: Instruction
    progression: Progression | None = None


class Initial(NamedTuple):
    """The array that is the state's element ``leaf``, as the loop has found it."""

    leaf: int
    instruction: Instruction


class Written(NamedTuple):
    """That array with a block written into it, in round k row k of the update, where the places say."""

    initial: Initial
    places: tuple[Fixed | Varying, ...]
    update: Fixed | Varying


class Carried(NamedTuple):
    """What the last round has left: nothing can be computed of it."""

    leaf: int


class Read(NamedTuple):
    """A round reads a block of the array ``leaf`` as the loop has found it, beginning at these places."""

    leaf: int
    places: tuple[Fixed | Varying, ...]


Value = Any  # one of these, or a list of values for a tuple

"""What the values of a program are while its plan is written: where they lie, or what they are known to be; and its loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...hlo import Instruction, Shape, make_instruction
from .plan import Copy, Place, Step, While


@dataclass(frozen=True, eq=False)
class Stored:
    """An array or scalar in the device's memory."""

    place: Place
    shape: Shape


@dataclass(frozen=True, eq=False)
class Known:
    """A scalar that the program says."""

    instruction: Instruction

    @property
    def shape(self) -> Shape:
        return self.instruction.shape

    @property
    def number(self) -> bytes:
        return self.instruction.attributes["literal"].tobytes()


def known_scalar(value: Any, shape: Shape) -> Known:
    """A scalar of this value and shape."""
    return Known(make_instruction("constant", (), {"literal": np.asarray(value, shape.dtype)}, shape))


# None stands for a token.
Leaf = Stored | Known | None
Values = dict[Instruction, list[Leaf]]


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop of the plan as it was written: what stands ``before`` it for its sake, somewhere, and right ``after`` it.

    ``is_odd``: a byte that says whether an odd number of rounds has run, where the body swaps pointers. ``state``: the leaves
    of the ``instruction``'s state, as a round finds them.
    """

    instruction: Instruction
    state: tuple[Leaf, ...]
    step: While
    before: list[Step]
    after: list[Copy]
    is_odd: Place | None
    source: object

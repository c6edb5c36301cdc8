"""The ways on which control may leave a block. None stands for its end."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..recording.array import TracedArray
from .places import UNBOUND


class Jump:
    """A break or a continue; there is one object for each."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


BREAK, CONTINUE = Jump("break"), Jump("continue")


class Return:
    """A return statement with its value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


# What stands for the ways where the program decides between them.
END_CODE, BREAK_CODE, CONTINUE_CODE, RETURN_CODE = range(4)


class Mixed:
    """A way that the program decides on: its code, those that it can be, and what is returned where one of them returns."""

    __slots__ = ("code", "possible", "value")

    def __init__(self, code: TracedArray, possible: frozenset[int], value: Any) -> None:
        self.code, self.possible, self.value = code, possible, value

    def without(self, *codes: int) -> Mixed:
        """This way where it is known to be none of these."""
        return Mixed(self.code, self.possible.difference(codes), self.value)


def code_of(outcome: Any) -> int | TracedArray:
    if isinstance(outcome, Mixed):
        return outcome.code
    return {None: END_CODE, BREAK: BREAK_CODE, CONTINUE: CONTINUE_CODE}.get(outcome, RETURN_CODE)


def possible_codes(outcome: Any) -> frozenset[int]:
    return outcome.possible if isinstance(outcome, Mixed) else frozenset([code_of(outcome)])


def returned_value(outcome: Any) -> Any:
    return outcome.value if isinstance(outcome, (Return, Mixed)) else UNBOUND


def returning(outcome: Any, value: Any) -> Any:
    """The way with this value, where it is one on which a value is returned."""
    if isinstance(outcome, Mixed):
        return Mixed(outcome.code, outcome.possible, value)
    return Return(value) if isinstance(outcome, Return) else outcome


def outcome_of(code: TracedArray, possible: frozenset[int], value: Any) -> Any:
    """The way with this code, a plain one where there is but one."""
    if len(possible) > 1:
        return Mixed(code, possible, value)
    (only,) = possible
    return (None, BREAK, CONTINUE, Return(value))[only]


def without_continue(outcome: Any) -> Any:
    """The code of the way behind a round, where to go on with the next round is to come to its end."""
    code = code_of(outcome)
    if isinstance(code, int):
        return END_CODE if code == CONTINUE_CODE else code
    if CONTINUE_CODE not in possible_codes(outcome):
        return code
    return np.where(code == CONTINUE_CODE, END_CODE, code)[()]

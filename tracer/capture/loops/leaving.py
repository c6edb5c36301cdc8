"""Loops that may be left early: what follows a round, and the way on which control goes on behind the loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...recording.array import TracedArray
from ..branches import decide
from ..outcomes import BREAK_CODE, CONTINUE_CODE, END_CODE, Mixed, possible_codes
from ..places import Names
from .trials import Block


def may_go_on(outcome: Any) -> bool:
    return not possible_codes(outcome).isdisjoint((END_CODE, CONTINUE_CODE))


def may_leave(outcome: Any) -> bool:
    return not possible_codes(outcome) <= {END_CODE, CONTINUE_CODE}


def if_it_goes_on(outcome: Mixed, remaining: Block, names: Names, sharing: Sequence[Block | None]) -> Any:
    """The remaining rounds, unless this one has left the loop; the way behind it."""
    return behind_loop(unless_left(outcome, remaining, names, sharing))


def unless_left(outcome: Mixed, remaining: Block, names: Names, sharing: Sequence[Block | None]) -> Any:
    rest = outcome.without(END_CODE, CONTINUE_CODE)
    return decide(is_one_of(outcome, END_CODE, CONTINUE_CODE), (remaining, lambda: rest), names, sharing)


def is_one_of(outcome: Mixed, *codes: int) -> TracedArray:
    test = None
    for code in codes:
        if code in outcome.possible:
            equal = outcome.code == code
            test = equal if test is None else test | equal
    return outcome.code == END_CODE if test is None else test


def behind_loop(outcome: Any) -> Any:
    """The way behind a loop that was left in this way: a break ends at the loop."""
    possible = possible_codes(outcome)
    if BREAK_CODE in possible:
        if not isinstance(outcome, Mixed):
            return None
        code = np.where(outcome.code == BREAK_CODE, END_CODE, outcome.code)
        possible = possible - {BREAK_CODE} | {END_CODE}
        return Mixed(code[()], possible, outcome.value) if len(possible) > 1 else None
    return outcome


def ended(outcome: Any, body: Block, orelse: Block | None, names: Names) -> Any:
    """The way behind a loop that came to its end, or was left, in this way."""
    if orelse is None:
        return behind_loop(outcome)
    if not isinstance(outcome, Mixed):
        return orelse() if outcome is None else behind_loop(outcome)
    rest = outcome.without(END_CODE)
    return behind_loop(decide(is_one_of(outcome, END_CODE), (orelse, lambda: rest), names, (body, orelse)))

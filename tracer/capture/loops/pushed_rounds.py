"""Generators that loops and with statements go over to their ends: the rounds become part of the generator."""

from __future__ import annotations

from typing import Any

from ...recording.array import TracedArray
from ..choices import Maybe
from ..journals import note_nonlocal, own_variables
from ..outcomes import (
    CONTINUE_CODE,
    END_CODE,
    RETURN_CODE,
    code_of,
    outcome_of,
    possible_codes,
    returned_value,
    without_continue,
)
from ..places import UNBOUND, Names, local_names
from .generators import TracedGenerator
from .leaving import ended
from .trials import Block


def over_generator(generator: TracedGenerator, body: Block, orelse: Block | None, names: Names) -> Any:
    """The rounds are part of the generator; its loops and branches carry what they change."""
    dead = local_names((body,), names[1])

    def round_(item: Any) -> Any:
        outcome = body(item)
        for place in dead:
            place.set(UNBOUND)
        return outcome

    for place in dead:
        place.set(UNBOUND)
    outcome = _pushed(generator, body, round_, is_loop=True)
    return ended(outcome, body, orelse, names)


def around_yield(generator: TracedGenerator, block: Block) -> Any:
    """What stands in a with statement is part of the generator that its manager is made of: the way out of it."""
    return _pushed(generator, block, block, is_loop=False)


def _pushed(generator: TracedGenerator, block: Block, run: Block, is_loop: bool) -> Any:
    """The way out of what is done with the values of a generator, which ends where a loop does."""
    way: Any = END_CODE
    value: Any  # unbound until a round returns something
    possible: set[int] = {END_CODE}

    def take(item: Any) -> Any:
        nonlocal way, value
        note_nonlocal(block)
        note_nonlocal(lambda: (way, value))
        outcome = run(item)
        found = possible_codes(outcome) - ({END_CODE, CONTINUE_CODE} if is_loop else {END_CODE})
        if not found:
            return False
        possible.update(found)
        way, value = (without_continue if is_loop else code_of)(outcome), returned_value(outcome)
        return is_loop and way != END_CODE

    with own_variables(block, lambda: (way, value)):
        generator.push(take)
    codes = frozenset(possible) if isinstance(way, TracedArray) else frozenset([way])
    returned = value if RETURN_CODE in codes else UNBOUND
    returned = returned.value if type(returned) is Maybe and returned.absent is UNBOUND else returned
    return outcome_of(way, codes, returned)

"""Arguments that a caller gives up: a result takes the memory of one, where the plan would copy it there to change the copy."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ...hlo import Shape
from .plan import Copy, HostCall, Place, Plan, Point, inside, places_of


def results_in_place(plan: Plan, parameters: Sequence[Shape], results: Sequence[Shape]) -> dict[int, int]:
    """For each result that an argument is copied to as a whole, and that may be this argument's memory: the argument's number.

    Nothing has written to the result before, and nothing reads the argument behind it. A plan in which the host takes part may
    end before its end, and has none: its arguments have to be as they were.
    """
    if any(isinstance(step, HostCall) for step in inside(plan.steps)):
        return {}
    found: dict[int, int] = {}
    for number, step in enumerate(plan.steps):
        if not isinstance(step, Copy) or (step.source.region, step.target.region) != ("argument", "result"):
            continue
        argument, result = step.source.number, step.target.number
        before, behind = plan.steps[:number], plan.steps[number + 1 :]
        is_whole = parameters[argument] == results[result] and step.size == results[result].byte_size
        is_pointed_to = any(isinstance(one, Point) and step.source in one.places for one in inside(before))
        if is_whole and not is_pointed_to and step.target not in places_of(before) and step.source not in places_of(behind):
            found[result] = argument
    return found


def with_arguments_given_up(plan: Plan, found: dict[int, int], given_up: Collection[int]) -> tuple[Plan, dict[int, int]]:
    """The plan where these arguments are given up, of those that `results_in_place` has found; and which results are these."""
    taken = {result: argument for result, argument in found.items() if argument in given_up}
    left_out = {(Place("result", result), Place("argument", argument)) for result, argument in taken.items()}
    steps = [step for step in plan.steps if not isinstance(step, Copy) or (step.target, step.source) not in left_out]
    return replace(plan, steps=steps), taken

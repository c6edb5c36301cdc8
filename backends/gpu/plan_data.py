"""Plans in JSON's types, for other processes.

A step is a list: its kind, then its fields; a place is its region and number. Lines of the user, and instructions that the host
evaluates, are numbers in the program.

>>> from .plan import Plan
>>> steps = [Launch("add", (4, 1, 1), (256, 1, 1), (Place("argument", 0), Place("result", 0)))]
>>> data = steps_data(steps, lambda source: None, lambda instruction: 0)
>>> data
[['launch', 'add', (4, 1, 1), (256, 1, 1), [('argument', 0), ('result', 0)], 0, None]]
>>> steps_of(data, lambda number: None, []) == steps
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...hlo import Instruction
from .plan import Advance, Conditional, Copy, Fill, HostCall, Launch, Place, Point, Step, While


def steps_data(
    steps: Iterable[Step], number_of_source: Callable[[Any], int | None], number_of_call: Callable[[Instruction], int]
) -> list[Any]:
    """The steps; the instructions of launches are left out."""

    def data(step: Step) -> list[Any]:
        match step:
            case Launch():
                source = number_of_source(step.source)
                return ["launch", step.kernel, step.grid, step.block, _places(step.arguments), step.shared_bytes, source]
            case Copy():
                return ["copy", _place(step.target), _place(step.source), step.size]
            case Fill():
                return ["fill", _place(step.target), step.byte, step.size]
            case HostCall():
                return ["call", number_of_call(step.instruction), _places(step.operands), _places(step.results)]
            case Point():
                return ["point", step.numbers, _places(step.places)]
            case Advance():
                return ["advance", step.numbers, step.size]
            case While():
                last = step.last and data(step.last)
                body = [data(one) for one in step.body]
                return ["while", body, _place(step.predicate), step.trips, step.runs_ahead, _place(step.is_odd), last]
            case Conditional():
                branches = [[data(one) for one in branch] for branch in step.branches]
                return ["branch", _place(step.selector), step.is_predicate, branches]

    return [data(step) for step in steps]


def steps_of(found: Iterable[Any], source_of: Callable[[int], Any], calls: Sequence[Instruction]) -> list[Step]:
    """The steps that `steps_data` has given this for."""

    def step(data: Sequence[Any]) -> Step:
        kind, *fields = data
        match kind, fields:
            case "launch", [kernel, grid, block, arguments, shared_bytes, source]:
                line = None if source is None else source_of(source)
                return Launch(kernel, tuple(grid), tuple(block), _places_of(arguments), shared_bytes, line)
            case "copy", [target, source, size]:
                return Copy(Place(*target), Place(*source), size)
            case "fill", [target, byte, size]:
                return Fill(Place(*target), byte, size)
            case "call", [number, operands, results]:
                return HostCall(calls[number], _places_of(operands), _places_of(results))
            case "point", [numbers, places]:
                return Point(tuple(numbers), _places_of(places))
            case "advance", [numbers, size]:
                return Advance(tuple(numbers), size)
            case "while", [body, predicate, trips, runs_ahead, is_odd, last]:
                inside, end = [step(one) for one in body], last and step(last)
                return While(inside, _place_of(predicate), trips, runs_ahead, _place_of(is_odd), end)
            case "branch", [selector, is_predicate, branches]:
                return Conditional(Place(*selector), is_predicate, [[step(one) for one in branch] for branch in branches])
        raise ValueError(f"{kind!r} is no step of a plan")

    return [step(one) for one in found]


def _place(place: Place | None) -> tuple[str, int] | None:
    return place and (place.region, place.number)


def _places(places: Iterable[Place]) -> list[Any]:
    return [_place(place) for place in places]


def _place_of(data: Sequence[Any] | None) -> Place | None:
    return data and Place(*data)


def _places_of(data: Iterable[Sequence[Any]]) -> tuple[Place, ...]:
    return tuple([Place(*one) for one in data])

"""Elements that a loop writes and soon reads again are carried from one round to the next, in registers.

Before: for i in range(1, n): y[i] = a * y[i - 1] + x[i]        (each round waits for what the last one has written to memory)
After: last = y[0]; for i in range(1, n): last = a * last + x[i]; y[i] = last
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from .. import hlo
from ..hlo import Computation, Instruction
from .loop_state import (
    built_for,
    computed_outside,
    is_state,
    is_the_same,
    places_inside,
    stays,
    with_loops_replaced,
    with_more_state,
)
from .pass_manager import module_pass
from .traversal import of_each_computation
from .trip_count import TripCount, known_trip_count, loop_invariant_elements

# What was written more rounds ago is read from memory: it has long been there.
_MOST_ROUNDS_AGO = 4


class _Write(NamedTuple):
    """An array of the state in which each round writes one element, ``step`` behind the last one in dimension ``along``.

    ``stages`` are the array before and after it has been written, once or several times.
    """

    update: Instruction
    stages: tuple[Instruction, ...]
    along: int
    start: int
    step: int

    @property
    def array(self) -> Instruction:
        return self.stages[-1]

    @property
    def places(self) -> tuple[Instruction, ...]:
        return self.update.operands[2:]


@module_pass("carry-written-elements")
@of_each_computation()
def carry_written_elements(computation: Computation) -> Computation:
    """Replaces what a while loop reads of an array's elements that it has written a few rounds ago by state of its own.

    The loop counts, its number of rounds is known, each round writes one element of the array, and no place lies outside.
    """
    return with_loops_replaced(computation, _carrying)


def _carrying(loop: Instruction) -> Instruction | None:
    trips, init, body = known_trip_count(loop), loop.operands[0], loop.attributes["body"]
    if trips is None or not trips.count or init.opcode != "tuple" or body.root.opcode != "tuple":
        return None
    unchanging = loop_invariant_elements(loop)
    initial: list[Instruction] = []
    written: dict[int, Instruction] = {}  # by the number of the element that holds what was written in the last round
    replaced = {}
    for leaf, update in enumerate(body.root.operands):
        write = _write(update, leaf, trips, unchanging)
        if write is None:
            continue
        rounds = {one: ago for one in body.instructions if (ago := _rounds_ago(one, write, trips))}
        before = [_before(write, ago, init) for ago in range(1, 1 + max(rounds.values(), default=0))]
        if not before or None in before:
            continue
        for read, ago in rounds.items():
            replaced[read] = partial(_as_read, read, len(initial) + ago - 1)
        written[len(initial)] = update.operands[1]
        initial += before

    def following(elements: Sequence[Instruction], rebuilt: Mapping[Instruction, Instruction]) -> list[Instruction]:
        with built_for(loop):
            return [
                hlo.reshape(rebuilt[written[number]], ()) if number in written else elements[number - 1]
                for number in range(len(elements))
            ]

    return with_more_state(loop, initial, replaced, following) if replaced else None


def _as_read(read: Instruction, number: int, elements: Sequence[Instruction], operands: Sequence[Instruction]) -> Instruction:
    with built_for(read):
        return hlo.reshape(elements[number], read.shape.dimensions)


def _write(update: Instruction, leaf: int, trips: TripCount, unchanging: set[int]) -> _Write | None:
    if update.opcode != "dynamic-update-slice" or update.operands[1].shape.size != 1:
        return None
    _, _, *places = update.operands
    stages = [update]
    while (array := stages[-1].operands[0]).opcode == "dynamic-update-slice" and _writes_at(array, places):
        stages.append(array)
    if not (is_state(array) and array.attributes["index"] == leaf):
        return None
    moving = [dimension for dimension, place in enumerate(places) if not stays(place, unchanging)]
    if len(moving) != 1:
        return None
    (along,) = moving
    found = places_inside(places[along], array.shape.dimensions[along], trips)
    return _Write(update, (*stages, array), along, *found) if found is not None and found[1] else None


def _rounds_ago(read: Instruction, write: _Write, trips: TripCount) -> int | None:
    """How many rounds ago the element that is read has been written; None where this is not so in each round but the first."""
    if read.opcode != "dynamic-slice" or read.shape.size != 1 or read.operands[0] not in write.stages:
        return None
    places = read.operands[1:]
    if any(not is_the_same(one, other) for d, (one, other) in enumerate(zip(places, write.places)) if d != write.along):
        return None
    found = places_inside(places[write.along], write.array.shape.dimensions[write.along], trips)
    if found is None or found[1] != write.step or (write.start - found[0]) % write.step:
        return None
    ago = (write.start - found[0]) // write.step
    return ago if 1 <= ago <= _MOST_ROUNDS_AGO else None


def _writes_at(update: Instruction, places: Sequence[Instruction]) -> bool:
    return update.operands[1].shape.size == 1 and all(map(is_the_same, update.operands[2:], places))


def _before(write: _Write, ago: int, init: Instruction) -> Instruction | None:
    """Outside of the loop: the element that lies where a round so long before the first would have written."""
    with built_for(write.update):
        places = [computed_outside(place, init) for place in write.places]
        type_of_places = write.places[write.along].shape.element_type
        places[write.along] = hlo.constant(write.start - write.step * ago, type_of_places)
        array = init.operands[write.array.attributes["index"]]
        return hlo.reshape(hlo.dynamic_slice(array, *places, sizes=(1,) * array.shape.rank), ())

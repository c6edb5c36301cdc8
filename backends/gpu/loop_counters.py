"""Counters of loops whose trip count is known: the plan counts, and kernels read what the counter is from a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compile.trip_count import TripCount
from ...hlo import Instruction, Shape
from .frame import Frame
from .plan import Advance, Place, Point
from .values import Known, Stored, known_scalar

_LONGEST_TABLE = 1 << 16  # rounds
_APART = 16  # bytes


@dataclass(frozen=True)
class Counter:
    """A counter that no kernel computes: ``leaf`` of the state, and the instruction of the body that advances it.

    ``now`` and ``following`` are what it is in a round, and after it: pointers into a table; None where nothing reads them.
    """

    leaf: int
    update: Instruction
    now: Stored | None
    following: Stored | None
    table: Stored | None
    last: Known

    def point(self) -> list[Point]:
        """What comes before the loop."""
        if self.table is None:
            return []
        place = self.table.place
        return [Point(self._pointers, (place, Place(place.region, place.number + _APART)))]

    def advance(self) -> list[Advance]:
        """What comes at the end of a round."""
        return [] if self.table is None else [Advance(self._pointers, _APART)]

    @property
    def _pointers(self) -> tuple[int, int]:
        assert self.now is not None and self.following is not None
        return self.now.place.number, self.following.place.number


def counter_of(frame: Frame, loop: Instruction, trips: TripCount | None) -> Counter | None:
    """The counter of a loop, unless kernels have to count.

    Those of processors do where they read it, as they run most loops in one kernel: it is in a register there, and the driver's
    compiler knows what it may be.
    """
    if trips is None:
        return None
    update = loop.attributes["body"].root.operands[trips.index]
    is_read = _is_read(loop, trips.index, update)
    if is_read and (frame.target.processor is not None or trips.count > _LONGEST_TABLE):
        return None
    leaf, shape = loop.shape.leaf_offsets[trips.index], update.shape
    last = _numbers(trips, shape, np.uint64(trips.count))
    known = known_scalar(last, shape)
    if not is_read:
        return Counter(leaf, update, None, None, None, known)
    numbers = _numbers(trips, shape, np.arange(trips.count + 1, dtype=np.uint64))
    # Each is where an argument of a kernel may be.
    apart = np.zeros((len(numbers), _APART // shape.byte_size), shape.dtype)
    apart[:, 0] = numbers
    table = frame.constant(apart, shape.with_dimensions(apart.shape))
    now, following = Stored(frame.pointer(), shape), Stored(frame.pointer(), shape)
    return Counter(leaf, update, now, following, table, known)


def _numbers(trips: TripCount, shape: Shape, rounds: np.ndarray | np.uint64) -> np.ndarray:
    """What the counter is before so many rounds."""
    with np.errstate(over="ignore"):
        bits = rounds * np.uint64(trips.step % 2**64) + np.uint64(trips.start % 2**64)
    return np.asarray(np.asarray(bits).view(np.int64).astype(shape.dtype))


def _is_read(loop: Instruction, index: int, update: Instruction) -> bool:
    """Whether the body does anything with the counter but advance it."""
    body = loop.attributes["body"]
    parameter = body.parameters[0]
    counts = {one for one in body.instructions if one.operands == (parameter,) and one.attributes.get("index") == index}
    for instruction in body.instructions:
        if instruction is body.root:
            if [place for place, operand in enumerate(instruction.operands) if operand is update or operand in counts] != [
                index
            ]:
                return True
        elif any(operand is update or (operand in counts and instruction is not update) for operand in instruction.operands):
            return True
        elif parameter in instruction.operands and instruction.opcode != "get-tuple-element":
            return True
    return False

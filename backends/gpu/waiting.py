"""What waits to be computed by one thread: scalars, and elements that are written into arrays, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from ...hlo import Instruction
from ..llvm.arrays import Array
from ..llvm.elemental import Binding
from ..llvm.types import RegisterValue

if TYPE_CHECKING:
    from .values import Known, Stored

# From the values of operands, and the arrays that are written, to the values of results, of scalars.
EmitWaiting = Callable[[ir.IRBuilder, list[Binding], list[Array]], list[RegisterValue]]


@dataclass(frozen=True, eq=False)
class Waiting:
    """Scalars that are to be computed, from ``inputs`` into ``outputs``, and arrays of which elements are ``written``; all
    of what an ``instruction`` does, if any.
    """

    key: Any
    inputs: tuple[Stored | Known, ...]
    outputs: tuple[Stored, ...]
    written: tuple[Stored, ...]
    emit: EmitWaiting
    instruction: Instruction | None = None

    @property
    def arrays(self) -> list[Stored]:
        return [one for one in (*self.inputs, *self.written) if one.shape.rank]


def may_wait_together(waiting: Iterable[Waiting], one: Waiting) -> bool:
    """Whether a kernel may do one more thing, which is given memory that nothing else changes meanwhile: arrays that are not in
    use at the same time may lie in the same memory.
    """
    for other in waiting:
        if any([_overlap(array, written) for array in one.arrays for written in other.written]):
            return False
        if any([_overlap(array, written) for array in other.arrays for written in one.written]):
            return False
    return True


def _overlap(left: Stored, right: Stored) -> bool:
    """Whether arrays may have bytes in common, other than by being the same."""
    if left.place == right.place:
        return False
    if "moving" in (left.place.region, right.place.region):
        return True
    first, second = sorted([left, right], key=lambda one: one.place.number)
    is_memory = first.place.region == second.place.region == "temporary"
    return is_memory and first.place.number + first.shape.byte_size > second.place.number


def are_stored(waiting: Sequence[Waiting], users: Mapping[Instruction, Sequence[Instruction | None]]) -> list[bool]:
    """For each of these whether others than those behind it need its results."""
    last = {one.instruction: number for number, one in enumerate(waiting)}

    def is_stored(one: Waiting) -> bool:
        if one.instruction is None or one.instruction not in users:
            return True
        return any([user is None or last.get(user, -1) <= last[one.instruction] for user in users[one.instruction]])

    return list(map(is_stored, waiting))

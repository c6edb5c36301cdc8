"""What a fused computation writes with steps between, as of ``x[::3] = y``: ``select(pad(true), pad(value), array)``."""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from ..hlo import Computation, Instruction, make_instruction
from ..hlo.operation import ELEMENTWISE


class SpreadUpdate(NamedTuple):
    """``value`` is written over elements of the parameter ``array``: the first ones of dimensions, and steps in these.

    ``number`` is the scalar that all elements of the value are, if that is seen: the value may stand outside of the computation
    then.
    """

    array: Instruction
    value: Instruction
    number: Instruction | None
    starts: tuple[int, ...]
    steps: tuple[int, ...]

    def ranges(self) -> list[range]:
        """The places in each dimension that are written."""
        return [range(*one) for one in zip(self.starts, self._ends(), self.steps)]

    def _ends(self) -> list[int]:
        return [start + step * size for start, step, size in zip(self.starts, self.steps, self.value.shape.dimensions)]


def spread_update_of(computation: Computation) -> SpreadUpdate | None:
    """What a computation of one result writes with steps, if it does nothing else."""
    root = computation.root
    if not writes_with_steps(root) or root.operands[2].opcode != "parameter":
        return None
    mask, given, array = root.operands
    padding = mask.attributes["padding"]
    if given.opcode == "pad" and given.attributes["padding"] == padding:
        value = given.operands[0]
        number = _scalar(value)
    else:
        number = _scalar(given)
        if number is None:
            return None
        shape = mask.operands[0].shape.with_element_type(root.shape.element_type)
        value = make_instruction("broadcast", (number,), {"dimensions": ()}, shape)
    starts, steps = tuple(low for low, *_ in padding), tuple(interior + 1 for *_, interior in padding)
    return SpreadUpdate(array, value, number, starts, steps)


def writes_with_steps(instruction: Instruction) -> bool:
    """Whether this is an array but for what is written at steps: ``select(pad(true), value, array)``."""
    if instruction.opcode != "select" or instruction.operands[0].opcode != "pad":
        return False
    mask = instruction.operands[0]
    padding = mask.attributes["padding"]
    if not (_is_constant(mask.operands[0], True) and _is_constant(mask.operands[1], False)):
        return False
    return min(map(min, padding)) >= 0 and any(interior for *_, interior in padding)


def is_written_in_place(computation: Computation, update: SpreadUpdate) -> bool:
    """Whether all that is read of the array is an element where its successor is written, or is not written at all."""
    written, own = update.ranges(), set()
    root = computation.root
    for instruction in computation.instructions:
        if instruction in (root, root.operands[1]):
            continue
        if update.array in instruction.operands:
            if instruction.opcode != "slice":
                return False
            read = [range(*one) for one in instruction.attributes["slice"]]
            if read == written:
                own.add(instruction)
            elif not any(map(_are_apart, read, written)):
                return False
        elif not own.isdisjoint(instruction.operands):
            if ELEMENTWISE not in instruction.operation.traits:
                return False
            own.add(instruction)
    return True


def _are_apart(one: range, other: range) -> bool:
    """Whether two ranges, of positive steps, have no number in common, as far as their ends and steps tell."""
    if not one or not other or one[-1] < other[0] or other[-1] < one[0]:
        return True
    return (one[0] - other[0]) % gcd(one.step, other.step) != 0


def _scalar(instruction: Instruction) -> Instruction | None:
    """The number that all elements are, if that is seen."""
    if instruction.shape.rank == 0:
        return instruction
    return _scalar(instruction.operands[0]) if instruction.opcode == "broadcast" else None


def _is_constant(instruction: Instruction, value: bool) -> bool:
    number = _scalar(instruction)
    return number is not None and number.opcode == "constant" and bool(number.attributes["literal"]) is value

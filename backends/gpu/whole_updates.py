"""Arrays of which nearly all is computed anew are computed as a whole, in one loop, where a block would be written into them.

Before: ``z = broadcast(0); y = dynamic-update-slice(z, block, 1, 1)``, or an update with a block that reads neighbours in the
array, so that it has to be computed beside it: two launches, and more, that pass through memory::

    y = f32[1000,1000] dynamic-update-slice(x, f32[998,998] add(slice(x), ...), 1, 1)

After: one loop, whose elements are those of the block where they lie in it::

    y = select(pad(true, false), pad(add(slice(x), ...), 0), x)

A part of such an array that is written over another one, as a border is over the one beside it, is read where it is:
``gather(y, places)``, whose ``places`` along one dimension are those of the first part where the other one is.

What is written over an array that is there, and not read besides, is left where it lies.
"""

from __future__ import annotations

import numpy as np

from ...compile.pass_manager import Pass
from ...compile.traversal import on_operands, transform_computations, users_of
from ...hlo import PRED, S32, Computation, Instruction, Module, Shape, make_instruction
from ...hlo.attributes import SliceDimension
from .alike_fusion import NAMES
from .fusion_policy import FUSION_POLICY

# Updates of one array, one after the other: each is a comparison more for all elements.
_MOST_UPDATES = 8
# Instructions of a block that are looked at for what it reads.
_MOST_LOOKED_AT = 64


def compute_updates_as_wholes(module: Module) -> Module:
    """Turns updates of arrays that are computed anew into selections."""
    return transform_computations(module, _rewritten)


COMPUTE_UPDATES_AS_WHOLES = Pass("compute-updates-as-wholes", compute_updates_as_wholes)


def _rewritten(computation: Computation) -> Computation:
    if not any(one.opcode == "dynamic-update-slice" for one in computation.instructions):
        return computation
    users = users_of(computation)
    updates: dict[Instruction, int] = {}  # those that are computed as wholes, and how many are one behind the other
    moves: set[Instruction] = set()  # those of them that move a part
    for instruction in computation.instructions:
        if not _may_be_whole(instruction):
            continue
        array, block, *_ = instruction.operands
        others = set(users[array]) - {instruction}
        if updates.get(array, 0) == _MOST_UPDATES or array is computation.root:
            continue
        is_own = others == {block} and users[block] == [instruction] and _is_made_here(array, updates, True)
        if is_own and _moved_dimension(instruction) is not None:
            moves.add(instruction)
        elif not (_is_made_here(array, updates, not others) or _reads_neighbours(instruction)):
            continue
        updates[instruction] = updates.get(array, 0) + 1
    if not updates:
        return computation
    values: dict[Instruction, Instruction] = {}
    made: list[Instruction] = []
    for instruction in computation.instructions:
        operands = tuple([values[operand] for operand in instruction.operands])
        if instruction in moves:
            made += _Written(instruction).moved(operands[0])
        elif instruction in updates:
            made += _Written(instruction).selected(*operands[:2])
        else:
            made.append(on_operands(instruction, operands))
        values[instruction] = made[-1]
        if instruction in updates and instruction not in moves:
            block = instruction.operands[1]
            if len(set(users[block])) > 1 and FUSION_POLICY.is_fusible(block) and block.opcode != "broadcast":
                # What needs the block from here on finds it in the array: it is computed once.
                made.append(_Written(instruction).read(values[instruction]))
                values[block] = made[-1]
    return Computation(computation.name, tuple(made), values[computation.root])


def _may_be_whole(instruction: Instruction) -> bool:
    if instruction.opcode != "dynamic-update-slice" or instruction.shape.dynamic_dimensions:
        return False
    _, update, *starts = instruction.operands
    is_known = all(start.opcode == "constant" for start in starts)
    return is_known and bool(update.shape.size) and max(instruction.shape.dimensions, default=0) < 1 << 31


def _is_made_here(array: Instruction, updates: dict[Instruction, int], is_alone: bool) -> bool:
    """Whether a loop computes an array for the update alone."""
    if array.opcode == "broadcast" and not array.operands[0].shape.rank:
        return True
    return is_alone and (array in updates or FUSION_POLICY.is_fusible(array) and array.opcode not in NAMES)


def _reads_neighbours(instruction: Instruction) -> bool:
    """Whether most of an array is written, and computed from other places of the array than those that are written."""
    array, update, *_ = instruction.operands
    if 2 * update.shape.size < array.shape.size:
        return False
    own = [range(low, low + size) for low, size in zip(_starts(instruction), update.shape.dimensions)]
    pending, seen = [update], {update}
    while pending and len(seen) < _MOST_LOOKED_AT:
        current = pending.pop()
        if not FUSION_POLICY.is_fusible(current):
            continue
        for operand in current.operands:
            if operand is array:
                if current.opcode != "slice" or [range(*one) for one in current.attributes["slice"]] != own:
                    return True
            elif operand not in seen:
                seen.add(operand)
                pending.append(operand)
    return False


def _starts(instruction: Instruction) -> list[int]:
    """Where an update at constant indices begins."""
    array, update, *starts = instruction.operands
    last = [full - size for full, size in zip(array.shape.dimensions, update.shape.dimensions)]
    return [max(0, min(int(start.attributes["literal"]), most)) for start, most in zip(starts, last)]


def _moved_dimension(instruction: Instruction) -> tuple[int, int] | None:
    """The dimension along which an update moves a part of its own array, and how far off it reads; None for any other."""
    array, update, *_ = instruction.operands
    if update.opcode != "slice" or update.operands[0] is not array:
        return None
    taken = update.attributes["slice"]
    moved = [(d, one.start - start) for d, (one, start) in enumerate(zip(taken, _starts(instruction))) if one.start != start]
    return moved[0] if len(moved) == 1 and all(one.stride == 1 for one in taken) else None


class _Written:
    """What is computed instead of an update: the instructions, the result last."""

    def __init__(self, instruction: Instruction) -> None:
        self.instruction = instruction
        array, update, *_ = instruction.operands
        self.sizes = update.shape.dimensions
        self.padding = tuple([
            (low, full - size - low, 0) for low, full, size in zip(_starts(instruction), array.shape.dimensions, self.sizes)
        ])  # fmt: skip
        self.made: list[Instruction] = []

    def selected(self, array: Instruction, update: Instruction) -> list[Instruction]:
        """The update's element where it lies, else the array's."""
        if update.opcode == "broadcast" and not update.operands[0].shape.rank:
            value = self._add("broadcast", (*update.operands,), array.shape, dimensions=())
        else:
            value = self._add("pad", (update, self._scalar(0, update.shape)), padding=self.padding)
        self._add("select", (self._mask(), value, array))
        return self.made

    def read(self, whole: Instruction) -> Instruction:
        """The block where it has been written."""
        places = [SliceDimension(low, low + size) for (low, *_), size in zip(self.padding, self.sizes)]
        return self._add("slice", (whole,), slice=tuple(places))

    def moved(self, array: Instruction) -> list[Instruction]:
        """The array's element from where it is moved."""
        dimension, distance = _moved_dimension(self.instruction) or (0, 0)
        full = array.shape.dimensions
        others = tuple([d for d in range(len(full)) if d != dimension])
        own = self._add("iota", (), Shape(S32, full), iota_dimension=dimension)
        far = self._add("broadcast", (self._scalar(distance, own.shape),), own.shape, dimensions=())
        places = self._add("select", (self._mask(), self._add("add", (own, far)), own))
        self._add(
            "gather", (array, places), offset_dims=(), collapsed_slice_dims=(dimension,), start_index_map=(dimension,),
            operand_batching_dims=others, start_indices_batching_dims=others, index_vector_dim=len(full),
            slice_sizes=(1,) * len(full), indices_are_sorted=False,
        )  # fmt: skip
        return self.made

    def _mask(self) -> Instruction:
        of_block = Shape(PRED, self.sizes)
        written = self._add("broadcast", (self._scalar(True, of_block),), of_block, dimensions=())
        return self._add("pad", (written, self._scalar(False, of_block)), padding=self.padding)

    def _scalar(self, value: object, shape: Shape) -> Instruction:
        return self._add("constant", (), shape.with_dimensions(()), literal=np.asarray(value, shape.dtype))

    def _add(
        self, opcode: str, operands: tuple[Instruction, ...], shape: Shape | None = None, **attributes: object
    ) -> Instruction:
        self.made.append(make_instruction(opcode, operands, attributes, shape, source=self.instruction.source))
        return self.made[-1]

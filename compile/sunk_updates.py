"""A block of an array that each round of a loop writes in one place is state of its own, and written once behind the loop.

Before: for k in range(n): c[i, j] += a[i, k] * b[k, j]
After: sum = c[i, j]; for k in range(n): sum += a[i, k] * b[k, j]; c[i, j] = sum
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from .. import hlo
from ..hlo import Computation, Instruction
from .loop_state import built_for, computed_outside, is_state, is_the_same, stays, with_loops_replaced, with_more_state
from .pass_manager import module_pass
from .traversal import of_each_computation, users_of
from .trip_count import loop_invariant_elements


class _Block(NamedTuple):
    """What each round writes, and all that it reads of the array before."""

    leaf: int
    update: Instruction
    reads: list[Instruction]

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.update.operands[1].shape.dimensions

    @property
    def state_sizes(self) -> tuple[int, ...]:
        """Without dimensions of size 1: a single element is a scalar."""
        return tuple(size for size in self.sizes if size != 1)


@module_pass("sink-loop-updates")
@of_each_computation()
def sink_loop_updates(computation: Computation) -> Computation:
    """Moves what while loops write into one place of an array behind them.

    The place never changes, and the loop uses no other part of the array.
    """
    return with_loops_replaced(computation, _sunk)


def _sunk(loop: Instruction) -> Instruction | None:
    init, condition, body = loop.operands[0], loop.attributes["condition"], loop.attributes["body"]
    if init.opcode != "tuple" or body.root.opcode != "tuple":
        return None
    unchanging, users = loop_invariant_elements(loop), users_of(body)
    asked = {state.attributes["index"] for state in filter(is_state, condition.instructions)}
    blocks = [
        block
        for leaf, update in enumerate(body.root.operands)
        if leaf not in asked and (block := _block(update, leaf, unchanging, users)) is not None
    ]
    if not blocks or not _is_read_element_by_element(condition) or not _is_read_element_by_element(body):
        return None
    with built_for(loop):
        places = [[computed_outside(place, init) for place in block.update.operands[2:]] for block in blocks]
        initial = [
            hlo.reshape(hlo.dynamic_slice(init.operands[block.leaf], *starts, sizes=block.sizes), block.state_sizes)
            for block, starts in zip(blocks, places)
        ]
        replaced = {block.update: lambda elements, operands: operands[0] for block in blocks}
        for number, block in enumerate(blocks):
            replaced |= dict.fromkeys(block.reads, partial(_as_read, number, block))

        def following(elements: Sequence[Instruction], rebuilt: Mapping[Instruction, Instruction]) -> list[Instruction]:
            return [hlo.reshape(rebuilt[block.update.operands[1]], block.state_sizes) for block in blocks]

        def results(elements: list[Instruction]) -> list[Instruction]:
            before, blocks_behind = elements[: len(init.operands)], elements[len(init.operands) :]
            for block, value, starts in zip(blocks, blocks_behind, places):
                written = hlo.reshape(value, block.sizes)
                before[block.leaf] = hlo.dynamic_update_slice(init.operands[block.leaf], written, *starts)
            return before

        return with_more_state(loop, initial, replaced, following, results)


def _as_read(number: int, block: _Block, elements: Sequence[Instruction], operands: Sequence[Instruction]) -> Instruction:
    return hlo.reshape(elements[number], block.sizes)


def _is_read_element_by_element(computation: Computation) -> bool:
    """Whether the state is never used as a whole."""
    (parameter,) = computation.parameters
    return computation.root is not parameter and all(
        parameter not in instruction.operands or is_state(instruction) for instruction in computation.instructions
    )


def _block(update: Instruction, leaf: int, unchanging: set[int], users: dict[Instruction, list[Instruction]]) -> _Block | None:
    if update.opcode != "dynamic-update-slice" or len(users[update]) != 1:
        return None
    array, block, *places = update.operands
    if not is_state(array) or array.attributes["index"] != leaf or not all(stays(place, unchanging) for place in places):
        return None
    reads = [user for user in users[array] if user is not update]
    for read in reads:
        is_slice = read.opcode == "dynamic-slice" and read.shape == block.shape
        if not is_slice or not all(map(is_the_same, read.operands[1:], places)):
            return None
    return _Block(leaf, update, reads)

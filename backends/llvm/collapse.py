"""Collapses adjacent dimensions of a fused computation that every operand walks alike into one.

Before: a computation over f32[8,16,32] whose operands are f32[8,16,32] and f32[8] (broadcast along dimensions 1 and 2).
After: the same over f32[8,512], so that its loop nest is two deep and the vector dimension is long.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from ...compile.fused_computations import result_roots
from ...hlo import Computation, Instruction, Shape, TupleShape
from ...hlo.operation import ELEMENTWISE


class Collapsed(NamedTuple):
    """A computation over collapsed dimensions; ``groups[i]`` are the former dimensions that dimension i replaces."""

    computation: Computation
    groups: list[tuple[int, ...]]


def collapse_dimensions(computation: Computation, barriers: frozenset[int] = frozenset()) -> Collapsed | None:
    """The computation over collapsed dimensions, or None where nothing can be collapsed.

    The root is an array, or a tuple of arrays of the same dimensions. ``barriers`` holds each dimension d such
    that d and d + 1 must stay apart.
    """
    roots = result_roots(computation)
    rank = roots[0].shape.rank
    if rank < 2:
        return None
    walks = _walks(computation, roots)
    if walks is None:
        return None
    groups = _groups(rank, walks, barriers)
    if len(groups) == rank:
        return None
    return Collapsed(_rebuild(computation, walks, groups), groups)


def _walks(computation: Computation, roots: tuple[Instruction, ...]) -> dict[Instruction, tuple[int, ...]] | None:
    """For each instruction, which result dimension each of its dimensions runs along; None where that is not so simple."""
    walks: dict[Instruction, tuple[int, ...]] = {root: tuple(range(root.shape.rank)) for root in roots}
    for instruction in reversed(computation.instructions):
        walk = walks.get(instruction)
        if walk is None:
            continue  # the tuple root, and what no root needs
        if ELEMENTWISE in instruction.operation.traits:
            needed = [walk if operand.shape.rank else () for operand in instruction.operands]
        elif instruction.opcode == "broadcast":
            needed = [tuple(walk[dimension] for dimension in instruction.attributes["dimensions"])]
        elif instruction.opcode == "parameter" or (instruction.opcode == "constant" and not instruction.shape.rank):
            continue
        else:
            return None
        for operand, operand_walk in zip(instruction.operands, needed):
            if walks.setdefault(operand, operand_walk) != operand_walk:
                return None
    return walks


def _groups(rank: int, walks: dict[Instruction, tuple[int, ...]], barriers: frozenset[int]) -> list[tuple[int, ...]]:
    """The result dimensions in runs that every instruction has wholly, adjacent and in order, or not at all."""
    groups: list[list[int]] = [[0]]
    for dimension in range(1, rank):
        before = dimension - 1
        joined = before not in barriers and all(_together(walk, before, dimension) for walk in walks.values())
        if joined:
            groups[-1].append(dimension)
        else:
            groups.append([dimension])
    return [tuple(group) for group in groups]


def _together(walk: tuple[int, ...], first: int, second: int) -> bool:
    if first not in walk and second not in walk:
        return True
    return first in walk and second in walk and walk.index(second) == walk.index(first) + 1


def _rebuild(computation: Computation, walks: dict[Instruction, tuple[int, ...]], groups: list[tuple[int, ...]]) -> Computation:
    group_of = {dimension: number for number, group in enumerate(groups) for dimension in group}
    replaced: dict[Instruction, Instruction] = {}

    def collapsed_walk(instruction: Instruction) -> tuple[int, ...]:
        return tuple(dict.fromkeys(group_of[dimension] for dimension in walks[instruction]))

    def collapsed_shape(instruction: Instruction) -> Shape:
        sizes: dict[int, list[int]] = {}
        for dimension, size in zip(walks[instruction], instruction.shape.dimensions):
            sizes.setdefault(group_of[dimension], []).append(size)
        return Shape(instruction.shape.element_type, tuple(prod(group) for group in sizes.values()))

    for instruction in computation.instructions:
        operands = tuple(replaced[operand] for operand in instruction.operands if operand in replaced)
        attributes = instruction.attributes
        if instruction.opcode == "tuple" and instruction is computation.root:
            shape = TupleShape(tuple(operand.shape for operand in operands))
        elif instruction in walks:
            shape = collapsed_shape(instruction)
            if instruction.opcode == "broadcast":
                of_result = collapsed_walk(instruction)
                positions = tuple(of_result.index(group) for group in collapsed_walk(instruction.operands[0]))
                attributes = {**attributes, "dimensions": positions}
        elif instruction.opcode == "parameter":
            shape = instruction.shape  # an operand that no root needs
        else:
            continue
        replaced[instruction] = Instruction(instruction.operation, operands, attributes, shape)
    return Computation(computation.name, tuple(replaced.values()), replaced[computation.root])

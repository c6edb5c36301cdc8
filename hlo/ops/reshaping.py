"""Reshapes of dynamic dimensions: which dimensions become which.

Source: ``InferReshapeShape`` and ``CommonFactors`` of XLA. Where XLA refuses dimensions that are split and combined at once,
the rule here is the same for all: of dimensions that become others one result dimension at most is dynamic; its size follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from ..errors import require
from ..shape import Shape


class ReshapeGroup(NamedTuple):
    """Neighbouring dimensions of the operand, and those of the result that hold the same elements."""

    operand: tuple[int, ...]
    result: tuple[int, ...]


def common_factors(before: Sequence[int], after: Sequence[int]) -> list[ReshapeGroup]:
    """The smallest groups of dimensions with as many elements before as after a reshape.

    >>> common_factors((2, 3, 4), (6, 2, 2))
    [ReshapeGroup(operand=(0, 1), result=(0,)), ReshapeGroup(operand=(2,), result=(1, 2))]
    """
    if 0 in before:
        return [ReshapeGroup(tuple(range(len(before))), tuple(range(len(after))))]
    groups: list[ReshapeGroup] = []
    i = j = first_i = first_j = 0
    size_i = size_j = 1
    while i < len(before) or j < len(after):
        if j == len(after) or (i < len(before) and size_i <= size_j):
            size_i, i = size_i * before[i], i + 1
        else:
            size_j, j = size_j * after[j], j + 1
        if size_i == size_j and i > first_i and j > first_j:
            groups.append(ReshapeGroup(tuple(range(first_i, i)), tuple(range(first_j, j))))
            first_i, first_j, size_i, size_j = i, j, 1, 1
    if first_i < len(before) or first_j < len(after):  # dimensions of size 1 at the end
        last = groups.pop() if groups else ReshapeGroup((), ())
        groups.append(ReshapeGroup((*last.operand, *range(first_i, len(before))), (*last.result, *range(first_j, len(after)))))
    return groups


def reshaped_groups(operand: Shape, result: Shape) -> list[ReshapeGroup]:
    """The groups of dimensions of a reshape; ShapeError unless the sizes of dynamic ones follow from the operand's."""
    groups = common_factors(operand.dimensions, result.dimensions)
    for group in groups:
        given = any(operand.is_dynamic(d) for d in group.operand)
        wanted = sum(result.is_dynamic(d) for d in group.result)
        require(
            wanted == given,
            f"reshape: dimensions {group.operand} of {operand} become {group.result} of {result}: of these, "
            f"{'one' if given else 'none'} must be dynamic; dynamic-reshape takes the sizes of any as operands",
        )
    return groups


def reshaped_dynamic_dimensions(operand: Shape, dimensions: Sequence[int]) -> tuple[bool, ...]:
    """Which of the new dimensions are dynamic: of those that a dynamic one is split into the first that is not 1."""
    dynamic = [False] * len(dimensions)
    for group in common_factors(operand.dimensions, dimensions):
        if any(operand.is_dynamic(d) for d in group.operand) and group.result:
            candidates = [d for d in group.result if dimensions[d] != 1] or list(group.result)
            dynamic[candidates[0]] = True
    return tuple(dynamic)


def reshaped_sizes(operand: Shape, result: Shape, sizes: Sequence[int]) -> tuple[int, ...]:
    """The sizes of the result where the operand's are ``sizes``; ValueError where there are none.

    >>> from phlox.hlo import F32
    >>> reshaped_sizes(Shape(F32, (10, 3), None, (True, False)), Shape(F32, (30,), None, (True,)), (4, 3))
    (12,)
    """
    found = list(result.dimensions)
    for group in reshaped_groups(operand, result):
        for dimension in group.result:
            if result.is_dynamic(dimension):
                elements = prod(sizes[d] for d in group.operand)
                others = prod(result.dimensions[d] for d in group.result if d != dimension)
                quotient, rest = divmod(elements, others) if others else (0, 0)
                if rest:
                    raise ValueError(f"reshape: {elements} elements of {operand} cannot be reshaped to {result}")
                found[dimension] = quotient
    return tuple(found)

"""Whether two computations are the same program."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from .instruction import Computation, Instruction, callees_first
from .shape import AnyShape

_CONTROL_PREDECESSORS = "control-predecessors"
_NAME = re.compile(r"[\w.\-]+", re.ASCII)
_Equal = set[tuple[Computation, Computation]]  # pairs already found equal, so that shared ones are compared once


def same_computation(first: Computation, second: Computation, equal: _Equal | None = None) -> bool:
    """Whether the instructions agree one by one: operations, operands, attributes, shapes and roots; names do not count."""
    if first is second:
        return True
    if equal is None:
        # Callees first, so that each finds what it calls among the pairs; where they do not go in step it looks for itself.
        equal = set()
        for pair in zip(callees_first(first), callees_first(second)):
            same_computation(*pair, equal)
    if (first, second) in equal:
        return True
    # Those that they call are compared before them.
    found = {(first, second)}
    stack = [(first, second, zip(first.callees(), second.callees()))]
    while stack:
        mine, yours, callees = stack[-1]
        pair = next(callees, None)
        if pair is None:
            stack.pop()
            if not _same_instructions(mine, yours, equal):
                return False
            equal.add((mine, yours))
        elif pair[0] is not pair[1] and pair not in equal and pair not in found:
            found.add(pair)
            stack.append((*pair, zip(pair[0].callees(), pair[1].callees())))
    return True


def _same_instructions(first: Computation, second: Computation, equal: _Equal) -> bool:
    """Whether they agree one by one, given which pairs of called computations are equal."""
    if len(first.instructions) != len(second.instructions) or first.execution_thread != second.execution_thread:
        return False
    position = {instruction: number for number, instruction in enumerate(first.instructions)}
    other = {instruction: number for number, instruction in enumerate(second.instructions)}
    if position[first.root] != other[second.root]:
        return False
    named, others_named = _numbers_by_name(first), _numbers_by_name(second)
    for mine, yours in zip(first.instructions, second.instructions):
        if [position[operand] for operand in mine.operands] != [other[operand] for operand in yours.operands]:
            return False
        if not same_operation(mine, yours, equal):
            return False
        if _CONTROL_PREDECESSORS in mine.annotations and _predecessors(mine, named) != _predecessors(yours, others_named):
            return False
    return True


def same_operation(first: Instruction, second: Instruction, equal: _Equal | None = None) -> bool:
    """Whether two instructions do the same, their operands aside."""
    equal = set() if equal is None else equal
    return (
        first.operation is second.operation
        and same_shape(first.shape, second.shape)
        and _without_names(first.annotations) == _without_names(second.annotations)
        and all(_same_value(first.attributes[name], second.attributes[name], equal) for name in first.operation.attributes)
    )


def _without_names(annotations: Mapping[str, str]) -> dict[str, str]:
    """The annotations; of one that names instructions only that it is there."""
    return {key: "" if key == _CONTROL_PREDECESSORS else text for key, text in annotations.items()}


def _numbers_by_name(computation: Computation) -> dict[str, list[int]]:
    """The places of the instructions of each name; none where nobody asks for them."""
    numbers: dict[str, list[int]] = {}
    if any(_CONTROL_PREDECESSORS in instruction.annotations for instruction in computation.instructions):
        for number, instruction in enumerate(computation.instructions):
            numbers.setdefault(instruction.name, []).append(number)
    return numbers


def _predecessors(instruction: Instruction, numbers: dict[str, list[int]]) -> set[int]:
    names = set(_NAME.findall(instruction.annotations[_CONTROL_PREDECESSORS]))
    return {number for name in names for number in numbers.get(name, ())}


def same_shape(first: AnyShape, second: AnyShape) -> bool:
    """Whether two shapes agree, layouts included; no layout is the row-major one.

    >>> from phlox.hlo import F32, Layout, Shape
    >>> same_shape(Shape(F32, (2, 3)), Shape(F32, (2, 3), Layout((1, 0))))
    True
    """
    if first == second:
        return True
    if first.is_tuple or second.is_tuple:
        if not (first.is_tuple and second.is_tuple) or len(first.elements) != len(second.elements):
            return False
        return all(map(same_shape, first.elements, second.elements))
    return (
        first.without_layout() == second.without_layout()
        and first.minor_to_major == second.minor_to_major
        and _layout_details(first) == _layout_details(second)
    )


def _layout_details(shape: AnyShape) -> tuple:
    """What a layout says besides the order of dimensions."""
    layout = shape.layout
    if layout is None or not (layout.padded_dimensions or layout.annotation):
        return ()
    return layout.padded_dimensions, layout.padding_value, layout.annotation


def _same_value(first: Any, second: Any, equal: _Equal) -> bool:
    if isinstance(first, Computation):
        return isinstance(second, Computation) and same_computation(first, second, equal)
    if isinstance(first, tuple):
        same_length = isinstance(second, tuple) and len(first) == len(second)
        return same_length and all(_same_value(mine, yours, equal) for mine, yours in zip(first, second))
    if isinstance(first, np.ndarray):
        # Bits, not values: NaN equals itself and -0 differs from +0.
        same_type = isinstance(second, np.ndarray) and first.dtype == second.dtype
        return same_type and first.shape == second.shape and first.tobytes() == second.tobytes()
    return not isinstance(second, np.ndarray) and first == second

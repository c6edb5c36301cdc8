"""What the start of a collective leaves for its done: a value that holds the number of what was begun, its handle.

The value goes from the start to the done by way of tuples, copies, loops and branches, so it says itself which execution of
which start it is from. Nothing else may depend on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..element_type import PRED, TOKEN
from ..instruction import Instruction
from ..operation import COLLECTIVE, RENAMES
from ..shape import AnyShape, Shape, TupleShape, compatible, leaves

Arrays = tuple[Any, ...]


def placeholder(shape: AnyShape, handle: int) -> Any:
    """The value of this shape, all of whose elements that are wide enough hold the handle, as bits; the others are zero.

    >>> from phlox.hlo import F32
    >>> placeholder(Shape(F32, (2,)), 3).view(np.int32)
    array([3, 3], dtype=int32)
    """
    if shape.is_tuple:
        return tuple([placeholder(element, handle) for element in shape.elements])
    if shape.element_type is TOKEN:
        return None
    if not handle or handle > _largest(shape):
        return np.zeros(shape.dimensions, shape.dtype)[()]
    bits = np.dtype(_bits(shape))
    words = np.full((*shape.dimensions, shape.dtype.itemsize // bits.itemsize), handle, bits)
    return words.view(shape.dtype).reshape(shape.dimensions)[()]


def handle_of(value: Any, shape: AnyShape) -> int:
    """The handle that a placeholder holds; 0 where it has no room for one.

    >>> from phlox.hlo import F32, U32
    >>> pair = Shape(F32, (0,)), Shape(U32)
    >>> handle_of(placeholder(pair[0], 3), pair[0]), handle_of(placeholder(pair[1], 3), pair[1])
    (0, 3)
    """
    if shape.is_tuple:
        return next(filter(None, map(handle_of, value, shape.elements)), 0)
    if not _largest(shape):
        return 0
    return int(np.ascontiguousarray(value).view(_bits(shape)).reshape(-1)[0])


def _bits(shape: Shape) -> type[np.unsignedinteger]:
    return {1: np.uint8, 2: np.uint16, 4: np.uint32}.get(shape.dtype.itemsize, np.uint64)


def _largest(shape: Shape) -> int:
    """The largest handle that an array of this shape can hold, 0 where none."""
    element_type = shape.element_type
    if element_type in (TOKEN, PRED) or element_type.bits < 8 or not shape.size:
        return 0
    return int(np.iinfo(_bits(shape)).max)


def visible_start(done: Instruction) -> Instruction | None:
    """The start that the done's operand is, or is a copy of; None where it comes by way of others."""
    opcode, start = done.opcode.removesuffix("done") + "start", done.operands[0]
    while start.has_trait(RENAMES) or start.opcode == "copy":
        start = start.operands[0]
    return start if start.opcode == opcode else None


def finished(run: Any, value: Any, shape: AnyShape) -> Arrays:
    """The result of what the start of this done has begun; ``value`` and ``shape`` are what the start left for it.

    Raises ValueError where nothing was begun that this done could wait for, NotImplementedError where the value has no room
    for a handle and there are several.
    """
    done, environment = run.instruction, run.environment
    fitting = {number: start for number, start in environment.begun.items() if _fits(start, done)}
    handle = handle_of(value, shape)
    if handle in fitting:
        return environment.finish_exchange(handle, done)
    start = visible_start(done)
    numbers = [number for number, other in fitting.items() if start is None or other is start]
    if not numbers or handle:
        raise ValueError(f"{done.opcode}: the operand is not the value of {_start_opcode(done)} that is begun and not done")
    if start is None and len(numbers) > 1 and any(leaf.size for leaf in leaves(shape)):
        raise NotImplementedError(
            f"{done.opcode} is not implemented where its operand is not the {_start_opcode(done)} itself, several were begun, "
            f"and {shape} has no room to tell them apart"
        )
    return environment.finish_exchange(numbers[0], done)


def begins_collective(start: Instruction) -> bool:
    """Whether an async-start calls a computation that ends in a collective operation.

    Its devices meet there; those that the computation comes to before are waited for.
    """
    return start.attributes["calls"].root.has_trait(COLLECTIVE)


class _Begun(Exception):
    """Ends the evaluation of a computation where its last collective has begun."""


class _Beginning:
    """The environment, but that the exchange of one instruction, the root of a computation, is begun and not waited for."""

    def __init__(self, environment: Any, start: Instruction) -> None:
        self._environment, self._start = environment, start
        self._root = start.attributes["calls"].root
        self.handle = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environment, name)

    def exchange(self, instruction: Instruction, *arguments: Any) -> Any:
        if instruction is not self._root:
            return self._environment.exchange(instruction, *arguments)
        self.handle = self._environment.begin_exchange(self._start, instruction, *arguments)
        raise _Begun


def begun_call(run: Any, arguments: Arrays, shape: TupleShape) -> Any:
    """The value of an async-start of a collective, of this shape, on several devices: a placeholder where it has begun."""
    start = run.instruction
    environment = _Beginning(run.environment, start)
    try:
        result = type(run)(environment=environment)(start.attributes["calls"], *arguments)
    except _Begun:
        return (arguments, *(placeholder(element, environment.handle) for element in shape.elements[1:]))
    # A collective-broadcast that leaves this device out sends and receives nothing.
    return (arguments, result, *(placeholder(element, 0) for element in shape.elements[2:]))


def finished_call(run: Any, operand: Any, shape: TupleShape) -> Any:
    """The result of an async-done on several devices; ``operand``, of this shape, is what the start left.

    Raises as `finished`.
    """
    done = run.instruction
    start = visible_start(done)
    fitting = [number for number, other in run.environment.begun.items() if _fits(other, done)]
    contexts = handle_of(operand[2:], TupleShape(shape.elements[2:]))
    if not fitting or (start is not None and not begins_collective(start)):
        return operand[1]
    if not contexts and any(map(_largest, leaves(TupleShape(shape.elements[2:])))):
        return operand[1]
    held = (operand[1], *operand[2:]), TupleShape(shape.elements[1:])
    if contexts:
        held = operand[2:], TupleShape(shape.elements[2:])
    elif start is None:
        raise NotImplementedError(
            f"{done.opcode} is not implemented where its operand is not the async-start itself, which begins a collective, "
            f"and {shape} has no context that says so"
        )
    results = finished(run, *held)
    return results if shape.elements[1].is_tuple else results[0]


def _start_opcode(done: Instruction) -> str:
    return done.opcode.removesuffix("done") + "start"


def _fits(start: Instruction, done: Instruction) -> bool:
    return start.opcode == _start_opcode(done) and compatible(start.shape, done.operands[0].shape)

"""What bodies of loops and branches have in common: the types of their values, their operand, their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ... import hlo
from ...hlo.operation import GIVEN, TUPLING
from ..recording import pytree
from ..recording.array import TracedArray
from ..recording.callables import callable_name, function_location
from ..recording.dynamic_array import DynamicArray, fitted, joined_shape
from ..recording.errors import CarryTypeError, IntegerOverflow, at
from ..recording.intervals import CARRIED, within
from ..recording.operands import as_traced
from ..recording.trace import PackedInputs, Trace

# Values that may stand in loop states and branch results without being arrays; they must stay the same.
CONSTANT_TYPES = (str, bytes, np.dtype, type)


@dataclass(frozen=True)
class ValueType:
    """What a loop must not change about an element of its state."""

    shape: hlo.Shape
    weak_type: bool = False
    is_scalar: bool = False

    @property
    def promotes_as(self) -> Any:
        """What np.result_type is to be given for it."""
        if not self.weak_type:
            return self.shape.dtype
        return {"pred": np.dtype(bool), "signed": 0, "float": 0.0, "complex": 0j}[self.shape.element_type.kind]

    @property
    def scalar_type(self) -> Any:
        """What tells the types of scalars apart."""
        return self.shape.element_type.kind if self.weak_type else self.shape.element_type

    def __str__(self) -> str:
        return f"{self.shape}" + (" (from a Python number)" if self.weak_type else "")


def type_of(array: TracedArray) -> ValueType:
    if isinstance(array, DynamicArray):
        return ValueType(array.bounds, array.weak_type, array.is_scalar)
    return _type_of_static(array.element_type, array.shape, array.weak_type, array.is_scalar)


@lru_cache(1 << 12)
def _type_of_static(element_type: hlo.ElementType, sizes: tuple[int, ...], weak_type: bool, is_scalar: bool) -> ValueType:
    return ValueType(hlo.Shape(element_type, sizes), weak_type, is_scalar)


def promoted(first: ValueType, second: ValueType, widens: bool = False, resizes: bool = False) -> ValueType | None:
    """The type that both can take on without changing what either is, None if there is none.

    Equal dtypes go together; Python numbers adapt, to other values and among each other. Where it ``widens`` all dtypes do.
    Sizes that are known at run time only go together with others, and where it ``resizes`` all do.
    """
    shape = joined_shape(first.shape, second.shape, resizes)
    if shape is None:
        return None
    strong = not (first.weak_type and second.weak_type)
    dtype = np.result_type(first.promotes_as, second.promotes_as)
    for side in (first, second):
        if not widens and not side.weak_type and side.shape.dtype != dtype:
            return None
    return ValueType(shape.with_element_type(hlo.element_type_of(dtype)), not strong, first.is_scalar)


def are_other_arrays(first: ValueType, second: ValueType) -> bool:
    """Whether it shows which one it is, where one of two is an array: their dtypes differ, or one is a number."""
    if first.is_scalar and second.is_scalar:
        return False
    if not first.shape.rank and not second.shape.rank and first.is_scalar is not second.is_scalar:
        return True
    return first.shape.element_type is not second.shape.element_type


def convert(trace: Trace, instruction: hlo.Instruction, wanted: ValueType) -> hlo.Instruction:
    return trace.builder.write(lambda: fitted(hlo.convert(instruction, wanted.shape.element_type), wanted.shape))


def is_constant(leaf: Any) -> bool:
    """Whether a leaf of a state is passed through, not traced."""
    return isinstance(leaf, CONSTANT_TYPES)


def state_handles(trace: Trace, types: Sequence[ValueType], origins: Sequence[str]) -> list[TracedArray]:
    """Traced arrays for the first elements of the trace's input."""
    return [
        TracedArray.from_instruction(trace, trace.own_input(index), value.weak_type, value.is_scalar, origin)
        for index, (value, origin) in enumerate(zip(types, origins))
    ]


def copied_state(value: Any) -> Any:
    """The value with its arrays copied, as loops do that run in plain Python: a loop owns its state."""
    return pytree.tree_map(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, value)


def results_of(instruction: hlo.Instruction, count: int) -> list[hlo.Instruction]:
    """The first ``count`` elements of a tuple."""
    return [hlo.get_tuple_element(instruction, index) for index in range(count)]


def outer_operand(outer: Trace, own: Sequence[hlo.Instruction], inputs: PackedInputs) -> hlo.Instruction:
    """The tuple that a loop starts from, or that branches take."""
    return hlo.tuple(*own, *[outer.read(storage) for storage in inputs.storages])


def traced_leaf(leaf: Any, path: str, what: str) -> TracedArray:
    """A leaf of a state or of a branch's result as a traced array. Raises CarryTypeError for what is no array."""
    if not isinstance(leaf, (np.ndarray, np.generic, bool, int, float, complex)) and not hasattr(leaf, "storage"):
        raise CarryTypeError(
            f"{what}: {path} is a {type(leaf).__qualname__}, where an array, a number or a container of these is required"
        )
    if type(leaf) is int and not within((leaf, leaf), CARRIED):
        raise CarryTypeError(f"{what}: {path} is the Python integer {leaf}; {IntegerOverflow.MESSAGE}")
    return leaf if isinstance(leaf, DynamicArray) else as_traced(leaf)


def function_place(function: Callable[..., Any]) -> str:
    location = function_location(function)
    name = callable_name(function)
    return f"{name} at {at(location)}" if location is not None else name


def computed_at(instruction: hlo.Instruction) -> str:
    return f" (computed at {at(instruction.source)})" if instruction.source is not None else ""


def integer(outer: Trace, value: Any, name: str) -> Any:
    """A bound of a loop, or the number of a branch: a Python int, or a traced s64 that behaves as a Python int."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    if not isinstance(value, (TracedArray, np.ndarray)):
        raise TypeError(f"{name}: an integer is required as a bound, {type(value).__name__} given")
    array = as_traced(value)
    if array.shape or not array.element_type.is_integer:
        raise TypeError(f"{name}: an integer scalar is required as a bound, {array.element_type}{list(array.shape)} given")
    converted = hlo.convert(array.instruction(outer), hlo.S64)
    return TracedArray.from_instruction(outer, converted, weak_type=True)


def predicate_of(trace: Trace, value: Any, what: str) -> hlo.Instruction:
    """A condition as pred[], by Python's truth: nonzero is true. Raises TypeError unless it is one number."""
    array = traced_leaf(value, "the condition", what)
    if array.size != 1:
        raise TypeError(f"{what} must give one truth value, got {array.element_type}{list(array.shape)}; use np.any or np.all")
    instruction = hlo.reshape(array.instruction(trace), ())
    if instruction.shape.element_type is hlo.PRED:
        return instruction
    return hlo.ne(instruction, 0)


def size_of(instructions: Sequence[hlo.Instruction]) -> int:
    """How many instructions compute something, with those of the computations that these run, each of which counts once."""
    pending, seen, size = list(instructions), set[hlo.Computation](), 0
    while pending:
        instruction = pending.pop()
        size += instruction.operation.traits.isdisjoint({GIVEN, TUPLING})
        for computation in instruction.called_computations:
            if computation not in seen:
                seen.add(computation)
                pending.extend(computation.instructions)
    return size

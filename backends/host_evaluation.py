"""Instructions that the host evaluates, for code that knows where arrays lie: functions of the address of a table.

The table has pointers, first to the operands' arrays, then to the results'.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..hlo import Evaluator, Instruction, Shape, array_leaves
from ..hlo.dynamic_evaluation import is_dynamic
from ..hlo.evaluation import evaluate_instruction
from ..hlo.ops.custom_call import stated_operand_shapes
from ..hlo.tracebacks import keep_frames_of_users, raised_within
from ..runtime import current_environment
from .arguments import flatten, pack


def of_table(instruction: Instruction, evaluate: Callable[[tuple[Any, ...]], Any], keeps: bool = True) -> Callable[[int], None]:
    """A function of the address of the table. keeps: the evaluation may keep the operands, and gets copies of them."""
    shapes = [operand.shape for operand in instruction.operands]
    arrays = [_Place(shape) for operand in shapes for shape in array_leaves(operand)]
    is_flat = all([list(array_leaves(shape)) == [shape] for shape in shapes])
    results = Results(instruction)
    shape = instruction.shape
    pointers = ctypes.c_void_p * (len(arrays) + results.count)
    gives_arrays = shape.is_tuple and array_leaves(shape) == list(shape.elements)

    def call_and_store(table: int) -> None:
        given = pointers.from_address(table)[:]
        operands = [place.array(pointer) for pointer, place in zip(given, arrays)]
        if keeps:
            operands = [array.copy("C")[()] for array in operands]
        if not is_flat:
            remaining = iter(operands)
            operands = [pack(shape, remaining) for shape in shapes]
        try:
            found = evaluate(tuple(operands))
        except BaseException as error:
            is_raised_by(instruction, error)
            raise
        results.store(found if gives_arrays else flatten(found), given[len(arrays) :])

    return call_and_store


def evaluation_of(instruction: Instruction, target: Any) -> Callable[[tuple[Any, ...]], Any]:
    """What the instruction makes of its operands; target: the function that a custom-call names."""
    attributes = instruction.attributes
    if target is not None and not is_dynamic(instruction):
        operand_shapes = [operand.shape for operand in instruction.operands]
        layouts = stated_operand_shapes(attributes["operand_layout_constraints"], operand_shapes)
        try:
            return target.prepared(layouts, instruction.shape, attributes["backend_config"])
        except BaseException as error:
            is_raised_by(instruction, error)
            raise

    def evaluate(operands: tuple[Any, ...]) -> Any:
        with np.errstate(all="ignore"):
            return evaluate_instruction(instruction, operands, Evaluator(environment=current_environment()))

    return evaluate


def is_raised_by(instruction: Instruction, error: BaseException) -> None:
    raised_within(error, instruction.source)
    keep_frames_of_users(error)


class Results:
    """The results of an instruction in memory."""

    def __init__(self, instruction: Instruction) -> None:
        self._opcode, self._places = instruction.opcode, [_Place(shape) for shape in array_leaves(instruction.shape)]
        self.count = len(self._places)

    def store(self, results: Iterable[Any], pointers: Iterable[int | None]) -> None:
        for pointer, place, result in zip(pointers, self._places, results, strict=True):
            if type(result) is place.scalar_type:
                place.number.from_address(pointer).value = result
                continue
            target = place.array(pointer)
            array = result if isinstance(result, (np.ndarray, np.generic)) else np.asarray(result)
            if array.shape != target.shape or array.dtype != target.dtype:
                required = f"{target.dtype} of shape {target.shape}"
                raise TypeError(f"{self._opcode}: {required} is required, got {array.dtype} of shape {array.shape}")
            target[...] = array


# What takes NumPy's scalars as they are.
_NUMBERS: dict[np.dtype, Any] = {np.dtype(np.bool_): ctypes.c_bool, np.dtype(np.float64): ctypes.c_double}


class _Place:
    """How an array of a shape lies in memory."""

    def __init__(self, shape: Shape) -> None:
        self._dimensions, self._dtype = shape.dimensions, np.dtype(shape.dtype)
        self._memory = ctypes.c_uint8 * (shape.byte_size if shape.size else 0)
        strides, stride = [0] * shape.rank, self._dtype.itemsize
        for dimension in shape.minor_to_major:
            strides[dimension] = stride
            stride *= shape.dimensions[dimension]
        self._strides = tuple(strides)
        self.number = None if shape.rank else _NUMBERS.get(self._dtype)
        # Of results that are stored in one go.
        self.scalar_type = None if self.number is None else self._dtype.type
        self._last: tuple[int | None, Any] = (-1, None)

    def array(self, pointer: int | None) -> np.ndarray:
        """The array at this address; one without elements may have none. It is kept, as the next one is often there, too."""
        last, array = self._last
        if last != pointer:
            array = np.ndarray(self._dimensions, self._dtype, self._memory.from_address(pointer or 0), 0, self._strides)
            self._last = pointer, array
        return array

"""Instructions that depend on what is outside of the program: text in a program, Python functions once it is loaded.

Native code has a table of pointers, first to the operands' arrays, then to the results', and calls such a function with objects
that it makes of the operands, or with the address of the table.
An exception stays set in the thread and ends the kernel, and whoever called that raises it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...hlo import Evaluator, Instruction, Shape, SourceLocation, array_leaves
from ...hlo.dynamic_evaluation import is_dynamic
from ...hlo.evaluation import evaluate_instruction
from ...hlo.ops.custom_call import stated_operand_shapes
from ...hlo.tracebacks import keep_frames_of_users, raised_within
from ...runtime import current_environment, find_target
from ...runtime.host_functions import HostFunction
from ..arguments import flatten, pack
from ..instruction_texts import instructions_of
from .call import made_records, python_calls, records, unsupported_reason
from .call.call_signature import PYTHON_RESULTS


def host_calls(text: str, lines: Sequence[SourceLocation | None]) -> list[HostCall]:
    """A function for each of the instructions of such a text, which come from these lines of the user.

    Raises NotImplementedError for a custom-call whose target is not registered in this process.
    """
    return [HostCall(instruction) for instruction in instructions_of(text, lines)]


class HostCall:
    """A Python function that evaluates one instruction, as native code calls it: the record of the call lies at ``address``.

    A function that a traced function calls gets objects of the operands that native code makes; any other evaluation gets the
    address of the table. Of one that shows a number native code writes the text itself.
    """

    def __init__(self, instruction: Instruction) -> None:
        target = find_target(instruction.attributes["custom_call_target"]) if instruction.opcode == "custom-call" else None
        builder, shapes = records.Builder(), [operand.shape for operand in instruction.operands]
        if isinstance(target, HostFunction) and target.shows is not None and unsupported_reason() is None:
            record = made_records.showing_of(builder, target.shows, _places(instruction))
        elif isinstance(target, HostFunction) and _are_made_natively(target.kinds, shapes):
            operands = [(kind, shape.dtype, shape.dimensions) for kind, shape in zip(target.kinds, shapes)]
            if target.direct is not None and all(map(_is_in_order, array_leaves(instruction.shape))):
                stored = python_calls.STORES[target.returns] if array_leaves(instruction.shape) else 0
                record = made_records.call_of(builder, _direct(instruction, *target.direct), operands, stored)
                record.bytes = sum([shape.byte_size for shape in array_leaves(instruction.shape)])
            elif target.makes_text is not None:
                function = _raising(instruction, target.makes_text)
                record = made_records.call_of(builder, function, operands, 0, _places(instruction))
            else:
                stored = python_calls.CALL_PASSES_TABLE if array_leaves(instruction.shape) else 0
                record = made_records.call_of(builder, _of_objects(instruction, target.function), operands, stored)
        else:
            evaluate = _of_table(instruction, _evaluation(instruction, target))
            record = made_records.call_of(builder, evaluate, (), python_calls.CALL_PASSES_TABLE)
        self.address = builder.memory((made_records.Call * 1)(record))
        self._references = builder.references


def _of_objects(instruction: Instruction, function: Callable[..., tuple[Any, ...]]) -> Callable[..., None]:
    """A function of the operands, and of the address of a table where there are results, which it stores."""

    def call_and_store(*given: Any) -> None:
        *operands, table = given
        try:
            found = function(*operands)
        except BaseException as error:
            _is_raised_by(instruction, error)
            raise
        results.store(found, pointers.from_address(table))

    results = _Results(instruction)
    pointers = ctypes.c_void_p * results.count
    return call_and_store if results.count else _raising(instruction, function)


def _direct(instruction: Instruction, make: Callable[..., Any], is_over: Callable[[BaseException], bool]) -> Callable[..., Any]:
    """The function, whose exceptions tell of the instruction."""

    def is_over_here(error: BaseException) -> bool:
        try:
            if is_over(error):
                return True
        except BaseException as other:
            _is_raised_by(instruction, other)
            raise
        _is_raised_by(instruction, error)
        return False

    return make(is_over_here)


def _raising(instruction: Instruction, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose exceptions tell of the instruction."""

    def call(*operands: Any) -> Any:
        try:
            return function(*operands)
        except BaseException as error:
            _is_raised_by(instruction, error)
            raise

    return call


def _places(instruction: Instruction) -> int:
    """How many characters there is room for in the first result."""
    return array_leaves(instruction.shape)[0].size


def _of_table(instruction: Instruction, evaluate: Callable[[tuple[Any, ...]], Any]) -> Callable[[int], None]:
    """A function of the address of the table. The evaluation gets copies of the operands, so it may keep them."""
    shapes = [operand.shape for operand in instruction.operands]
    arrays = [_Place(shape) for operand in shapes for shape in array_leaves(operand)]
    is_flat = all([list(array_leaves(shape)) == [shape] for shape in shapes])
    results = _Results(instruction)
    shape = instruction.shape
    pointers = ctypes.c_void_p * (len(arrays) + results.count)
    gives_arrays = shape.is_tuple and array_leaves(shape) == list(shape.elements)

    def call_and_store(table: int) -> None:
        given = pointers.from_address(table)[:]
        operands = [place.array(pointer).copy("C")[()] for pointer, place in zip(given, arrays)]
        if not is_flat:
            remaining = iter(operands)
            operands = [pack(shape, remaining) for shape in shapes]
        try:
            found = evaluate(tuple(operands))
        except BaseException as error:
            _is_raised_by(instruction, error)
            raise
        results.store(found if gives_arrays else flatten(found), given[len(arrays) :])

    return call_and_store


def _is_raised_by(instruction: Instruction, error: BaseException) -> None:
    raised_within(error, instruction.source)
    keep_frames_of_users(error)


class _Results:
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


def _is_in_order(shape: Shape) -> bool:
    return shape.is_row_major and not shape.dynamic_dimensions


def _are_made_natively(kinds: Sequence[str], shapes: Sequence[Shape]) -> bool:
    """Whether native code makes such objects of operands of these shapes."""
    if unsupported_reason() is not None:
        return False
    return all([
        _is_in_order(shape) and (kind != "number" or shape.dtype in PYTHON_RESULTS)
        for kind, shape in zip(kinds, shapes, strict=True)
    ])  # fmt: skip


def _evaluation(instruction: Instruction, target: Any) -> Callable[[tuple[Any, ...]], Any]:
    """What the instruction makes of its operands; target: the function that a custom-call names."""
    attributes = instruction.attributes
    if target is not None and not is_dynamic(instruction):
        operand_shapes = [operand.shape for operand in instruction.operands]
        layouts = stated_operand_shapes(attributes["operand_layout_constraints"], operand_shapes)
        try:
            return target.prepared(layouts, instruction.shape, attributes["backend_config"])
        except Exception as error:
            _is_raised_by(instruction, error)
            raise

    def evaluate(operands: tuple[Any, ...]) -> Any:
        with np.errstate(all="ignore"):
            return evaluate_instruction(instruction, operands, Evaluator(environment=current_environment()))

    return evaluate


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

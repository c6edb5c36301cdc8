"""Instructions that depend on what is outside of the program: text in a program, Python functions once it is loaded.

Native code has a table of pointers, first to the operands' arrays, then to the results', and calls such a function with objects
that it makes of the operands, or with the address of the table.
An exception stays set in the thread and ends the kernel, and whoever called that raises it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from ...hlo import Instruction, Shape, SourceLocation, array_leaves
from ...runtime import find_target
from ...runtime.host_functions import HostFunction
from ..host_evaluation import Results, evaluation_of, is_raised_by, of_table
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
            evaluate = of_table(instruction, evaluation_of(instruction, target))
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
            is_raised_by(instruction, error)
            raise
        results.store(found, pointers.from_address(table))

    results = Results(instruction)
    pointers = ctypes.c_void_p * results.count
    return call_and_store if results.count else _raising(instruction, function)


def _direct(instruction: Instruction, make: Callable[..., Any], is_over: Callable[[BaseException], bool]) -> Callable[..., Any]:
    """The function, whose exceptions tell of the instruction."""

    def is_over_here(error: BaseException) -> bool:
        try:
            if is_over(error):
                return True
        except BaseException as other:
            is_raised_by(instruction, other)
            raise
        is_raised_by(instruction, error)
        return False

    return make(is_over_here)


def _raising(instruction: Instruction, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose exceptions tell of the instruction."""

    def call(*operands: Any) -> Any:
        try:
            return function(*operands)
        except BaseException as error:
            is_raised_by(instruction, error)
            raise

    return call


def _places(instruction: Instruction) -> int:
    """How many characters there is room for in the first result."""
    return array_leaves(instruction.shape)[0].size


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

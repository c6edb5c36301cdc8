"""Instructions that depend on what is outside of the program: text in a program, Python functions once it is loaded.

Native code calls such a function with the address of a table of pointers, first to the operands' arrays, then to the results'.
An exception stays set in the thread and ends the kernel, and whoever called that raises it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ...hlo import (
    Computation,
    Evaluator,
    Instruction,
    Module,
    Shape,
    TupleShape,
    array_leaves,
    make_instruction,
    parse_module,
    rebuild,
)
from ...hlo.dynamic_evaluation import is_dynamic
from ...hlo.evaluation import evaluate_instruction
from ...hlo.ops.collective_handles import visible_start
from ...hlo.ops.custom_call import stated_operand_shapes
from ...hlo.shape import AnyShape
from ...hlo.tracebacks import keep_frames_of_users, raised_within
from ...runtime import current_environment, find_target
from ..arguments import flatten, pack


def instructions_text(instructions: Iterable[Instruction]) -> str:
    """HLO text of a module whose root is the tuple of these instructions. Their operands are parameters.

    The operand of a done is its start where the program shows which that is: what the done waits for depends on it.
    """
    parameters: dict[Instruction, Instruction] = {}
    alone: dict[Instruction, Instruction] = {}

    def operand_of(instruction: Instruction, operand: Instruction) -> Instruction:
        start = visible_start(instruction) if instruction.opcode.endswith("-done") else None
        if start in alone and start.shape == operand.shape:
            return alone[start]
        if operand not in parameters:
            number = {"number": len(parameters)}
            parameters[operand] = make_instruction("parameter", (), number, _with_spelling(operand.shape), operand.name)
        return parameters[operand]

    for instruction in instructions:
        operands = [operand_of(instruction, operand) for operand in instruction.operands]
        own = {}
        if instruction.opcode == "async-start":  # in HLO text none shares its computation with another
            own["calls"] = rebuild(instruction.attributes["calls"], Instruction.with_operands)
        attributes, shape = {**instruction.attributes, **own}, _with_spelling(instruction.shape)
        about = instruction.name, instruction.source, instruction.annotations
        alone[instruction] = Instruction(instruction.operation, tuple(operands), attributes, shape, *about)
    root = make_instruction("tuple", alone.values())
    entry = Computation("host_calls", (*parameters.values(), *alone.values(), root), root)
    return Module("host_calls", entry).as_text(metadata=True)


def _with_spelling(shape: AnyShape) -> AnyShape:
    """The shape, without the padding that HLO text does not spell; arrays lie without it."""
    if shape.is_tuple:
        return TupleShape(tuple(map(_with_spelling, shape.elements)))
    if shape.layout is None or not shape.layout.padded_dimensions:
        return shape
    return replace(shape, layout=replace(shape.layout, padded_dimensions=()))


def host_calls(text: str) -> list[HostCall]:
    """A function for each of the instructions of such a text.

    Raises NotImplementedError for a custom-call whose target is not registered in this process.
    """
    return [HostCall(instruction) for instruction in parse_module(text).entry.root.operands]


class HostCall:
    """A Python function that evaluates one instruction, of the address of a table.

    The evaluation gets copies of the operands, so it may keep them.
    """

    def __init__(self, instruction: Instruction) -> None:
        self._instruction = instruction
        self._operands = [operand.shape for operand in instruction.operands]
        self._arrays = [_Place(shape) for operand in self._operands for shape in array_leaves(operand)]
        self._results = [_Place(shape) for shape in array_leaves(instruction.shape)]
        self._table_type = ctypes.c_void_p * (len(self._arrays) + len(self._results))
        self._is_flat = all([list(array_leaves(shape)) == [shape] for shape in self._operands])
        self._evaluate = _evaluation(instruction)

    @property
    def address(self) -> int:
        """The address of the object."""
        return id(self)

    def __call__(self, table: int) -> None:
        pointers = list(self._table_type.from_address(table))
        count = len(self._arrays)
        operands = [place.array(pointer).copy("C")[()] for pointer, place in zip(pointers, self._arrays)]
        if not self._is_flat:
            arrays = iter(operands)
            operands = [pack(shape, arrays) for shape in self._operands]
        try:
            results = flatten(self._evaluate(tuple(operands)))
        except BaseException as error:
            raised_within(error, self._instruction.source)
            keep_frames_of_users(error)
            raise
        for pointer, place, result in zip(pointers[count:], self._results, results, strict=True):
            self._store(place.array(pointer), result)

    def _store(self, target: np.ndarray, result: Any) -> None:
        array = np.asarray(result)
        if array.shape != target.shape or array.dtype != target.dtype:
            required = f"{target.dtype} of shape {target.shape}"
            raise TypeError(f"{self._instruction.opcode}: {required} is required, got {array.dtype} of shape {array.shape}")
        target[...] = array


def _evaluation(instruction: Instruction) -> Callable[[tuple[Any, ...]], Any]:
    """What the instruction makes of its operands; the function that a custom-call names is found once."""
    attributes = instruction.attributes
    target = find_target(attributes["custom_call_target"]) if instruction.opcode == "custom-call" else None
    if target is not None and not is_dynamic(instruction):
        operand_shapes = [operand.shape for operand in instruction.operands]
        layouts = stated_operand_shapes(attributes["operand_layout_constraints"], operand_shapes)
        return target.prepared(layouts, instruction.shape, attributes["backend_config"])

    def evaluate(operands: tuple[Any, ...]) -> Any:
        with np.errstate(all="ignore"):
            return evaluate_instruction(instruction, operands, Evaluator(environment=current_environment()))

    return evaluate


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

    def array(self, pointer: int | None) -> np.ndarray:
        """The array at this address; one without elements may have none."""
        return np.ndarray(self._dimensions, self._dtype, self._memory.from_address(pointer or 0), 0, self._strides)

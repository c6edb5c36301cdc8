"""Evaluates computations with the records' NumPy semantics, one instruction at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .dynamic_evaluation import actual_operation, is_dynamic
from .instruction import Computation, Instruction, make_instruction
from .operation import ELEMENTWISE, GIVEN
from .shape import AnyShape, shape_of
from .tracebacks import raised_within

Observer = Callable[[Computation, Instruction, Any], None]


class Evaluator:
    """Runs computations; calling it runs one on these arguments.

    ``observer(computation, instruction, value)`` is called after every instruction, where one is given. ``environment`` is what
    operations with the trait HOST_CALL find outside of the program (see phlox.runtime).
    """

    def __init__(self, observer: Observer | None = None, environment: Any = None) -> None:
        self.observer, self._environment = observer, environment
        self.instruction: Instruction | None = None  # the one that is evaluated, for evaluations that depend on which it is

    @property
    def environment(self) -> Any:
        """What the program runs in. Raises RuntimeError where it is evaluated outside of any."""
        if self._environment is None:
            raise RuntimeError("an operation that needs a running program was evaluated outside of one")
        return self._environment

    def __call__(self, computation: Computation, *arguments: Any) -> Any:
        values: dict[Instruction, Any] = {}
        for instruction in computation.instructions:
            if instruction.opcode == "parameter":
                value = arguments[instruction.attributes["number"]]
            else:
                operands = tuple(values[operand] for operand in instruction.operands)
                value = evaluate_instruction(instruction, operands, self)
            values[instruction] = value
            if self.observer is not None:
                self.observer(computation, instruction, value)
        return values[computation.root]

    def elementwise(self, computation: Computation, *arguments: np.ndarray) -> tuple[np.ndarray, ...]:
        """A computation on scalars, applied along one-dimensional arrays; always a tuple of result arrays.

        Where all its instructions are elementwise they run on whole arrays, otherwise element by element.
        """
        length = len(arguments[0])
        if all(_runs_on_arrays(instruction) for instruction in computation.instructions):
            result = self(computation, *arguments)
            results = result if isinstance(result, tuple) else (result,)
            return tuple(np.broadcast_to(array, (length,)) for array in results)
        shapes = computation.shape.elements if computation.shape.is_tuple else (computation.shape,)
        columns = tuple(np.empty(length, shape.dtype) for shape in shapes)
        for position in range(length):
            result = self(computation, *(argument[position] for argument in arguments))
            for column, value in zip(columns, result if isinstance(result, tuple) else (result,)):
                column[position] = value
        return columns


def _runs_on_arrays(instruction: Instruction) -> bool:
    return instruction.opcode == "tuple" or not {ELEMENTWISE, GIVEN}.isdisjoint(instruction.operation.traits)


def evaluate_instruction(instruction: Instruction, operands: tuple[Any, ...], run: Evaluator) -> Any:
    """The value of one instruction, given the values of its operands."""
    run.instruction = instruction
    if is_dynamic(instruction):
        operands, attributes, shape, operand_shapes = actual_operation(instruction, operands)
        return instruction.operation.evaluate(operands, attributes, shape, run, operand_shapes)
    operand_shapes = tuple([operand.shape for operand in instruction.operands])
    try:
        return instruction.operation.evaluate(operands, instruction.attributes, instruction.shape, run, operand_shapes)
    except BaseException as error:
        if instruction.opcode == "custom-call":
            raised_within(error, instruction.source)
        raise


def evaluate(computation: Computation, *arguments: Any, observer: Observer | None = None, environment: Any = None) -> Any:
    """The computation's result on NumPy arrays; a tuple is a Python tuple. The options are those of Evaluator.

    Raises NotImplementedError for an operation without an evaluation.
    """
    return Evaluator(observer, environment)(computation, *arguments)


def evaluate_operation(
    opcode: str, *operands: Any, shape: AnyShape | None = None, environment: Any = None, **attributes: Any
) -> Any:
    """One operation on arrays, checked as if built; ``shape`` is the result shape where the operation cannot infer it.

    >>> from phlox.hlo import F32, Shape
    >>> evaluate_operation("convert", np.arange(3), shape=Shape(F32, (3,)))
    array([0., 1., 2.], dtype=float32)
    """
    parameters = [
        make_instruction("parameter", (), {"number": number}, shape_of(operand)) for number, operand in enumerate(operands)
    ]
    instruction = make_instruction(opcode, parameters, attributes, shape)
    return evaluate_instruction(instruction, operands, Evaluator(environment=environment))

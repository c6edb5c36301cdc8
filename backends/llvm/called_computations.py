"""Computations on scalars that hold arrays, or other operations that take more than registers.

They are functions of their own, called for one element at a time. Whoever emits a module supplies them (`Module`).
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ...compile.memo import Memo
from ...hlo import TOKEN, Computation, Instruction, leaves
from ...hlo.instruction import callees_first
from .elementwise import ELEMENTWISE_EMITTERS
from .module import Module
from .types import RegisterValue

ScalarValue = RegisterValue | list  # nested lists for tuples
ScalarEmitter = Callable[[ir.IRBuilder, Instruction, list[ScalarValue], int], ScalarValue]

# What emits operations that are not elementwise in registers, where all shapes are scalars; `scalar_computations` fills it.
IN_REGISTERS: dict[str, ScalarEmitter] = {}


_holding: Memo[Computation, bool] = Memo()


def holds_arrays(computation: Computation) -> bool:
    """Whether a computation on scalars, or what it calls, cannot be emitted in registers."""
    found = _holding.get(computation)
    if found is None:
        found = _holding[computation] = _holds_arrays(computation)
    return found


def _holds_arrays(computation: Computation) -> bool:
    return any(_takes_memory(instruction) for inside in callees_first(computation) for instruction in inside.instructions)


def _takes_memory(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    if opcode != "parameter" and opcode not in IN_REGISTERS and opcode not in ELEMENTWISE_EMITTERS:
        return True
    if opcode == "constant" and instruction.shape.is_tuple:
        return True
    return any(shape.rank or shape.element_type is TOKEN for shape in leaves(instruction.shape))


def emit_called(
    builder: ir.IRBuilder, computation: Computation, arguments: list[RegisterValue], lanes: int
) -> list[RegisterValue]:
    """The results of a call, a list of one unless the computation returns a tuple."""
    module = builder.module
    if lanes > 1 or not isinstance(module, Module) or module.called_computations is None:
        raise NotImplementedError(f"{computation!r} holds arrays: it has no native code for several elements at once")
    return module.called_computations(builder, computation, arguments)

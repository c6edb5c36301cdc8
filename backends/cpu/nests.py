"""Loop nests of single instructions: what they are given, and how they come into the table of emitters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from types import MappingProxyType

import numpy as np
from llvmlite import ir

from ...compile.fused_computations import as_computation
from ...hlo import Instruction
from ..llvm.arrays import Array
from ..llvm.elemental import Binding
from .emitter_table import emits
from .frame import Frame, Leaf, Values
from .target import Target


@dataclass(frozen=True)
class Nest:
    """What a nest is emitted from, inside of the function that it may become.

    ``operands`` are arrays and scalars in registers; ``outputs`` arrays for the leaves of the result, scalars too; ``scratch``
    is the memory that the instruction asked for, ``tables`` the addresses of constants; ``stops`` says where
    some of the dimensions that the nest goes over end, if they do so earlier.
    """

    builder: ir.IRBuilder
    target: Target
    instruction: Instruction
    operands: list[Binding]
    outputs: list[Array]
    scratch: ir.Value | None
    tables: list[ir.Value]
    stops: Mapping[int, ir.Value]


EmitNest = Callable[[Nest], None]

# The weight (see `RegionFunctions.emit`) of a nest that says nothing else.
LONG_NEST = 60


def emits_nest(
    opcode: str,
    scratch: Callable[[Instruction], int] | None = None,
    tables: Callable[[Instruction], Sequence[np.ndarray]] = lambda instruction: (),
    scalars: Callable[[Instruction], int] = lambda instruction: 0,
    is_native: Callable[[Instruction], bool] | None = None,
    weight: int = LONG_NEST,
) -> Callable[[EmitNest], EmitNest]:
    """Decorator: the function emits the loop nest of this operation, inline or as a function of the module.

    ``scratch`` says how many bytes of memory it needs, ``tables`` which constants it reads, ``scalars`` how many of the last
    operands it takes in registers (all others are arrays, if need be on the stack), ``is_native`` which instructions it is for,
    ``weight`` how long its code is (see `RegionFunctions.emit`).
    """

    def register(emit: EmitNest) -> EmitNest:
        def run(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
            split = len(instruction.operands) - scalars(instruction)
            operands: list[Binding] = [
                frame.in_memory(values[operand][0], operand.shape) for operand in instruction.operands[:split]
            ]
            operands += [values[operand][0] for operand in instruction.operands[split:]]
            addresses = [frame.module.constant_pointer(table) for table in tables(instruction)]
            stops = frame.stops(instruction, values)
            return emit_nest(frame, instruction, emit, operands, frame.outputs(instruction), addresses, weight, stops)

        emits(opcode, scratch, is_native)(run)
        return emit

    return register


def emit_nest(
    frame: Frame,
    instruction: Instruction,
    emit: EmitNest,
    operands: list[Binding],
    outputs: list[Array],
    tables: Sequence[ir.Value] = (),
    weight: int = LONG_NEST,
    stops: Mapping[int, ir.Value] = MappingProxyType({}),
) -> list[Leaf]:
    """Emit the nest of an instruction; the leaves of its result."""
    scratch = frame.scratch(instruction)
    memory = [] if scratch is None else [scratch]

    def inside(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        ends = [0, *accumulate(map(len, (operands, outputs, memory, tables, stops)))]
        given = [bindings[start:end] for start, end in pairwise(ends)]
        own = given[2][0] if memory else None
        emit(Nest(builder, frame.target, instruction, given[0], given[1], own, given[3], dict(zip(stops, given[4]))))

    key = (instruction.opcode, as_computation(instruction), tuple(stops))
    frame.regions.emit(frame.builder, key, [*operands, *outputs, *memory, *tables, *stops.values()], inside, weight)
    return frame.loaded(outputs)

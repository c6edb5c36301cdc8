"""Loop nests of single instructions: what they are given, and how they come into the table of emitters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from types import MappingProxyType

import numpy as np
from llvmlite import ir

from ...compile.fused_computations import as_computation
from ...hlo import Instruction
from ..llvm.arrays import Array
from ..llvm.elemental import Binding
from ..llvm.types import I8, I64
from .emitter_table import emits, scratch_bytes
from .frame import Frame, Leaf, Values
from .region_functions import UNDIVIDED, Division, RegionFunctions
from .target import Target
from .work_estimate import nanoseconds


@dataclass(frozen=True)
class Nest:
    """What a nest is emitted from, inside of the function that it may become.

    ``operands`` are arrays and scalars in registers; ``outputs`` arrays for the leaves of the result, scalars too; ``scratch``
    is the memory that the instruction asked for, without what each thread has for itself, which is ``own``, of ``own_bytes``;
    ``tables`` are the addresses of constants; ``stops`` says where some of the dimensions that the nest goes over end, if they
    do so earlier; ``work`` is an estimate in nanoseconds, and ``regions`` takes functions that the nest may call.
    """

    builder: ir.IRBuilder
    target: Target
    instruction: Instruction
    operands: list[Binding]
    outputs: list[Array]
    scratch: ir.Value | None
    own: ir.Value | None
    own_bytes: int
    tables: list[ir.Value]
    stops: Mapping[int, ir.Value]
    work: int
    regions: RegionFunctions


EmitNest = Callable[[Nest], None]


OWN_BYTES: dict[str, Callable[[Instruction], int]] = {}
"""The memory that each thread needs for itself, of the operations that have a nest."""

# The weight (see `RegionFunctions.emit`) of a nest that says nothing else.
LONG_NEST = 60


def always(instruction: Instruction) -> bool:
    """That an operation is divided wherever it does enough work."""
    return True


def emits_nest(
    opcode: str,
    scratch: Callable[[Instruction], int] | None = None,
    tables: Callable[[Instruction], Sequence[np.ndarray]] = lambda instruction: (),
    scalars: Callable[[Instruction], int] = lambda instruction: 0,
    is_native: Callable[[Instruction], bool] | None = None,
    weight: int = LONG_NEST,
    divides: Callable[[Instruction], bool] = lambda instruction: False,
    own: Callable[[Instruction], int] = lambda instruction: 0,
    before: Callable[[Instruction], Sequence[EmitNest]] = lambda instruction: (),
) -> Callable[[EmitNest], EmitNest]:
    """Decorator: the function emits the loop nest of this operation, inline or as a function of the module.

    It may be divided among threads if it ``divides`` (see `region_functions.Division`), and each of what ``before`` gives emits
    what has to be complete before the next one. ``scratch`` says how many bytes of memory it needs, ``own`` how many of these
    each thread needs for itself, ``tables`` which constants it reads, ``scalars`` how many of the last operands it takes in
    registers (all others are arrays, if need be on the stack), ``is_native`` which instructions it is for, ``weight`` how long
    its code is (see `RegionFunctions.emit`).
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
            outputs, own_bytes = frame.outputs(instruction), own(instruction)
            given = (operands, outputs, addresses, weight, stops, divides(instruction), own_bytes, before(instruction))
            return emit_nest(frame, instruction, emit, *given)

        emits(opcode, scratch, is_native)(run)
        OWN_BYTES[opcode] = own
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
    divides: bool = False,
    own_bytes: int = 0,
    before: Sequence[EmitNest] = (),
) -> list[Leaf]:
    """Emit the nest of an instruction; the leaves of its result."""
    computation, shared, own = as_computation(instruction), frame.scratch(instruction), None
    if own_bytes:
        start = scratch_bytes(instruction) - own_bytes
        own = frame.builder.gep(shared, [I64(start)], source_etype=I8)
        shared = shared if start else None
    memory = [pointer for pointer in (shared, own) if pointer is not None]

    def inside(emit: EmitNest, builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        ends = [0, *accumulate(map(len, (operands, outputs, memory, tables, stops)))]
        arrays, results, pointers, addresses, registers = (bindings[start:end] for start, end in pairwise(ends))
        of_thread = pointers.pop() if own is not None else None
        of_all = pointers.pop() if pointers else None
        ends_of = dict(zip(stops, registers))
        given = (instruction, arrays, results, of_all, of_thread, own_bytes, addresses, ends_of, work, frame.regions)
        emit(Nest(builder, frame.target, *given))

    work = nanoseconds(computation)
    division = Division(work, scratch=own, scratch_bytes=own_bytes) if divides else UNDIVIDED
    values = [*operands, *outputs, *memory, *tables, *stops.values()]
    names = [f"{instruction.opcode}.before{number or ''}" for number in range(len(before))]
    for name, part in zip((*names, instruction.opcode), (*before, emit)):
        key = (name, computation, tuple(stops))
        frame.regions.emit(frame.builder, key, values, partial(inside, part), weight, division)
    return frame.loaded(outputs)

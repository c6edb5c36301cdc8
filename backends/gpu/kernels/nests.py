"""The CPU backend's loop nests as kernels, for devices that are processors.

What makes a kernel fast on a GPU, memory that a block shares, barriers, one lane a thread, makes it slow on a processor, where
one thread runs all of a block. There a block is one thread, which computes a piece of the nest that the CPU backend would
compute: vectors, register blocks, sorting by its own means. Who hands out the pieces is the driver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from ....compile.fused_computations import as_computation
from ....hlo import U8, Instruction, Shape
from ...cpu import regions  # noqa: F401  (importing them fills the table of nests)
from ...cpu.nests import NESTS, EmitNest, Nest
from ...cpu.region_functions import UNDIVIDED, Division, most_pieces
from ...cpu.target import Target as ProcessorTarget
from ...cpu.work_estimate import nanoseconds
from ...llvm.arrays import Array, stack_array
from ...llvm.elemental import Binding
from ...llvm.types import I8, I64, flatten, unflatten
from ..emitter_table import ON_PROCESSORS, ProcessorForm, has_code
from ..frame import Frame, Leaf, Stored, Values
from ..kernel import Grid, Kernel

# More pieces than these, each of which may have memory of its own, do not keep more threads busy.
_MOST_PIECES = 64
# Memory of a piece that is larger than this lies in the device's memory, not in that of its block.
_MOST_SHARED_BYTES = 128 << 10
# Inside of loops a kernel that takes less time than this may better be a phase of one that runs the whole loop.
_LEAST_NANOSECONDS_IN_LOOPS = 100_000


@dataclass(frozen=True)
class _Undivided:
    """What nests ask of `RegionFunctions`, where regions inside of them are functions that one thread runs."""

    module: ir.Module
    target: ProcessorTarget

    @staticmethod
    def is_divided(work: int) -> bool:
        return False

    def emit(
        self,
        builder: ir.IRBuilder,
        key: tuple,
        values: list[Binding],
        emit: Callable[[ir.IRBuilder, list[Binding]], None],
        weight: int,
        division: Division = UNDIVIDED,
    ) -> int:
        like = [value.pointer if isinstance(value, Array) else value for value in values]
        given = flatten(like)
        kind = ir.FunctionType(ir.VoidType(), [value.type for value in given])
        function = ir.Function(self.module, kind, self.module.get_unique_name("region"))
        function.linkage = "internal"
        function.attributes.add("alwaysinline")
        inside = ir.IRBuilder(function.append_basic_block("entry"))
        bound = unflatten(function.args, like)
        emit(inside, [Array(b, value.shape) if isinstance(value, Array) else b for value, b in zip(values, bound)])
        inside.ret_void()
        builder.call(function, given)
        return 1


def _work(instruction: Instruction) -> int:
    return nanoseconds(as_computation(instruction))


def _pieces(instruction: Instruction) -> int:
    """How many pieces an instruction is divided into, at most."""
    return min(_MOST_PIECES, most_pieces(_work(instruction)))


def _own_bytes(instruction: Instruction) -> int:
    """The device's memory that each piece has for itself."""
    own = NESTS[instruction.opcode].own(instruction)
    return 0 if own <= _MOST_SHARED_BYTES else own


def _common_bytes(instruction: Instruction) -> int:
    """The device's memory that pieces have in common."""
    form = NESTS[instruction.opcode]
    return form.scratch(instruction) - form.own(instruction)


def scratch_bytes(instruction: Instruction) -> int:
    return _common_bytes(instruction) + _own_bytes(instruction) * _pieces(instruction)


def emit_nest(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """Launch kernels for the nest of an instruction, and for what has to be complete before it."""
    form = NESTS[instruction.opcode]
    operands = [values[operand][0] for operand in instruction.operands]
    outputs = [output for output in frame.outputs(instruction) if output is not None]
    for number, part in enumerate(form.before(instruction)):
        _launch(frame, instruction, ("before", number), part, operands, outputs, True)
    _launch(frame, instruction, "nest", form.emit, operands, outputs, form.divides(instruction))
    return list(outputs)


def _launch(
    frame: Frame,
    instruction: Instruction,
    key: object,
    emit: EmitNest,
    operands: list[Leaf],
    outputs: list[Stored],
    divides: bool,
) -> None:
    form, target = NESTS[instruction.opcode], frame.target.processor
    assert target is not None
    tables = [frame.constant(table, Shape(U8, (table.nbytes,))) for table in form.tables(instruction)]
    size, common, own = scratch_bytes(instruction), _common_bytes(instruction), form.own(instruction)
    scratch = [frame.scratch(instruction, Shape(U8, (size,)))] if size else []
    in_registers = len(operands) - form.scalars(instruction)
    wanted = _pieces(instruction) if divides else 1

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, count = kernel.builder, len(operands)
        given = [_in_memory(b, binding, operand) for binding, operand in zip(bindings[:in_registers], operands)]
        memory = arrays[len(outputs)].pointer if scratch else None
        of_piece = None
        if own and _own_bytes(instruction):
            assert memory is not None
            number = b.zext(kernel.block(), I64)
            of_piece = b.gep(memory, [b.add(I64(common), b.mul(number, I64(own)))], source_etype=I8)
        elif own:
            of_piece = kernel.shared(own, 64)
        nest = Nest(
            b, target, instruction, [*given, *bindings[in_registers:count]], arrays[: len(outputs)], memory if common else None,
            of_piece, own, [table.pointer for table in bindings[count:]], {}, _work(instruction), _Undivided(kernel.module, target),
        )  # fmt: skip
        emit(nest)

    frame.launch(
        instruction.opcode,
        (key, frame.number(instruction)),
        [*operands, *tables],
        [*outputs, *scratch],
        Grid((wanted, 1, 1), (1, 1, 1)),
        write,
        pieces=wanted > 1,
    )


def _in_memory(b: ir.IRBuilder, binding: Binding, leaf: Leaf) -> Array:
    """An array, or a scalar on the stack."""
    if isinstance(binding, Array):
        return binding
    assert leaf is not None
    slot = stack_array(b, leaf.shape)
    slot.store(b, (), binding, 1)
    return slot


def _is_for(frame: Frame, instruction: Instruction) -> bool:
    if not NESTS[instruction.opcode].is_native(instruction) or not has_code(instruction):
        return False
    return not frame.depth or _work(instruction) >= _LEAST_NANOSECONDS_IN_LOOPS


for _opcode in ("dot",):
    ON_PROCESSORS[_opcode] = ProcessorForm(emit_nest, _is_for, scratch_bytes)

"""Scatters in pieces: each combines its part of the updates in a table of its own, and the tables are combined in order.

That takes an operation which may be applied in any order, and has an identity, and few elements beside many updates. Sums of
floats are then rounded otherwise than one after the other, which XLA does not promise either; how depends on the shapes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from llvmlite import ir

from ....compile.in_place import update_of
from ....hlo import Computation, Instruction, Shape
from ....hlo.slices import slice_dimensions
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine
from ...llvm.loops import carried_loop
from ...llvm.pieces import piece_number
from ...llvm.reductions import splat_identity
from ...llvm.scalar_computations import emit_scalar_computation
from ...llvm.types import I8, I64, RegisterValue
from ..frame import Frame
from ..nest_samples import combining, samples
from ..region_functions import Division, most_pieces
from ..vectors import VectorLoop, lanes_for
from ..work_estimate import copying, nanoseconds

# As many tables at most, and as many bytes of them.
_MOST_TABLES, _MOST_BYTES = 16, 1 << 20
# What a table costs, each element of which is written twice and read, beside its updates; and an update that is not a vector.
_UPDATES_OF_ELEMENT = 2
_NANOSECONDS_OF_UPDATE = 0.5
# Tables of different threads have no line of the cache in common.
_ALIGNMENT = 128

EmitUpdates = Callable[[ir.IRBuilder, list[Binding], Array, bool], None]


def table_bytes(instruction: Instruction) -> int:
    """The memory that a scatter, or the fusion that ends with one, needs for tables; 0 where it has none."""
    scatter = instruction if instruction.opcode == "scatter" else update_of(instruction)
    if scatter is None or scatter.opcode != "scatter":
        return 0
    most = _most_tables(scatter)
    return most * _distance(scatter.shape) if most else 0


def _distance(table: Shape) -> int:
    return -(-table.byte_size // _ALIGNMENT) * _ALIGNMENT


def _most_tables(scatter: Instruction) -> int:
    """How many tables there are at most; 0 where the updates are made in the operand."""
    shape, updates = scatter.shape, scatter.operands[-1].shape
    if shape.is_tuple or not shape.rank or not shape.size:
        return 0
    operation = scatter.attributes["to_apply"].combining_operation
    if operation is None or operation.identity(shape.element_type) is None:
        return 0
    batch = slice_dimensions("scatter", shape.rank, scatter.operands[1].shape.rank, scatter.attributes).batch_dims
    if not batch:
        return 0
    most = min(
        _MOST_TABLES,
        _MOST_BYTES // _distance(shape),
        updates.dimensions[batch[0]],
        updates.size // (_UPDATES_OF_ELEMENT * shape.size),
        most_pieces(_work(scatter)),
    )
    return most if most > 1 else 0


def _work(scatter: Instruction) -> int:
    """The nanoseconds that it takes, without what computes the indices and updates."""
    updates = scatter.operands[-1].shape
    in_window = prod(updates.dimensions[dimension] for dimension in scatter.attributes["update_window_dims"])
    return max(copying(updates), int(updates.size // max(1, in_window) * _NANOSECONDS_OF_UPDATE))


@samples(
    """
    x = f32[10] parameter(0)
    i = s32[40001] parameter(1)
    u = f32[40001] parameter(2)
    ROOT y = f32[10] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
      index_vector_dim=1, to_apply=add_f32
    """,
    # Rows, at places of several dimensions.
    """
    x = s32[9,20] parameter(0)
    i = s32[301,107,1] parameter(1)
    u = s32[301,107,20] parameter(2)
    ROOT y = s32[9,20] scatter(x, i, u), update_window_dims={2}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
      index_vector_dim=2, to_apply=maximum_s32
    """,
    # Its operand is needed afterwards; places and updates take some computing.
    """
    x = s64[9] parameter(0)
    i = f32[50003] parameter(1)
    u = s64[50003] parameter(2)
    half = f32[] constant(0.5)
    halves = f32[50003] broadcast(half), dimensions={}
    middle = f32[50003] add(i, halves)
    below = f32[50003] floor(middle)
    root = f32[50003] sqrt(below)
    place = s32[50003] convert(root)
    n = s64[50003] negate(u)
    m = s64[50003] multiply(n, u)
    y = s64[9] scatter(x, place, m), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
      index_vector_dim=1, to_apply=add_s64
    ROOT both = (s64[9], s64[9]) tuple(x, y)
    """,
    calls=combining("add", "f32[]") + combining("add", "s64[]") + combining("maximum", "s32[]"),
)
def emit_in_tables(
    frame: Frame,
    instruction: Instruction,
    computation: Computation,
    arguments: list[Binding],
    output: Array,
    emit_updates: EmitUpdates,
) -> None:
    """The scatter with which the computation ends, into the output, which holds the operand."""
    builder, functions, target, scatter = frame.builder, frame.regions, frame.target, computation.root
    shape, combine, tables = output.shape, scatter.attributes["to_apply"], frame.scratch(instruction)
    distance = _distance(shape)
    flat = shape.with_dimensions((shape.size,))
    lanes = lanes_for(target, shape.size, combine, [shape.element_type])
    identity = combine.combining_operation.identity(shape.element_type)

    def table(builder: ir.IRBuilder, tables: ir.Value, number: ir.Value, shape: Shape) -> Array:
        return Array(builder.gep(tables, [builder.mul(number, I64(distance))], source_etype=I8), shape)

    def part(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        *given, tables = bindings
        number = piece_number(builder)
        own = table(builder, tables, I64(number) if isinstance(number, int) else number, shape)
        begin(builder, Array(own.pointer, flat))
        emit_updates(builder, given, own, True)

    def begin(builder: ir.IRBuilder, own: Array) -> None:
        def store(component: Affine, lanes: int, mask: ir.Value | None) -> None:
            own.store(builder, (component,), splat_identity(shape.element_type, identity, lanes), lanes, mask)

        VectorLoop(builder, lanes, in_place=False).emit(shape.size, store)

    work = max(_work(scatter), nanoseconds(computation))
    division = Division(work, _most_tables(scatter))
    pieces = functions.emit(builder, ("scatter.part", computation), [*arguments, tables], part, 10, division)

    def total(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        output, tables = bindings
        output = Array(output.pointer, flat)

        def combined(component: Affine, lanes: int, mask: ir.Value | None) -> None:
            def load(number: ir.Value) -> RegisterValue:
                return table(builder, tables, number, flat).load(builder, (component,), lanes, mask)

            def both(first: RegisterValue, second: RegisterValue) -> list[RegisterValue]:
                return emit_scalar_computation(builder, combine, [first, second], lanes)

            def following(number: ir.Value, totals: list[RegisterValue]) -> list[RegisterValue]:
                return both(*totals, load(number))

            totals = carried_loop(builder, 1, pieces, 1, [load(I64(0))], following, "tables")
            (value,) = both(output.load(builder, (component,), lanes, mask), *totals)
            output.store(builder, (component,), value, lanes, mask)

        VectorLoop(builder, lanes, in_place=True, independent=True).emit(shape.size, combined)

    key = ("scatter.total", computation, pieces)
    functions.emit(builder, key, [output, tables], total, 10, Division((pieces + 2) * copying(shape) // 2))

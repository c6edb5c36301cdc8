"""The compaction region: elements that a mask selects move to the front of an array.

A register of elements is moved together where the processor can do that. Elsewhere eight bytes of the mask are looked at: if
all are 0 nothing is done; otherwise all eight elements are stored, each where the next selected one belongs, so that those that
are not selected are overwritten, and no branch depends on one alone.
"""

from __future__ import annotations

from llvmlite import ir

from ....hlo import Instruction
from ...llvm.arithmetic import count_lanes
from ...llvm.arrays import Array
from ...llvm.loops import carried_loop
from ...llvm.memory import copy_apart, element_address
from ...llvm.types import I8, I64, broadcast_lanes, lane_numbers
from ..frame import Frame, Leaf, Values
from ..nest_samples import running_sum, samples
from ..nests import Nest, emit_nest
from ..target import Target
from ..vectors import compressed, compresses_lanes

# Bytes that are looked at together.
_GROUP = 8
_EACH_BYTE = 0x0101010101010101

_PLACES = """
    number = s32[{n}] convert(m)
    zero = s32[] constant(0)
    counted = (s32[{n}], s32[]) scan(number, zero), dimensions={{0}}, num_carries=1, to_apply=running_sum_s32
    count = s32[{n}] get-tuple-element(counted), index=0
    last = s32[1] slice(count), slice={{[{last}:{n}]}}
    size = s32[] reshape(last)
"""


def _elements(count: int, element_type: str, zero: str = "0") -> str:
    return f"""
    x = {element_type}[{count}] parameter(0)
    m = pred[{count}] parameter(1)
    {_PLACES.format(n=count, last=count - 1)}
    place = s32[{count}] subtract(count, number)
    nothing = {element_type}[] constant({zero})
    empty = {element_type}[{count}] broadcast(nothing), dimensions={{}}
    moved = {element_type}[{count}] scatter(empty, place, x), update_window_dims={{}}, inserted_window_dims={{0}},
      scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=second_{element_type}
    ROOT y = {element_type}[<={count}] set-dimension-size(moved, size), dimensions={{0}}
    """


_ROWS = f"""
    x = f32[21,3] parameter(0)
    m = pred[21] parameter(1)
    {_PLACES.format(n=21, last=20)}
    one = s32[] constant(1)
    ones = s32[21] broadcast(one), dimensions={{}}
    before = s32[21] subtract(count, ones)
    end = s32[] constant(21)
    ends = s32[21] broadcast(end), dimensions={{}}
    place = s32[21] select(m, before, ends)
    nothing = f32[] constant(0)
    empty = f32[21,3] broadcast(nothing), dimensions={{}}
    moved = f32[21,3] scatter(empty, place, x), update_window_dims={{1}}, inserted_window_dims={{0}},
      scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=second_f32
    ROOT y = f32[<=21,3] set-dimension-size(moved, size), dimensions={{0}}
    """


def _second(element_type: str) -> str:
    return f"""second_{element_type} {{
      first = {element_type}[] parameter(0)
      ROOT second = {element_type}[] parameter(1)
    }}
    """


_CALLED = running_sum("s32[]") + "".join(map(_second, ("f64", "f32", "s8", "c64", "c128", "s64")))
_POSITIONS = (
    _elements(100, "s64")
    .replace("x = s64[100] parameter(0)", "x = s64[100] iota(), iota_dimension=0")
    .replace("parameter(1)", "parameter(0)")
)


@samples(
    _elements(100, "f64"),
    _elements(7, "s8"),
    _elements(16, "c64", "(0, 0)"),
    _elements(21, "c128", "(0, 0)"),
    _POSITIONS,
    _ROWS,
    calls=_CALLED,
)
def compaction(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """The custom-call that `compact-selections` makes."""
    operands = [frame.in_memory(values[operand][0], operand.shape) for operand in instruction.operands]
    return emit_nest(frame, instruction, _emit, list(operands), frame.outputs(instruction))


def _emit(nest: Nest) -> None:
    mask, *values = nest.operands
    (output,) = nest.outputs
    if output.shape.rank > 1:
        _emit_rows(nest.builder, mask, values[0], output)
    else:
        _emit_elements(nest.builder, nest.target, mask, values[0] if values else None, output)


def _emit_elements(b: ir.IRBuilder, target: Target, mask: Array, values: Array | None, output: Array) -> None:
    itemsize = output.shape.element_type.dtype.itemsize
    element = ir.IntType(8 * itemsize) if itemsize <= I64.width // 8 else ir.VectorType(I64, itemsize * 8 // I64.width)
    count = mask.shape.dimensions[0]
    together = compresses_lanes(target) and itemsize in (4, 8)
    size = target.lanes(itemsize) if together else _GROUP
    groups = count // size

    def move(position: ir.Value, to: ir.Value) -> None:
        value = (
            position if values is None else b.load(element_address(b, values.pointer, position, element), align=1, typ=element)
        )
        b.store(value, element_address(b, output.pointer, to, element), align=1)

    def group(number: ir.Value, carried: list) -> list:
        (done,) = carried
        first = b.mul(number, I64(_GROUP))
        flags = b.load(element_address(b, mask.pointer, number, I64), align=1, typ=I64)
        sums = b.mul(flags, I64(_EACH_BYTE))  # in each byte, how many of this and the bytes below it are 1
        with b.if_then(b.icmp_unsigned("!=", flags, I64(0))):
            for place in range(_GROUP):
                before = done
                if place:
                    before = b.add(done, b.and_(b.lshr(sums, I64(8 * (place - 1))), I64(255)))
                move(b.add(first, I64(place)), before)
        return [b.add(done, b.lshr(sums, I64(56)))]

    def vector(number: ir.Value, carried: list) -> list:
        (done,) = carried
        first, lanes = b.mul(number, I64(size)), ir.VectorType(element, size)
        flags = b.load(element_address(b, mask.pointer, first, I8), align=1, typ=ir.VectorType(I8, size))
        selected = b.icmp_unsigned("!=", flags, ir.Constant(flags.type, None))
        if values is None:
            start = first if element == I64 else b.trunc(first, element)
            moved = b.add(broadcast_lanes(b, start, size), lane_numbers(element, size))
        else:
            moved = b.load(element_address(b, values.pointer, first, element), align=1, typ=lanes)
        b.store(compressed(b, moved, selected), element_address(b, output.pointer, done, element), align=1)
        return [b.add(done, count_lanes(b, selected, I64))]

    def single(position: ir.Value, carried: list) -> list:
        (done,) = carried
        move(position, done)
        flag = b.load(element_address(b, mask.pointer, position, I8), align=1, typ=I8)
        return [b.add(done, b.zext(flag, I64))]

    done = carried_loop(b, 0, groups, 1, [I64(0)], vector if together else group, "groups") if groups else [I64(0)]
    if count % size:
        carried_loop(b, groups * size, count, 1, done, single, "rest")


def _emit_rows(b: ir.IRBuilder, mask: Array, values: Array, output: Array) -> None:
    row = values.shape.byte_size // values.shape.dimensions[0]

    def step(position: ir.Value, carried: list) -> list:
        (done,) = carried
        flag = b.load(element_address(b, mask.pointer, position, I8), align=1, typ=I8)
        with b.if_then(b.icmp_unsigned("!=", flag, I8(0))):
            to = element_address(b, output.pointer, b.mul(done, I64(row)), I8)
            source = element_address(b, values.pointer, b.mul(position, I64(row)), I8)
            copy_apart(b, to, source, row)
        return [b.add(done, b.zext(flag, I64))]

    carried_loop(b, 0, mask.shape.dimensions[0], 1, [I64(0)], step, "rows")

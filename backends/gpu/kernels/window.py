"""Windows that slide over arrays: a thread for each place of the window, or for each element that is sent something."""

from __future__ import annotations

from math import prod

from llvmlite import ir

from ....hlo import S32, S64, Instruction, Shape, leaves
from ....hlo.window import WindowDimension, dilated_size
from ...llvm import index as indices
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine, Index, i64
from ...llvm.loops import carried_loop
from ...llvm.scalar_computations import emit_scalar_computation
from ...llvm.types import I1, I32, I64, RegisterValue, broadcast_lanes
from ...llvm.windows import select_all, visit_window
from .. import choices
from ..emitter_table import emits
from ..frame import Frame
from ..kernel import Grid, Kernel, index_of, wide
from ..operations import has_scalars_alone
from ..values import Leaf, Stored, Values
from .atomics import combine_atomically, may_be_atomic, operation_in_any_order
from .sort_order import flat
from .vectors import aligned

THREADS = 256


@emits("reduce-window")
def reduce_window(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """Reduce the elements at each place of the window."""
    count = len(instruction.operands) // 2
    window, to_apply = instruction.attributes["window"], instruction.attributes["to_apply"]
    inputs = [values[operand][0] for operand in instruction.operands]
    sizes = instruction.operands[0].shape.dimensions
    if has_scalars_alone(instruction):

        def combined(b: ir.IRBuilder, bindings: list[Binding]) -> list[RegisterValue]:
            return emit_scalar_computation(b, to_apply, [*bindings[count:], *bindings[:count]], 1)

        return list(frame.compute_scalars(frame.number(instruction), inputs, leaves(instruction.shape), combined))
    outputs = frame.outputs(instruction)
    places = outputs[0].shape

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, number, operands = kernel.builder, kernel.number(), bindings[:count]
        with b.if_then(b.icmp_unsigned("<", number, number.type(places.size))):
            place = index_of(b, number, places.dimensions)

            def visit(index: Index, is_element: ir.Value | bool, totals: list[RegisterValue]) -> list[RegisterValue]:
                elements = [operand.load(b, index, 1) for operand in operands]
                return select_all(b, is_element, emit_scalar_computation(b, to_apply, [*totals, *elements], 1), totals)

            totals = visit_window(b, window, sizes, place, False, bindings[count:], visit)
            for array, total in zip(arrays, totals):
                array.store(b, place, total, 1)

    if places.size:
        grid = Grid.of(places.size, THREADS)
        frame.launch("reduce_window", frame.number(instruction), inputs, outputs, grid, write, instruction.source)
    return list(outputs)


def _positions(instruction: Instruction) -> Shape:
    """Of each place of the window, which element it selects: a number in row-major order, -1 for none."""
    operand, source, _ = instruction.operands
    return Shape(S32 if operand.shape.size < 1 << 31 else S64, (source.shape.size,))


def _is_sent_atomically(instruction: Instruction, is_deterministic: bool) -> bool:
    """Whether what windows select is combined as it is found: it may be in any order, and windows overlap much."""
    operation = operation_in_any_order(instruction.attributes["scatter"])
    if not may_be_atomic(operation, instruction.shape.element_type, is_deterministic):
        return False
    window = instruction.attributes["window"]
    return prod([-(-dilated_size(one.size, one.window_dilation) // one.stride) for one in window]) > choices.MOST_PLACES


def _scratch(instruction: Instruction, is_deterministic: bool) -> int:
    return 0 if _is_sent_atomically(instruction, is_deterministic) else _positions(instruction).byte_size


@emits("select-and-scatter", ordered_scratch=_scratch)
def select_and_scatter(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """A thread for each place finds what its window selects; then one for each element combines what is sent to it.

    In the order of the places, so that results are the same from run to run; or the first of them sends at once, by atomic
    operations.
    """
    operand, source, init = (values[one][0] for one in instruction.operands)
    window = instruction.attributes["window"]
    (output,) = outputs = frame.outputs(instruction)
    if not output.shape.size:
        return list(outputs)
    key, shape = frame.number(instruction), _positions(instruction)
    is_atomic = _is_sent_atomically(instruction, frame.is_deterministic)
    sizes, places = instruction.operands[0].shape.dimensions, instruction.operands[1].shape.dimensions
    integer = I32 if shape.element_type is S32 else I64

    def select(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, number, (elements, init_value, *sent) = kernel.builder, kernel.number(), bindings
        with b.if_then(b.icmp_unsigned("<", number, number.type(shape.size))):
            place = index_of(b, number, places)

            def visit(index: Index, is_element: ir.Value | bool, found: list[RegisterValue]) -> list[RegisterValue]:
                has_any, _, best = found
                candidate = _element(elements, b, index)
                (first,) = emit_scalar_computation(b, instruction.attributes["select"], [best, candidate], 1)
                position = indices.linear_offset(b, index, _strides(sizes), 1)
                here: list[RegisterValue] = [I1(1), i64(position.base), candidate]
                return select_all(b, is_element, select_all(b, b.and_(has_any, first), found, here), found)

            nothing: list[RegisterValue] = [I1(0), I64(-1), init_value]
            has_any, position, _ = visit_window(b, window, sizes, place, False, nothing, visit)
            if is_atomic:
                with b.if_then(has_any):
                    send(kernel, flat(arrays[0]).address(b, (Affine(position),)), _element(sent[0], b, place))
            else:
                arrays[0].store(b, (Affine(wide(b, number)),), position if integer is I64 else b.trunc(position, I32), 1)

    def send(kernel: Kernel, address: ir.Value, value: RegisterValue) -> None:
        b, to_apply = kernel.builder, instruction.attributes["scatter"]
        combine_atomically(
            b, kernel.target, to_apply.root.opcode, output.shape.element_type, address, value,
            lambda old, new: emit_scalar_computation(b, to_apply, [old, new], 1)[0],
        )  # fmt: skip

    if is_atomic:
        _fill(frame, instruction, key, init, output)
        if shape.size:
            grid = Grid.of(shape.size, THREADS)
            frame.launch("window_send", key, [operand, init, source], outputs, grid, select, instruction.source)
        return list(outputs)
    selected = frame.scratch(instruction, shape)
    if shape.size:
        grid = Grid.of(shape.size, THREADS)
        frame.launch("window_select", key, [operand, init], [selected], grid, select, instruction.source)

    def gather(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, number, (positions, sent, init_value) = kernel.builder, kernel.number(), bindings
        with b.if_then(b.icmp_unsigned("<", number, number.type(output.shape.size))):
            index = index_of(b, number, sizes)
            mine = wide(b, number) if integer is I64 else (number if number.type == I32 else b.trunc(number, I32))

            def combine(place: list[ir.Value], total: RegisterValue) -> RegisterValue:
                at = indices.linear_offset(b, tuple(map(Affine, place)), _strides(places), 1)
                is_sent = b.icmp_signed("==", positions.load(b, (at,), 1), mine)
                value = _element(sent, b, tuple(map(Affine, place)))
                combined = emit_scalar_computation(b, instruction.attributes["scatter"], [total, value], 1)
                (total,) = select_all(b, is_sent, combined, [total])
                return total

            total = _over_places(b, window, places, index, init_value, combine) if shape.size else init_value
            flat(arrays[0]).store(b, (Affine(wide(b, number)),), total, 1)

    grid = Grid.of(output.shape.size, THREADS)
    frame.launch("window_scatter", key, [selected, source, init], outputs, grid, gather, instruction.source)
    return list(outputs)


def _fill(frame: Frame, instruction: Instruction, key: int, value: Leaf, output: Stored) -> None:
    """Make all elements of an array one value."""
    element_type, lanes = output.shape.element_type, 1
    if not element_type.is_complex:
        lanes = max(1, frame.target.vector_bytes // element_type.byte_size)
        while output.shape.size % lanes:
            lanes //= 2
    count = output.shape.size // lanes

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, number = kernel.builder, kernel.number()
        with b.if_then(b.icmp_unsigned("<", number, number.type(count))):
            array = flat(arrays[0])
            place = Affine(b.mul(wide(b, number), I64(lanes)), 1 if lanes > 1 else 0)
            aligned(array, array.shape, lanes).store(b, (place,), broadcast_lanes(b, bindings[0], lanes), lanes)

    frame.launch("window_fill", key, [value], [output], Grid.of(count, THREADS), write, instruction.source)


def _element(array: Binding, b: ir.IRBuilder, index: Index) -> RegisterValue:
    return array.load(b, index, 1) if isinstance(array, Array) else array


def _strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def _over_places(
    b: ir.IRBuilder, window: tuple[WindowDimension, ...], places: tuple[int, ...], element: Index, total: RegisterValue, combine
) -> RegisterValue:
    """Combine over all places, in row-major order, whose windows reach an element of the base."""

    def loops(d: int, place: list[ir.Value], total: RegisterValue) -> RegisterValue:
        if d == len(places):
            return combine(place, total)
        dimension = window[d]
        position = b.add(b.mul(i64(element[d].base), I64(dimension.base_dilation)), I64(dimension.padding_low))
        behind = b.sub(position, I64((dimension.size - 1) * dimension.window_dilation))
        stride = I64(dimension.stride)
        first = b.sdiv(b.add(_at_least_zero(b, behind), I64(dimension.stride - 1)), stride)
        # What lies before the first place is at no place: rounding towards zero must not make it one.
        is_reached = b.icmp_signed(">=", position, I64(0))
        stop = b.add(b.sdiv(_at_least_zero(b, position), stride), I64(1))
        stop = b.select(b.icmp_signed("<", stop, I64(places[d])), stop, I64(places[d]))
        stop = b.select(is_reached, stop, I64(0))

        def at(number: ir.Value, totals: list[RegisterValue]) -> list[RegisterValue]:
            return [loops(d + 1, [*place, number], totals[0])]

        return carried_loop(b, first, stop, 1, [total], at, "places", most=dimension.size)[0]

    return loops(0, [], total)


def _at_least_zero(b: ir.IRBuilder, value: ir.Value) -> ir.Value:
    return b.select(b.icmp_signed("<", value, I64(0)), I64(0), value)

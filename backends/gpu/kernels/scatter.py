"""Scatter: each update by threads of its own.

Where no two updates meet, each is written at once. Where they may, integers are combined by atomic operations, which come
to the same in any order; and so are floats by operations that may be done in any order, unless results are to be the same from
run to run. All else is sorted by places, stably, so that updates of a place lie side by side in their order, and these runs are
reduced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from ....hlo import Instruction, leaves
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine, add_base
from ...llvm.loops import while_loop
from ...llvm.scalar_computations import emit_scalar_computation
from ...llvm.types import I1, I64, RegisterValue
from ..emitter_table import emits
from ..frame import Frame
from ..kernel import Grid, Kernel, of_shape, wide
from ..values import Leaf, Stored, Values
from . import vectors
from .atomics import atomic_lanes, changes_elements, combine_atomically, may_be_atomic
from .scatter_copies import scatter_by_copies, uses_copies
from .scatter_form import ScatterForm
from .scatter_runs import reduce_runs, runs_bytes
from .scatter_sorted import combines_runs, scatter_runs
from .sort_lines import sorted_bytes, sorted_records
from .sort_merge import aligned, stored_records
from .sort_order import Lines, Record, SortOrder, flat, order_of_numbers

THREADS = 256


def way_of(form: ScatterForm, is_deterministic: bool) -> str:
    """How updates that may meet are made: "alone" where they do not, "atomic", or "sorted"."""
    scatter = form.scatter
    if form.items == 1 or scatter.attributes["unique_indices"] and not form.may_overlap:
        return "alone"
    element_type = leaves(scatter.shape)[0].element_type
    return "atomic" if may_be_atomic(form.operation, element_type, is_deterministic) else "sorted"


@dataclass(frozen=True, eq=False)
class _Items:
    """Items as records that are sorted: where their first elements lie, or the greatest number, and their own numbers."""

    form: ScatterForm

    @property
    def key_bits(self) -> int:
        """What is nowhere has a one in each of these, and more."""
        return leaves(self.form.scatter.shape)[0].size.bit_length()

    @property
    def bits(self) -> int:
        size = leaves(self.form.scatter.shape)[0].size
        return 32 if size < (1 << 32) - 1 else 64

    @property
    def order(self) -> SortOrder:
        return order_of_numbers(self.bits, True)

    def load(self, b: ir.IRBuilder, operands: list[Array], place: ir.Value, position: ir.Value) -> Record:
        integer = ir.IntType(self.bits)
        starts = of_shape(operands[0], self.form.scatter.operands[self.form.outputs].shape)
        found, is_inside = self.form.place(b, starts, position)
        found = found if integer == I64 else b.trunc(found, integer)
        return [b.select(is_inside, found, integer((1 << self.bits) - 1)), position]


def _needs_order(form: ScatterForm) -> bool:
    return form.may_overlap or not form.scatter.attributes["indices_are_sorted"]


def _lines(form: ScatterForm) -> Lines:
    return Lines(1, form.items, 1)


def _sorted_bytes(form: ScatterForm) -> int:
    items = _Items(form)
    return sorted_bytes(items.order, _lines(form), items.key_bits)


def _is_empty(form: ScatterForm) -> bool:
    return not form.items or not form.elements or not leaves(form.scatter.shape)[0].size


def _scratch(scatter: Instruction, is_deterministic: bool) -> int:
    form = ScatterForm(scatter)
    if _is_empty(form) or way_of(form, is_deterministic) != "sorted":
        return 0
    return aligned(_sorted_bytes(form)) + runs_bytes(form, _Items(form).bits)


@emits("scatter", ordered_scratch=_scratch)
def scatter(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """Update the operands' own memory, or copies where they are needed afterwards."""
    form = ScatterForm(instruction)
    operands, following = instruction.operands[: form.outputs], instruction.operands[form.outputs :]
    outputs = [frame.updated(instruction, leaf, operand, values) for leaf, operand in enumerate(operands)]
    inputs = [values[operand][0] for operand in following]
    if _is_empty(form):
        return list(outputs)
    key, way = frame.number(instruction), way_of(form, frame.is_deterministic)
    if way == "sorted":
        _in_order(frame, form, key, inputs, outputs)
    elif way == "atomic" and uses_copies(form):
        scatter_by_copies(frame, form, key, inputs, outputs)
    elif way == "atomic" and combines_runs(form):
        scatter_runs(frame, form, key, inputs, outputs)
    else:
        _each(frame, form, key, inputs, outputs, way == "atomic")
    return list(outputs)


def _each(frame: Frame, form: ScatterForm, key: int, inputs: list[Leaf], outputs: list[Stored], is_atomic: bool) -> None:
    """A thread for each element of each item, or for some neighbouring ones."""
    lanes = _lanes(frame, form, is_atomic)
    count, in_item = form.items * form.elements // lanes, form.elements // lanes

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, number, (starts, *updates) = kernel.builder, kernel.number(), bindings
        with b.if_then(b.icmp_unsigned("<", number, number.type(count))):
            item, element = b.udiv(number, number.type(in_item)), b.urem(number, number.type(in_item))
            element = b.mul(element, number.type(lanes)) if lanes > 1 else element
            values = form.updates(b, updates, item, element, lanes)
            place, is_made = form.place(b, starts, item)
            if is_atomic:
                operation, element_type = form.combine.root.operation, arrays[0].shape.element_type
                is_made = b.and_(is_made, changes_elements(b, operation, element_type, values[0]))
            with b.if_then(is_made):
                base = add_base(b, place, form.element_offset(b, element) if form.elements > 1 else 0)
                place = Affine(base)
                if is_atomic:
                    (output,), (value,) = arrays, values
                    combine_atomically(
                        b, kernel.target, form.operation, output.shape.element_type, flat(output).address(b, (place,)), value,
                        lambda old, new: emit_scalar_computation(b, form.combine, [old, new], 1)[0],
                    )  # fmt: skip
                else:
                    update_elements(b, form, arrays, Affine(base, 1 if lanes > 1 else 0), values, lanes)

    name = "scatter_atomic" if is_atomic else "scatter"
    frame.launch(name, key, inputs, outputs, Grid.of(count, THREADS), write, form.scatter.source)


def _lanes(frame: Frame, form: ScatterForm, is_atomic: bool) -> int:
    """How many neighbouring elements a thread updates: as many as one instruction does."""
    element_type = leaves(form.scatter.shape)[0].element_type
    if element_type.is_complex or form.outputs > 1 or not (form.replaces or form.operation is not None):
        return 1
    lanes = frame.target.vector_bytes // element_type.byte_size
    while form.contiguous % lanes:
        lanes //= 2
    return atomic_lanes(frame.target, form.operation, element_type, lanes) if is_atomic else lanes


def update_elements(
    b: ir.IRBuilder, form: ScatterForm, outputs: list[Array], place: Affine, values: list[RegisterValue], lanes: int = 1
) -> None:
    """Combine the elements at a place of the results with values."""
    arrays = [vectors.aligned(flat(one), flat(one).shape, lanes) for one in outputs]
    current = [array.load(b, (place,), lanes) for array in arrays]
    for array, value in zip(arrays, emit_scalar_computation(b, form.combine, [*current, *values], lanes)):
        array.store(b, (place,), value, lanes)


def _in_order(frame: Frame, form: ScatterForm, key: int, inputs: list[Leaf], outputs: list[Stored]) -> None:
    instruction, items = form.scatter, _Items(form)
    if _needs_order(form):
        sorted_ = sorted_records(frame, instruction, ("scatter", key), _lines(form), items, inputs[:1])
    else:
        sorted_ = stored_records(frame, instruction, items.order, form.items, 0)
        _store_places(frame, form, items, key, inputs[:1], sorted_)
    if form.is_reduced_in_parts:
        offset = aligned(_sorted_bytes(form))
        reduce_runs(frame, form, key, items.bits, offset, sorted_, inputs[1:], outputs, update_elements)
    else:
        _walk_runs(frame, form, key, items.bits, sorted_, inputs[1:], outputs)


def _store_places(frame: Frame, form: ScatterForm, items: _Items, key: int, inputs: list[Leaf], sorted_: list[Stored]) -> None:
    """The records of items that lie in order already."""

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, number = kernel.builder, kernel.number()
        with b.if_then(b.icmp_unsigned("<", number, number.type(form.items))):
            for array, value in zip(arrays, items.load(b, [flat(bindings[0])], wide(b, number), number)):
                array.store(b, (Affine(wide(b, number)),), value, 1)

    frame.launch("scatter_places", key, inputs, sorted_, Grid.of(form.items, THREADS), write, form.scatter.source)


def _walk_runs(
    frame: Frame, form: ScatterForm, key: int, bits: int, sorted_: list[Stored], updates: list[Leaf], outputs: list[Stored]
) -> None:
    """A thread for each element of each item: the first of a run makes the updates of all, or the last one its own alone."""
    count, nowhere = form.items * form.elements, ir.IntType(bits)((1 << bits) - 1)

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, number, (places, items, *given) = kernel.builder, kernel.number(), bindings
        with b.if_then(b.icmp_unsigned("<", number, number.type(count))):
            first, element = b.udiv(number, number.type(form.elements)), b.urem(number, number.type(form.elements))
            place = places.load(b, (Affine(wide(b, first)),), 1)
            begins = _differs(b, places, first, place, -1, form.items)
            ends = _differs(b, places, first, place, 1, form.items)
            is_mine = b.and_(ends if form.replaces else begins, b.icmp_unsigned("!=", place, nowhere))
            with b.if_then(is_mine):
                target = place if place.type == I64 else b.zext(place, I64)
                target = Affine(add_base(b, target, form.element_offset(b, element) if form.elements > 1 else 0))

                def update(position: ir.Value) -> None:
                    item = items.load(b, (Affine(wide(b, position)),), 1)
                    update_elements(b, form, arrays, target, form.updates(b, given, item, element))

                if form.replaces:
                    update(first)
                else:
                    _each_of_run(b, places, first, place, form.items, update)

    frame.launch("scatter_runs", key, [*sorted_, *updates], outputs, Grid.of(count, THREADS), write, form.scatter.source)


def _differs(b: ir.IRBuilder, places: Array, number: ir.Value, place: ir.Value, step: int, count: int) -> ir.Value:
    """Whether the place of a neighbour is another one, or there is none."""
    is_at_end = b.icmp_unsigned("==", number, number.type(0 if step < 0 else count - 1))
    neighbour = b.select(is_at_end, number, b.add(number, number.type(step)))
    other = places.load(b, (Affine(wide(b, neighbour)),), 1)
    return b.or_(is_at_end, b.icmp_unsigned("!=", other, place))


def _each_of_run(
    b: ir.IRBuilder, places: Array, first: ir.Value, place: ir.Value, count: int, update: Callable[[ir.Value], None]
) -> None:
    with while_loop(b, [first, I1(1)], "run") as loop:
        position, goes_on = loop.values
        loop.leave_unless(goes_on)
        update(position)
        ends = _differs(b, places, position, place, 1, count)
        loop.carry([b.add(position, position.type(1)), b.not_(ends)])

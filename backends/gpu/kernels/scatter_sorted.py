"""Updates at places that lie in order: a thread combines those of a few items, and what comes of a run goes to memory once."""

from __future__ import annotations

from llvmlite import ir

from ....hlo import leaves
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine, add_base
from ...llvm.loops import carried_loop
from ...llvm.scalar_computations import emit_scalar_computation
from ...llvm.types import I64, RegisterValue
from ...llvm.windows import select_all
from .. import choices
from ..frame import Frame
from ..kernel import Grid, Kernel, wide
from ..values import Leaf, Stored
from .atomics import combine_atomically
from .scatter_form import ScatterForm
from .sort_order import flat, zero_of

_THREADS = 256
_NOWHERE = I64(-1)


def combines_runs(form: ScatterForm) -> bool:
    """Whether items lie in the order of their places, of a scatter that may be done in any order."""
    return form.scatter.attributes["indices_are_sorted"] and not form.may_overlap and form.items > choices.FEW_ITEMS


def _chunk(form: ScatterForm) -> int:
    items, many = form.items * form.elements, choices.MANY_ITEMS
    has_long_runs = items // max(1, leaves(form.scatter.shape)[0].size) >= many
    return many if has_long_runs and items // many >= choices.LEAST_THREADS_OF_MANY else choices.FEW_ITEMS


def scatter_runs(frame: Frame, form: ScatterForm, key: int, inputs: list[Leaf], outputs: list[Stored]) -> None:
    """Combine the updates with the results by atomic operations."""
    chunk = _chunk(form)
    count = -(-form.items // chunk) * form.elements
    element_type = leaves(form.scatter.shape)[0].element_type

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, number, (starts, *updates) = kernel.builder, kernel.number(), bindings
        output = flat(arrays[0])

        def combined(old: RegisterValue, new: RegisterValue) -> RegisterValue:
            return emit_scalar_computation(b, form.combine, [old, new], 1)[0]

        def leave(place: ir.Value, value: RegisterValue, element: ir.Value) -> None:
            with b.if_then(b.icmp_signed("!=", place, _NOWHERE)):
                place = add_base(b, place, form.element_offset(b, element) if form.elements > 1 else 0)
                address = output.address(b, (Affine(place),))
                combine_atomically(b, kernel.target, form.operation, element_type, address, value, combined)

        with b.if_then(b.icmp_unsigned("<", number, number.type(count))):
            element = b.urem(number, number.type(form.elements))
            start = b.mul(wide(b, b.udiv(number, number.type(form.elements))), I64(chunk))
            end = b.add(start, I64(chunk))
            end = b.select(b.icmp_unsigned("<", end, I64(form.items)), end, I64(form.items))

            def step(position: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
                current, value = carried
                place, is_inside = form.place(b, starts, position)
                place = b.select(is_inside, place, _NOWHERE)
                (found,) = form.updates(b, updates, position, element)
                is_new = b.icmp_signed("!=", place, current)
                with b.if_then(is_new):
                    leave(current, value, element)
                return [place, *select_all(b, is_new, [found], [combined(value, found)])]

            carried = carried_loop(b, start, end, 1, [_NOWHERE, zero_of(output.shape)], step, "runs", most=chunk)
            leave(*carried, element)

    name, grid = "scatter_sorted", Grid.of(count, _THREADS)
    frame.launch(name, (key, chunk), inputs, outputs, grid, write, form.scatter.source)

"""Many updates of few elements: each block combines its own in its memory first, in some copies of the result.

Counting into few places, or adding up there, meets in the device's memory so often that it would take many times as long.
"""

from __future__ import annotations

from llvmlite import ir

from ....hlo import F32, F64, Shape, leaves
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine, add_base
from ...llvm.loops import carried_loop
from ...llvm.scalar_computations import emit_scalar_computation
from ...llvm.types import I32, I64, RegisterValue, scalar_register_type
from .. import choices
from ..frame import Frame
from ..kernel import Grid, Kernel, wide
from ..values import Leaf, Stored
from .atomics import Combine, changes_elements, combine_atomically, combine_in_block, has_instruction
from .scatter_form import ScatterForm
from .sort_order import flat


def uses_copies(form: ScatterForm) -> bool:
    """Whether blocks combine in their memory, of a scatter that may be done in any order."""
    shape = leaves(form.scatter.shape)[0]
    is_float = form.operation == "add" and shape.element_type in (F32, F64)
    many = max(choices.COPY_LEAST_ITEMS, choices.COPY_LEAST_UPDATES * shape.size)
    has_code = is_float or has_instruction(form.operation, shape.element_type)
    return has_code and form.items * form.elements >= many and shape.byte_size <= choices.COPY_BYTES


def scatter_by_copies(frame: Frame, form: ScatterForm, key: int, inputs: list[Leaf], outputs: list[Stored]) -> None:
    shape, count = leaves(form.scatter.shape)[0], form.items * form.elements
    copies = 1
    while copies < choices.MOST_COPIES and 2 * copies * shape.byte_size <= choices.COPY_BYTES:
        copies *= 2
    threads, element_type = min(choices.COPY_THREADS, frame.target.threads), shape.element_type
    blocks = min(choices.COPY_BLOCKS, -(-count // threads), max(1, count // (choices.COPY_LEAST_IN_BLOCK * shape.size)))
    number_type = float if element_type.is_float else int
    identity = scalar_register_type(element_type)(number_type(form.combine.root.operation.identity(element_type)))
    bits = ir.IntType(element_type.bits)

    def combine(b: ir.IRBuilder) -> Combine:
        return lambda old, new: emit_scalar_computation(b, form.combine, [old, new], 1)[0]

    def as_bits(b: ir.IRBuilder, value: RegisterValue) -> ir.Value:
        return b.bitcast(value, bits) if element_type.is_float else value

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, (starts, *updates), thread = kernel.builder, bindings, kernel.thread()
        size = shape.size * copies
        held = Array(kernel.shared(size * shape.element_type.byte_size), Shape(shape.element_type, (size,)))
        output = flat(arrays[0])

        def clear(place: ir.Value, _: list) -> tuple:
            held.store(b, (Affine(place),), identity, 1)
            return ()

        carried_loop(b, wide(b, thread), size, threads, (), clear, "clear", most=-(-size // threads))
        kernel.barrier()
        copy = wide(b, b.and_(thread, I32(copies - 1)))

        def update(number: ir.Value, _: list) -> tuple:
            if count < 1 << 31:
                number = b.trunc(number, I32)
            integer = number.type
            item, element = b.udiv(number, integer(form.elements)), b.urem(number, integer(form.elements))
            (value,) = form.updates(b, updates, item, element)
            place, is_inside = form.place(b, starts, item)
            with b.if_then(b.and_(is_inside, changes_elements(b, form.combine.root.operation, element_type, value))):
                place = add_base(b, place, form.element_offset(b, element) if form.elements > 1 else 0)
                address = held.address(b, (Affine(b.add(b.mul(place, I64(copies)), copy)),))
                combine_in_block(b, kernel.target, form.operation, element_type, address, value, combine(b))
            return ()

        step = blocks * threads
        carried_loop(b, wide(b, kernel.number()), count, step, (), update, "updates", most=-(-count // step))
        kernel.barrier()

        def leave(place: ir.Value, _: list) -> tuple:
            for number in range(copies):
                value = held.load(b, (Affine(b.add(b.mul(place, I64(copies)), I64(number))),), 1)
                with b.if_then(b.icmp_unsigned("!=", as_bits(b, value), as_bits(b, identity))):
                    address = output.address(b, (Affine(place),))
                    combine_atomically(b, kernel.target, form.operation, element_type, address, value, combine(b))
            return ()

        carried_loop(b, wide(b, thread), shape.size, threads, (), leave, "leave", most=-(-shape.size // threads))

    frame.launch("scatter_copies", key, inputs, outputs, Grid((blocks, 1, 1), (threads, 1, 1)), write, form.scatter.source)

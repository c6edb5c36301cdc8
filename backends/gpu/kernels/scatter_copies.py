"""Many updates of few integers: each block combines its own in its memory first, in some copies of the result.

Counting into few places meets in the device's memory so often that it would take many times as long.
"""

from __future__ import annotations

from llvmlite import ir

from ....hlo import Shape, leaves
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine, add_base
from ...llvm.loops import carried_loop
from ...llvm.types import I32, I64, scalar_register_type
from ..frame import Frame, Leaf, Stored
from ..kernel import Grid, Kernel, wide
from .atomics import combine_by_instruction, has_instruction
from .scatter_form import ScatterForm
from .sort_order import flat

_THREADS, _BLOCKS = 256, 512
# The memory for the copies, how many there are at most, and how many updates an element has at least.
_BYTES, _MOST_COPIES, _LEAST_UPDATES = 16 << 10, 8, 16


def uses_copies(form: ScatterForm) -> bool:
    """Whether blocks combine in their memory, of a scatter that may be done in any order."""
    shape = leaves(form.scatter.shape)[0]
    many = form.items * form.elements >= max(_LEAST_UPDATES * shape.size, _THREADS * _BLOCKS // 8)
    return many and shape.byte_size <= _BYTES and has_instruction(form.operation, shape.element_type)


def scatter_by_copies(frame: Frame, form: ScatterForm, key: int, inputs: list[Leaf], outputs: list[Stored]) -> None:
    shape, count = leaves(form.scatter.shape)[0], form.items * form.elements
    copies = 1
    while copies < _MOST_COPIES and 2 * copies * shape.byte_size <= _BYTES:
        copies *= 2
    blocks = min(_BLOCKS, -(-count // _THREADS))
    identity = scalar_register_type(shape.element_type)(int(form.combine.root.operation.identity(shape.element_type)))

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, (starts, *updates), thread = kernel.builder, bindings, kernel.thread()
        size = shape.size * copies
        held = Array(kernel.shared(size * shape.element_type.byte_size), Shape(shape.element_type, (size,)))
        output = flat(arrays[0])

        def clear(place: ir.Value, _: list) -> tuple:
            held.store(b, (Affine(place),), identity, 1)
            return ()

        carried_loop(b, wide(b, thread), size, _THREADS, (), clear, "clear", most=-(-size // _THREADS))
        kernel.barrier()
        copy = wide(b, b.and_(thread, I32(copies - 1)))

        def update(number: ir.Value, _: list) -> tuple:
            if count < 1 << 31:
                number = b.trunc(number, I32)
            integer = number.type
            item, element = b.udiv(number, integer(form.elements)), b.urem(number, integer(form.elements))
            place, is_inside = form.place(b, starts, item)
            with b.if_then(is_inside):
                place = add_base(b, place, form.element_offset(b, element) if form.elements > 1 else 0)
                (value,) = form.updates(b, updates, item, element)
                address = held.address(b, (Affine(b.add(b.mul(place, I64(copies)), copy)),))
                combine_by_instruction(b, kernel.target.block_scope, form.operation, shape.element_type, address, value)
            return ()

        step = blocks * _THREADS
        carried_loop(b, wide(b, kernel.number()), count, step, (), update, "updates", most=-(-count // step))
        kernel.barrier()

        def leave(place: ir.Value, _: list) -> tuple:
            for number in range(copies):
                value = held.load(b, (Affine(b.add(b.mul(place, I64(copies)), I64(number))),), 1)
                with b.if_then(b.icmp_unsigned("!=", value, identity)):
                    address, scope = output.address(b, (Affine(place),)), kernel.target.device_scope
                    combine_by_instruction(b, scope, form.operation, shape.element_type, address, value)
            return ()

        carried_loop(b, wide(b, thread), shape.size, _THREADS, (), leave, "leave", most=-(-shape.size // _THREADS))

    frame.launch("scatter_copies", key, inputs, outputs, Grid((blocks, 1, 1), (_THREADS, 1, 1)), write, form.scatter.source)

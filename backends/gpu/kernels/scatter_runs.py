"""Runs of updates of the same place, reduced in a tree, which depends on the places alone.

A thread combines the updates of a chunk. A run that lies within one is done; of others a part is left, for each chunk one or
two, which lie in the order of the chunks, and are reduced as the updates are, until all fit one chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from llvmlite import ir

from ....hlo import U8, U32, U64, Shape, leaves
from ...llvm.arrays import Array
from ...llvm.branches import chosen
from ...llvm.elemental import Binding
from ...llvm.index import Affine, add_base
from ...llvm.loops import carried_loop
from ...llvm.scalar_computations import emit_scalar_computation
from ...llvm.types import I1, I8, I64, RegisterValue, selected
from ..frame import Frame
from ..kernel import Grid, Kernel, wide
from ..values import Leaf, Stored
from .scatter_form import ScatterForm
from .sort_merge import aligned
from .sort_order import zero_of

_THREADS = 256
_CHUNK = 32

Update = Callable[[ir.IRBuilder, ScatterForm, list[Array], Affine, list[RegisterValue]], None]


def _levels(items: int) -> Iterator[int]:
    """How many parts are left after each level but the last."""
    while items > _CHUNK:
        items = 2 * -(-items // _CHUNK)
        yield items


def _level_bytes(form: ScatterForm, bits: int, count: int) -> tuple[int, int, int]:
    """Memory for the places of so many parts, whether they hold anything, and their elements."""
    size = leaves(form.scatter.shape)[0].element_type.byte_size
    return aligned(count * bits // 8), aligned(count), aligned(count * form.elements * size)


def runs_bytes(form: ScatterForm, bits: int) -> int:
    if not form.is_reduced_in_parts:
        return 0
    return sum(sum(_level_bytes(form, bits, count)) for count in _levels(form.items))


def reduce_runs(
    frame: Frame,
    form: ScatterForm,
    key: int,
    bits: int,
    offset: int,
    sorted_: list[Stored],
    updates: list[Leaf],
    outputs: list[Stored],
    update: Update,
) -> None:
    """Combine the results with the updates, which ``sorted_`` says the places and numbers of."""
    count, held, given = form.items, [*sorted_, *updates], None
    for left in (*_levels(count), None):
        following: list[Stored] = []
        if left is not None:
            element_type = leaves(form.scatter.shape)[0].element_type
            shapes = (
                Shape(U32 if bits == 32 else U64, (left,)),
                Shape(U8, (left,)),
                Shape(element_type, (left * form.elements,)),
            )
            for shape, size in zip(shapes, _level_bytes(form, bits, left)):
                following.append(frame.scratch(form.scatter, shape, offset))
                offset += size
        write = _Level(form, bits, count, given, update).write
        grid = Grid.of(-(-count // _CHUNK) * form.elements, _THREADS)
        level = (key, count, given, left is None)
        frame.launch("scatter_reduce", level, held, [*outputs, *following], grid, write, form.scatter.source)
        held, given, count = following, "parts", left


class _Level:
    """One level: of updates where ``given`` is None, else of parts."""

    def __init__(self, form: ScatterForm, bits: int, count: int, given: str | None, update: Update) -> None:
        self.form, self.count, self.given, self.update = form, count, given, update
        self.nowhere = ir.IntType(bits)((1 << bits) - 1)

    def write(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, form, number = kernel.builder, self.form, kernel.number()
        output, *following = arrays
        places, *others = bindings
        chunks = -(-self.count // _CHUNK)

        def place_of(position: ir.Value) -> ir.Value:
            return places.load(b, (Affine(position),), 1)

        with b.if_then(b.icmp_unsigned("<", number, number.type(chunks * form.elements))):
            chunk, element = b.udiv(number, number.type(form.elements)), b.urem(number, number.type(form.elements))
            start = b.mul(wide(b, chunk), I64(_CHUNK))
            end = b.add(start, I64(_CHUNK))
            end = b.select(b.icmp_unsigned("<", end, I64(self.count)), end, I64(self.count))
            first = place_of(start)
            last = place_of(b.sub(end, I64(1)))
            has_before, has_behind = b.icmp_unsigned(">", start, I64(0)), b.icmp_unsigned("<", end, I64(self.count))
            before = place_of(b.select(has_before, b.sub(start, I64(1)), start))
            behind = place_of(b.select(has_behind, end, b.sub(end, I64(1))))
            goes_back = b.and_(has_before, b.icmp_unsigned("==", before, first))
            goes_on = b.and_(has_behind, b.icmp_unsigned("==", behind, last))
            is_first = b.icmp_unsigned("==", element, element.type(0))
            if following:
                with b.if_then(is_first):
                    for slot, place in enumerate((first, last)):
                        at = (Affine(b.add(b.mul(wide(b, chunk), I64(2)), I64(slot))),)
                        following[0].store(b, at, place, 1)
                        following[1].store(b, at, I8(0), 1)

            def leave(place: ir.Value, begins_before: ir.Value, ends_behind: ir.Value, is_held: ir.Value, value) -> None:
                """A run has been combined as far as it lies in the chunk."""
                is_wanted = b.and_(is_held, b.icmp_unsigned("!=", place, self.nowhere))
                is_part = b.or_(begins_before, ends_behind)
                with b.if_then(b.and_(is_wanted, b.not_(is_part))):
                    target = wide(b, place)
                    target = add_base(b, target, form.element_offset(b, element) if form.elements > 1 else 0)
                    self.update(b, form, [output], Affine(target), [value])
                if following:
                    with b.if_then(b.and_(is_wanted, is_part)):
                        slot = b.select(begins_before, I64(0), I64(1))
                        at = b.add(b.mul(wide(b, chunk), I64(2)), slot)
                        with b.if_then(is_first):  # who has said that nothing is there: it says so of all elements
                            following[1].store(b, (Affine(at),), I8(1), 1)
                        elements = b.add(b.mul(at, I64(form.elements)), wide(b, element))
                        following[2].store(b, (Affine(elements),), value, 1)

            zero = zero_of(output.shape)

            def step(position: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
                current, begins_before, is_held, value = carried
                place = place_of(position)
                is_new = b.icmp_unsigned("!=", place, current)
                with b.if_then(is_new):
                    leave(current, begins_before, I1(0), is_held, value)
                is_held = b.and_(is_held, b.not_(is_new))
                begins_before = b.and_(begins_before, b.not_(is_new))
                is_full, found = self._item(b, others, position, element)

                def combined() -> list[RegisterValue]:
                    return emit_scalar_computation(b, form.combine, [value, found], 1)

                joined = chosen(b, is_held, [combined, lambda: [found]])
                (other,) = joined
                value = other if is_full is None else selected(b, is_full, other, value)
                is_held = I1(1) if is_full is None else b.or_(is_held, is_full)
                return [place, begins_before, is_held, value]

            carried = carried_loop(b, start, end, 1, [first, goes_back, I1(0), zero], step, "chunk", most=_CHUNK)
            current, begins_before, is_held, value = carried
            leave(current, begins_before, goes_on, is_held, value)

    def _item(
        self, b: ir.IRBuilder, others: list[Binding], position: ir.Value, element: ir.Value
    ) -> tuple[ir.Value | None, RegisterValue]:
        """Whether an item or part holds anything (None: yes), and its element."""
        if self.given is None:
            items, *updates = others
            item = items.load(b, (Affine(position),), 1)
            return None, self.form.updates(b, updates, item, element)[0]
        held, elements = others
        is_full = b.icmp_unsigned("!=", held.load(b, (Affine(position),), 1), I8(0))
        place = b.add(b.mul(position, I64(self.form.elements)), wide(b, element))
        # Of a part that holds nothing, nobody has written the element.
        (found,) = chosen(b, is_full, [lambda: [elements.load(b, (Affine(place),), 1)], lambda: [zero_of(elements.shape)]])
        return is_full, found

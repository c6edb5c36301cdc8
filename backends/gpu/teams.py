"""Threads that work together: the totals of what each of them has, known to all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext

from ...hlo import Shape
from ..llvm.arrays import Array
from ..llvm.index import Affine
from ..llvm.types import I32, I64, RegisterValue, flatten, lane_values, unflatten, vector_of_values
from .kernel import Kernel, wide
from .words import from_words, words_of

Combine = Callable[[list[RegisterValue], list[RegisterValue]], list[RegisterValue]]

_PARTS_OF_THREAD = 8  # that one thread combines, which takes it less time than barriers


def totals_of_teams(
    kernel: Kernel, size: int, shapes: Sequence[Shape], values: list[RegisterValue], combine: Combine
) -> list[RegisterValue]:
    """What teams of so many neighbouring threads, a power of two, have in all; every thread of the block takes part.

    ``shapes`` are those of the scalars. The order in which they are combined depends on the size alone.
    """
    stepwise = min(size, kernel.target.sub_group) if kernel.target.shuffle_xor is not None else 1
    distance = stepwise // 2
    while distance:
        values = combine(values, _shuffled(kernel, values, distance))
        distance //= 2
    if stepwise == size:
        return values
    b, thread = kernel.builder, kernel.thread()
    count = kernel.grid.threads[0] // stepwise
    arrays = [Array(kernel.shared(count * max(shape.byte_size, 1)), shape.with_dimensions((count,))) for shape in shapes]
    group = b.udiv(thread, I32(stepwise))
    is_first = b.icmp_unsigned("==", b.urem(thread, I32(stepwise)), I32(0))
    with b.if_then(is_first):
        for array, value in zip(arrays, values):
            array.store(b, (Affine(wide(b, group)),), value, 1)
    kernel.barrier()
    parts = size // stepwise
    first = b.mul(b.udiv(wide(b, thread), I64(size)), I64(parts))
    if parts <= kernel.target.sub_group:
        loaded = [[array.load(b, (Affine(b.add(first, I64(part))),), 1) for array in arrays] for part in range(parts)]
        return _in_a_tree(loaded, combine)
    member = b.urem(thread, I32(parts))
    distance = parts // 2
    while distance:
        with b.if_then(b.and_(is_first, b.icmp_unsigned("<", member, I32(distance)))):
            mine = [array.load(b, (Affine(b.add(first, wide(b, member))),), 1) for array in arrays]
            other = b.add(first, wide(b, b.add(member, I32(distance))))
            others = [array.load(b, (Affine(other),), 1) for array in arrays]
            for array, value in zip(arrays, combine(mine, others)):
                array.store(b, (Affine(b.add(first, wide(b, member))),), value, 1)
        kernel.barrier()
        distance //= 2
    return [array.load(b, (Affine(first),), 1) for array in arrays]


def totals_of_spread_teams(
    kernel: Kernel, size: int, apart: int, shapes: Sequence[Shape], values: list[RegisterValue], lanes: int, combine: Combine
) -> Callable[[], list[RegisterValue]]:
    """What teams of so many threads have in all, whose numbers differ by ``apart``: powers of two, which all threads of the
    block are in. For the first thread of each, and where that is written.

    Values have so many lanes; ``shapes`` are those of the scalars. Every thread of the block takes part in what is done before.
    """
    within = 1 if kernel.target.shuffle_xor is None else max(1, min(size, kernel.target.sub_group // apart))
    distance = apart * within // 2
    while distance >= apart:
        values = combine(values, _shuffled(kernel, values, distance))
        distance //= 2
    parts = size // within
    if parts == 1:
        return lambda: values
    b, thread = kernel.builder, kernel.thread()
    threads = kernel.grid.threads[0]
    # Threads that sub-groups have left over lie side by side, those of a team by what teams are apart.
    run = apart * within
    count = threads // within * lanes
    arrays = [Array(kernel.shared(count * max(shape.byte_size, 1)), shape.with_dimensions((count,))) for shape in shapes]
    own = b.add(b.mul(b.udiv(thread, I32(run)), I32(apart)), b.urem(thread, I32(apart)))

    def part(number: int) -> Affine:
        place = b.mul(wide(b, b.add(own, I32(number * apart))), I64(lanes))
        return Affine(place, int(lanes > 1))

    with b.if_then(b.icmp_unsigned("<", b.urem(thread, I32(run)), I32(apart))) if within > 1 else nullcontext():
        for array, value in zip(arrays, values):
            array.store(b, (part(0),), value, lanes)
    member = b.urem(b.udiv(thread, I32(apart)), I32(size))
    while parts > _PARTS_OF_THREAD:
        parts //= 2
        kernel.barrier()
        with b.if_then(b.icmp_unsigned("<", member, I32(parts))):
            mine, others = ([array.load(b, (part(number),), lanes) for array in arrays] for number in (0, parts))
            for array, value in zip(arrays, combine(mine, others)):
                array.store(b, (part(0),), value, lanes)
    kernel.barrier()

    def totals() -> list[RegisterValue]:
        return _in_a_tree([[array.load(b, (part(number),), lanes) for array in arrays] for number in range(parts)], combine)

    return totals


def _in_a_tree(values: list[list[RegisterValue]], combine: Combine) -> list[RegisterValue]:
    while len(values) > 1:
        values = [combine(*values[place : place + 2]) for place in range(0, len(values), 2)]
    return values[0]


def _shuffled(kernel: Kernel, values: list[RegisterValue], distance: int) -> list[RegisterValue]:
    """The values that the thread whose number differs by the distance has."""
    b, shuffle = kernel.builder, kernel.target.shuffle_xor
    assert shuffle is not None
    moved = []
    for register in flatten(values):
        lanes = lane_values(b, register)
        moved.append(vector_of_values(b, from_words(b, [shuffle(b, word, distance) for word in words_of(b, lanes)], lanes)))
    return unflatten(moved, values)

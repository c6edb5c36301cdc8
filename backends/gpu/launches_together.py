"""Launches that need nothing of each other as one: its blocks are theirs, those of one launch behind those of the other.

Those that do the same share the code, which finds out whose block it runs. What differs is code of its own, for its blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from llvmlite import ir

from ..llvm.arrays import Array
from ..llvm.elemental import Binding
from ..llvm.types import I32, I64, selected
from .kernel import Grid, Kernel

if TYPE_CHECKING:
    from .values import Leaf, Stored

# Writes a kernel, given what its inputs are, and the arrays that it writes.
EmitWithBindings = Callable[[Kernel, list[Binding], list[Array]], None]
_MOST_NAMES = 3


class AnySize(NamedTuple):
    """Of a loop whose code is the same for all sizes: ``key`` is that of the code, ``count`` how many vectors this one has, of
    which the code is told (`Kernel.count`).
    """

    key: Any
    count: int


@dataclass(frozen=True, eq=False)
class Asked:
    """A launch that was asked for; in a group it waits for others."""

    name: str
    key: Any
    inputs: tuple[Leaf, ...]
    outputs: tuple[Stored, ...]
    grid: Grid
    emit: EmitWithBindings
    source: Any = None
    numbers: tuple[int, ...] = ()
    any_size: AnySize | None = None

    @property
    def form(self) -> tuple[Any, ...]:
        """The same for those that share their code."""
        if self.any_size is not None:
            arrays = [(type(one), one.shape.element_type, one.shape.rank) for one in (*self.inputs, *self.outputs)]
            return (self.name, self.any_size.key, *arrays)
        return (self.name, self.key, self.grid, *[(type(one), one.shape) for one in (*self.inputs, *self.outputs)])


def together(asked: Sequence[Asked]) -> list[Asked]:
    """The launches as few: as one for each number of threads that a block has."""
    by_threads: dict[Any, dict[Any, list[Asked]]] = {}
    for one in asked:
        by_threads.setdefault(one.grid.threads, {}).setdefault(one.form, []).append(one)
    return [_beside([_alike(launches) for launches in forms.values()]) for forms in by_threads.values()]


def _alike(asked: Sequence[Asked]) -> Asked:
    """Launches of one kernel as one, of which each has its blocks along the third dimension."""
    first, count = asked[0], len(asked)
    if count == 1:
        return first
    if any(one.grid != first.grid for one in asked):
        return _of_sizes(sorted(asked, key=lambda one: one.grid.blocks[0], reverse=True))
    assert first.grid.blocks[2] == 1

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, number = kernel.builder, kernel.block(2)

        with kernel.counting(_counts(b, number, asked)):
            first.emit(kernel, _own(b, number, count, bindings), _own(b, number, count, arrays))

    grid = Grid((*first.grid.blocks[:2], count), first.grid.threads)
    key = ("together", first.key, *[one.any_size for one in asked])
    return Asked(first.name, key, *_arrays(asked), grid, write, first.source)


def _of_sizes(asked: Sequence[Asked]) -> Asked:
    """Loops of one code and several sizes as one, the largest one first."""
    first, ends = asked[0], list(accumulate([one.grid.blocks[0] for one in asked]))

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, block, number, begin = kernel.builder, kernel.block(), I32(0), I32(0)
        for place, end in enumerate(ends[:-1]):
            is_behind = b.icmp_unsigned(">=", block, I32(end))
            number, begin = b.select(is_behind, I32(place + 1), number), b.select(is_behind, I32(end), begin)
        own = b.sub(block, begin)
        with kernel.as_block(first.grid, own), kernel.counting(_counts(b, number, asked)):
            first.emit(kernel, _own(b, number, len(asked), bindings), _own(b, number, len(asked), arrays))

    key = ("sizes", first.key, *[(one.grid, one.any_size) for one in asked])
    return Asked(first.name, key, *_arrays(asked), Grid((ends[-1], 1, 1), first.grid.threads), write, first.source)


def _beside(asked: Sequence[Asked]) -> Asked:
    """Launches of several kernels as one."""
    first = asked[0]
    if len(asked) == 1:
        return first
    blocks = [prod(one.grid.blocks) for one in asked]

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, block, are_plain = kernel.builder, kernel.block(), []
        begin = 0
        for one, count in zip(asked, blocks):
            given, bindings = bindings[: len(one.inputs)], bindings[len(one.inputs) :]
            written, arrays = arrays[: len(one.outputs)], arrays[len(one.outputs) :]
            number = b.sub(block, I32(begin))
            kernel.is_plain = False
            with b.if_then(b.icmp_unsigned("<", number, I32(count))), kernel.as_block(one.grid, number):
                one.emit(kernel, given, written)
            are_plain.append(kernel.is_plain)
            begin += count
        kernel.is_plain = all(are_plain)

    names = dict.fromkeys([one.name for one in asked])
    name = "_".join([*names][:_MOST_NAMES]) + ("_and_more" if len(names) > _MOST_NAMES else "")
    key = ("beside", *[(one.name, one.key, one.grid, len(one.inputs)) for one in asked])
    return Asked(name, key, *_arrays(asked), Grid((sum(blocks), 1, 1), first.grid.threads), write, first.source)


def _counts(b: ir.IRBuilder, number: ir.Value, asked: Sequence[Asked]) -> ir.Value | None:
    """How many vectors the launch of this number has; None where its code knows."""
    counts = [one.any_size.count for one in asked if one.any_size is not None]
    return _of_number(b, number, [I64(count) for count in counts]) if len(set(counts)) > 1 else None


def _own(b: ir.IRBuilder, number: ir.Value, count: int, given: Sequence[Binding]) -> list[Any]:
    """What the launch of this number is given, of what so many are."""
    size = len(given) // count
    return [_of_number(b, number, given[place::size]) for place in range(size)]


def _arrays(asked: Sequence[Asked]) -> tuple[tuple[Leaf, ...], tuple[Stored, ...]]:
    return tuple([leaf for one in asked for leaf in one.inputs]), tuple([array for one in asked for array in one.outputs])


def _of_number(b: ir.IRBuilder, number: ir.Value, given: Sequence[Binding]) -> Binding:
    """The array, or the value, of this number."""
    found = given[-1]
    for place, one in reversed(list(enumerate(given[:-1]))):
        is_one = b.icmp_unsigned("==", number, I32(place))
        if isinstance(one, Array):
            pointers = one.pointer, found.pointer
            found = one if pointers[0] is pointers[1] else Array(b.select(is_one, *pointers), one.shape)
        else:
            found = selected(b, is_one, one, found)
    return found

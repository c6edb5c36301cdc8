"""Launches that need nothing of each other as one: its blocks are theirs, those of one launch behind those of the other.

Those that do the same share the code, which finds out whose block it runs. What differs is code of its own, for its blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from ..llvm.arrays import Array
from ..llvm.elemental import Binding
from ..llvm.types import I32, selected
from .kernel import Grid, Kernel

if TYPE_CHECKING:
    from .frame import Leaf, Stored

# Writes a kernel, given what its inputs are, and the arrays that it writes.
EmitWithBindings = Callable[[Kernel, list[Binding], list[Array]], None]
_MOST_NAMES = 3


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

    @property
    def form(self) -> tuple[Any, ...]:
        """The same for those that share their code."""
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
    assert first.grid.blocks[2] == 1

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, number = kernel.builder, kernel.block(2)

        def own(given: Sequence[Binding]) -> list[Any]:
            size = len(given) // count
            return [_of_number(b, number, given[place::size]) for place in range(size)]

        first.emit(kernel, own(bindings), own(arrays))

    grid = Grid((*first.grid.blocks[:2], count), first.grid.threads)
    return Asked(first.name, ("together", count, first.key), *_arrays(asked), grid, write, first.source)


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

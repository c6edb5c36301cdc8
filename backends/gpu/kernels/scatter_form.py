"""What a scatter does to which elements: its updates as items, each of which writes a few elements of the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from llvmlite import ir

from ....hlo import Computation, Instruction, leaves
from ....hlo.slices import slice_dimensions
from ...llvm import index as indices
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine, Component
from ...llvm.start_indices import widened
from ...llvm.types import I64, RegisterValue
from ..kernel import index_of
from .atomics import operation_in_any_order
from .vectors import aligned

# So many updates are made one after the other where they meet.
_FEW = 512


@dataclass(frozen=True, eq=False)
class ScatterForm:
    """The items of a scatter, and the elements of each of them.

    An item is a window, with its elements, where no two windows overlap but as a whole; otherwise each element of one.
    """

    scatter: Instruction

    @cached_property
    def outputs(self) -> int:
        return len(leaves(self.scatter.shape))

    @cached_property
    def combine(self) -> Computation:
        return self.scatter.attributes["to_apply"]

    @cached_property
    def numbers(self):
        rank = leaves(self.scatter.shape)[0].rank
        return slice_dimensions("scatter", rank, self.scatter.operands[self.outputs].shape.rank, self.scatter.attributes)

    @cached_property
    def full(self) -> tuple[int, ...]:
        return leaves(self.scatter.shape)[0].dimensions

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return self.scatter.operands[-1].shape.dimensions

    @cached_property
    def batch(self) -> tuple[int, ...]:
        return tuple(self.sizes[d] for d in self.numbers.batch_dims)

    @cached_property
    def window(self) -> tuple[int, ...]:
        return tuple(self.sizes[d] for d in self.numbers.offset_dims)

    @cached_property
    def may_overlap(self) -> bool:
        """Whether windows may lie across each other."""
        moved = set(self.numbers.index_map)
        windows = zip(self.numbers.window_dims, self.window)
        return prod(self.batch) > 1 and any(d in moved and size not in (1, self.full[d]) for d, size in windows)

    @property
    def items(self) -> int:
        return prod(self.batch) * (prod(self.window) if self.may_overlap else 1)

    @property
    def elements(self) -> int:
        """How many elements each item has."""
        return 1 if self.may_overlap else prod(self.window)

    @cached_property
    def operation(self) -> str | None:
        """What combines two elements, where that is one operation that may be done in any order."""
        return operation_in_any_order(self.combine) if self.outputs == 1 else None

    @property
    def is_reduced_in_parts(self) -> bool:
        """Whether updates of the same element are combined with each other before they are with the element.

        A few come to exactly what one after the other does.
        """
        return self.operation is not None and self.items > _FEW

    @cached_property
    def replaces(self) -> bool:
        """Whether an update takes the place of an element, whatever that is."""
        results = self.combine.root.operands if self.combine.root.opcode == "tuple" else (self.combine.root,)
        return tuple(results) == tuple(self.combine.parameters[self.outputs :])

    def _split(self, b: ir.IRBuilder, item: ir.Value) -> tuple[ir.Value, ir.Value | None]:
        """The number of an item's window, and that of its element there if it is one."""
        if not self.may_overlap:
            return item, None
        return b.udiv(item, item.type(prod(self.window))), b.urem(item, item.type(prod(self.window)))

    def place(self, b: ir.IRBuilder, starts: Binding, item: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Where the first element of an item lies in the results, i64, and whether the item's window lies inside of them."""
        number, element = self._split(b, item)
        numbers, windows = self.numbers, dict(zip(self.numbers.window_dims, self.window))
        batch = index_of(b, number, self.batch)
        output: list[Component] = [Affine(0)] * numbers.rank
        index_type = self.scatter.operands[self.outputs].shape.element_type
        inside: ir.Value | bool | None = None
        for k, dimension in enumerate(numbers.index_map):
            if isinstance(starts, Array):
                value = starts.load(b, numbers.start_index(batch, Affine(k)), 1)
            else:
                value = starts
            start = widened(b, index_type, value)
            places = self.full[dimension] - windows.get(dimension, 1) + 1
            inside = indices.conjunction(b, inside, b.icmp_unsigned("<", start, I64(places)))
            output[dimension] = Affine(start)
        for dimension, position in numbers.batching.items():
            output[dimension] = batch[position]
        place = indices.linear_offset(b, tuple(output), self._strides, 1).base
        if element is not None:
            place = indices.add_base(b, place, self.element_offset(b, element))
        return indices.i64(place), indices.condition_value(True if inside is None else inside, 1)

    @cached_property
    def _strides(self) -> tuple[int, ...]:
        return tuple(prod(self.full[d + 1 :]) for d in range(len(self.full)))

    def element_offset(self, b: ir.IRBuilder, element: ir.Value) -> indices.Base:
        """How far behind the first element of a window in the results another one lies."""
        within = index_of(b, element, self.window)
        strides = tuple(self._strides[d] for d in self.numbers.window_dims)
        return indices.linear_offset(b, within, strides, 1).base

    @property
    def contiguous(self) -> int:
        """How many neighbouring elements lie side by side in updates and results, whose rows are multiples of that; 1 where not
        whole rows are updated.
        """
        numbers, rank = self.numbers, len(self.sizes)
        if self.may_overlap or not self.window or numbers.offset_dims[-1] != rank - 1:
            return 1
        is_whole = numbers.window_dims[-1] == len(self.full) - 1 and self.window[-1] == self.full[-1]
        return self.full[-1] if is_whole else 1

    def updates(
        self, b: ir.IRBuilder, updates: Sequence[Binding], item: ir.Value, element: ir.Value, lanes: int = 1
    ) -> list[RegisterValue]:
        """The updates of an element of an item, or of so many `contiguous` ones from there on."""
        number, own = self._split(b, item)
        index: list[Component] = [Affine(0)] * len(self.sizes)
        for dimension, component in zip(self.numbers.batch_dims, index_of(b, number, self.batch)):
            index[dimension] = component
        for dimension, component in zip(self.numbers.offset_dims, index_of(b, element if own is None else own, self.window)):
            index[dimension] = component
        if lanes > 1:
            index[-1] = Affine(index[-1].base, 1)
            updates = [aligned(one, one.shape, lanes) if isinstance(one, Array) else one for one in updates]
        return [one.load(b, tuple(index), lanes) if isinstance(one, Array) else one for one in updates]

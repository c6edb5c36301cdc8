"""Ragged dot as a loop over the groups, of dots of a few rows, or terms, each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import hlo
from ...hlo import F32, S64, Instruction, Shape
from ...hlo.ops.dot_dimensions import DotDimensions
from ...hlo.ops.ragged_dot import dot_dimensions, prefix_dimensions
from .table import expansion

# Rows, or terms, of one dot. At the end of a group some of them belong to the next and are computed for nothing.
_TILE = 128


@expansion("ragged-dot")
def expand_ragged_dot(dot: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """ragged-dot(x, y, sizes) -> while(group < groups), whose body adds the dot of a tile of the group to the result."""
    lhs, rhs, sizes = operands
    numbers, (ragged,) = dot_dimensions(dot.attributes), dot.attributes["lhs_ragged_dimensions"]
    shape = dot.shape
    if ragged in numbers.lhs_batch:
        return _dot(lhs, rhs, numbers, shape)
    limit, groups = lhs.shape.dimensions[ragged], sizes.shape.dimensions[-1]
    sums_terms = ragged in numbers.lhs_contracting
    wide = shape.element_type.is_float and shape.element_type.bits < 32 and sums_terms
    result = shape.with_element_type(F32) if wide else shape
    zeros = hlo.full(result, 0)
    if not (result.size and limit and groups):
        return hlo.convert(zeros, shape.element_type)
    sizes = hlo.clamp(hlo.constant(np.int64(0)), hlo.convert(sizes, S64), hlo.constant(np.int64(limit)))
    begin = hlo.broadcast(hlo.constant(np.int64(0)), sizes.shape.dimensions[:-1], ()) if sizes.shape.rank > 1 else None
    zero = hlo.constant(np.int64(0))
    init = hlo.tuple(zero, zero if begin is None else begin, zero, zeros, lhs, rhs, sizes)

    def body(state: Instruction) -> Instruction:
        step = _Step(dot, numbers, ragged, state)
        return step.of_terms() if sums_terms else step.of_rows()

    more = hlo.computation("ragged_dot_condition", [init.shape], lambda state: hlo.lt(hlo.get_tuple_element(state, 0), groups))
    loop = hlo.while_(init, condition=more, body=hlo.computation("ragged_dot_body", [init.shape], body))
    return hlo.convert(hlo.get_tuple_element(loop, 3), shape.element_type)


def _dot(lhs: Instruction, rhs: Instruction, numbers: DotDimensions, shape: Shape) -> Instruction:
    attributes = {f"{side}_dimensions": dimensions for side, dimensions in numbers._asdict().items()}
    return hlo.dot(lhs, rhs, shape=shape, **attributes)


class _Step:
    """The body of the loop. Its state: the number of the group, where it begins, how far it is done, the result, the operands.

    With groups that differ along a prefix of dimensions a tile is the whole ragged dimension.
    """

    def __init__(self, dot: Instruction, numbers: DotDimensions, ragged: int, state: Instruction) -> None:
        self.dot, self.numbers, self.ragged = dot, numbers, ragged
        parts = [hlo.get_tuple_element(state, number) for number in range(len(state.shape.elements))]
        self.group, self.begin, self.done, self.result, self.lhs, self.rhs, self.sizes = parts
        self.limit = self.lhs.shape.dimensions[ragged]
        self.has_prefix = self.sizes.shape.rank > 1
        self.prefix = prefix_dimensions(numbers, self.lhs.shape.rank, ragged) if self.has_prefix else []
        self.tile = self.limit if self.has_prefix else min(_TILE, self.limit)
        rank = self.sizes.shape.rank
        size = self.along(self.sizes, rank - 1, self.group, 1)
        self.size = hlo.reshape(size, size.shape.dimensions[:-1])
        # The tile's first element; near the end of the array the tile starts earlier, with elements that do not count.
        first = hlo.add(self.begin, self.done) if not self.has_prefix else self.number(0)
        self.first = hlo.clamp(self.number(0), first, self.number(self.limit - self.tile))

    def number(self, value: int) -> Instruction:
        return hlo.constant(np.int64(value))

    def along(self, x: Instruction, dimension: int, start: Instruction, size: int) -> Instruction:
        """The slice of this size along a dimension."""
        starts = [start if d == dimension else self.number(0) for d in range(x.shape.rank)]
        return hlo.dynamic_slice(x, *starts, sizes=[size if d == dimension else n for d, n in enumerate(x.shape.dimensions)])

    def inside(self, dimensions: Sequence[int], prefix: Sequence[int], ragged: int) -> Instruction:
        """Which elements of an array of these dimensions belong to the group, of those that are still to be done."""
        shape = Shape(S64, tuple(dimensions))
        position = hlo.iota(Shape(S64, (self.tile,)), 0)
        position = hlo.broadcast(position, shape.dimensions, (ragged,))
        position = hlo.add(position, hlo.broadcast(self.first, shape.dimensions, ()))
        done = self.begin if self.has_prefix else hlo.add(self.begin, self.done)
        low, high = (self.spread(x, shape, prefix) for x in (done, hlo.add(self.begin, self.size)))
        return hlo.and_(hlo.ge(position, low), hlo.lt(position, high))

    def spread(self, x: Instruction, shape: Shape, prefix: Sequence[int]) -> Instruction:
        order = sorted(range(len(prefix)), key=lambda i: prefix[i])
        if order != list(range(len(prefix))):
            x = hlo.transpose(x, dimensions=order)
        return hlo.broadcast(x, shape.dimensions, [prefix[i] for i in order])

    def only_inside(self, x: Instruction, prefix: Sequence[int], ragged: int) -> Instruction:
        """0 in place of the elements that do not belong to the group."""
        zeros = hlo.full_like(x, 0)
        return hlo.select(self.inside(x.shape.dimensions, prefix, ragged), x, zeros)

    def of_rows(self) -> Instruction:
        numbers, rank = self.numbers, self.lhs.shape.rank
        (at,) = self.dot.attributes["rhs_group_dimensions"]
        rhs = self.along(self.rhs, at, self.group, 1)
        rhs = hlo.reshape(rhs, [size for d, size in enumerate(rhs.shape.dimensions) if d != at])
        without = [tuple(d - (d > at) for d in side) for side in (numbers.rhs_batch, numbers.rhs_contracting)]
        of_group = numbers._replace(rhs_batch=without[0], rhs_contracting=without[1])
        order = [*numbers.lhs_batch, *numbers.lhs_free(rank)]
        row = order.index(self.ragged)
        lhs = self.along(self.lhs, self.ragged, self.first, self.tile)
        before = self.along(self.result, row, self.first, self.tile)
        product = _dot(lhs, rhs, of_group, before.shape)
        mask = self.inside(before.shape.dimensions, [order.index(d) for d in self.prefix], row)
        return self.following(hlo.select(mask, product, before), row, self.first)

    def of_terms(self) -> Instruction:
        numbers = self.numbers
        pairs = ((*numbers.lhs_batch, *numbers.lhs_contracting), (*numbers.rhs_batch, *numbers.rhs_contracting))
        of_rhs = dict(zip(*pairs))
        lhs = self.along(self.lhs, self.ragged, self.first, self.tile)
        rhs = self.along(self.rhs, of_rhs[self.ragged], self.first, self.tile)
        lhs = self.only_inside(lhs, self.prefix, self.ragged)
        rhs = self.only_inside(rhs, [of_rhs[d] for d in self.prefix], of_rhs[self.ragged])
        before = self.along(self.result, 0, self.group, 1)
        shape = before.shape.with_dimensions(before.shape.dimensions[1:])
        total = hlo.add(hlo.reshape(before, shape.dimensions), _dot(lhs, rhs, numbers, shape))
        return self.following(hlo.reshape(total, before.shape.dimensions), 0, self.group)

    def following(self, part: Instruction, dimension: int, start: Instruction) -> Instruction:
        """The state after this part of the result is computed."""
        starts = [start if d == dimension else self.number(0) for d in range(self.result.shape.rank)]
        result = hlo.dynamic_update_slice(self.result, part, *starts)
        next_group, next_begin = hlo.add(self.group, self.number(1)), hlo.add(self.begin, self.size)
        if self.has_prefix:
            state = [next_group, next_begin, self.done]
        else:
            done = hlo.add(self.done, self.number(self.tile))
            ends = hlo.ge(done, self.size)
            pairs = ((next_group, self.group), (next_begin, self.begin), (self.number(0), done))
            state = [hlo.select(ends, *pair) for pair in pairs]
        return hlo.tuple(*state, result, self.lhs, self.rhs, self.sizes)

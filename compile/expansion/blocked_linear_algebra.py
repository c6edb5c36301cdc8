"""Cholesky factorization and triangular systems of very large matrices, as loops over square blocks.

The blocks of a matrix are named by the numbers of their row and column of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...hlo import S64, Builder, Instruction, Shape

# Matrices up to this size are not the subject of this module.
LARGEST_HALVED = 1024
_BLOCK = 256

# (builder of the body, the number of the round, the state, what the rounds only read) to the new state.
_Round = Callable[[Builder, Instruction, list[Instruction], list[Instruction]], Sequence[Instruction]]


def _loop(
    b: Builder, begin: Instruction, end: Instruction, state: Sequence[Instruction], read: Sequence[Instruction], body: _Round
) -> list[Instruction]:
    """The state after the rounds from begin to end."""
    init = b.emit("tuple", begin, end, *state, *read)
    c = Builder("blocks_condition")
    parameter = c.parameter(init.shape, "state")
    condition = c.build(c.Lt(*(c.get_tuple_element(parameter, number) for number in (0, 1))))
    c = Builder("blocks_body")
    parameter = c.parameter(init.shape, "state")
    number, limit, *values = (c.get_tuple_element(parameter, place) for place in range(len(init.operands)))
    inside, outside = values[: len(state)], values[len(state) :]
    after = body(c, number, inside, outside)
    loop = b.emit("while", init, condition=condition, body=c.build(c.emit("tuple", _next(c, number), limit, *after, *outside)))
    return [b.get_tuple_element(loop, 2 + place) for place in range(len(state))]


def _number(b: Builder, value: int) -> Instruction:
    return b.constant(np.int64(value))


def _next(b: Builder, number: Instruction) -> Instruction:
    return b.Add(number, _number(b, 1))


def _start(
    b: Builder, x: Instruction, row: Instruction, column: Instruction | None = None, offset: int = 0
) -> list[Instruction]:
    """The index of a block's first element; without column, of a row of blocks'. Blocks begin at the offset."""

    def element(number: Instruction) -> Instruction:
        return b.Add(b.Mul(number, _number(b, _BLOCK)), _number(b, offset))

    return [_number(b, 0)] * (x.shape.rank - 2) + [element(row), _number(b, 0) if column is None else element(column)]


def _block(b: Builder, x: Instruction, row: Instruction, column: Instruction | None = None, offset: int = 0) -> Instruction:
    """A block of each matrix of a batch; without column, a row of blocks."""
    *batch, _, width = x.shape.dimensions
    return b.DynamicSlice(x, _start(b, x, row, column, offset), (*batch, _BLOCK, width if column is None else _BLOCK))


def _product(b: Builder, lhs: Instruction, rhs: Instruction, transposes: bool = False) -> Instruction:
    """The products of matrices; with ``transposes``, of the transposed ones of lhs."""
    rank = lhs.shape.rank
    batch = tuple(range(rank - 2))
    return b.DotGeneral(
        lhs,
        rhs,
        lhs_batch_dimensions=batch,
        rhs_batch_dimensions=batch,
        lhs_contracting_dimensions=(rank - 2 if transposes else rank - 1,),
        rhs_contracting_dimensions=(rank - 2,),
    )


def _with_whole_blocks(b: Builder, x: Instruction) -> Instruction:
    """Square matrices, the last block filled up with a part of the unit matrix."""
    shape, rank = x.shape, x.shape.rank
    size = shape.dimensions[-1]
    added = -size % _BLOCK
    if not added:
        return x
    x = b.emit("pad", x, b.constant(0, shape.element_type), padding=[(0, 0, 0)] * (rank - 2) + [(0, added, 0)] * 2)
    numbers = Shape(S64, x.shape.dimensions)
    row, column = b.Iota(numbers, rank - 2), b.Iota(numbers, rank - 1)
    filled = b.And(b.Eq(row, column), b.Ge(row, b.broadcast(_number(b, size), numbers.dimensions, ())))
    return b.Select(filled, b.broadcast(b.constant(1, shape.element_type), numbers.dimensions, ()), x)


def blocked_cholesky(b: Builder, a: Instruction) -> Instruction:
    """The upper factors of matrices: row by row of blocks, each of which is then taken out of all that follow."""
    shape, rank = a.shape, a.shape.rank
    whole = _with_whole_blocks(b, a)
    count = whole.shape.dimensions[-1] // _BLOCK

    def factor(b: Builder, k: Instruction, state: list[Instruction], read: list[Instruction]) -> Sequence[Instruction]:
        u = b.emit("cholesky", _block(b, state[0], k, k))
        whole = b.DynamicUpdateSlice(state[0], u, _start(b, u, k, k))
        begin, end = _next(b, k), _number(b, count)
        (whole,) = _loop(b, begin, end, [whole], [k, u], solve)
        return _loop(b, begin, end, [whole], [k], take_out_row)

    def solve(b: Builder, j: Instruction, state: list[Instruction], read: list[Instruction]) -> Sequence[Instruction]:
        k, u = read
        v = b.emit("triangular-solve", u, _block(b, state[0], k, j), left_side=True, transpose_a="ADJOINT")
        return [b.DynamicUpdateSlice(state[0], v, _start(b, v, k, j))]

    def take_out_row(b: Builder, i: Instruction, state: list[Instruction], read: list[Instruction]) -> Sequence[Instruction]:
        v = _block(b, state[0], read[0], i)
        v = b.Conj(v) if shape.element_type.is_complex else v
        return _loop(b, i, _number(b, count), state, [read[0], i, v], take_out)

    def take_out(b: Builder, j: Instruction, state: list[Instruction], read: list[Instruction]) -> Sequence[Instruction]:
        k, i, v = read
        rest = b.Sub(_block(b, state[0], i, j), _product(b, v, _block(b, state[0], k, j), transposes=True))
        return [b.DynamicUpdateSlice(state[0], rest, _start(b, rest, i, j))]

    (whole,) = _loop(b, _number(b, 0), _number(b, count), [whole], [], factor)
    factors = b.Slice(whole, (0,) * rank, shape.dimensions)
    row, column = (b.Iota(shape.with_element_type(S64), dimension) for dimension in (rank - 2, rank - 1))
    zeros = b.broadcast(b.constant(0, shape.element_type), shape.dimensions, ())
    return b.Select(b.Le(row, column), factors, zeros)


def blocked_solution(b: Builder, a: Instruction, right: Instruction, attributes: dict) -> Instruction:
    """The solutions x of a x = right: row by row of blocks, from which those that are known are taken out first.

    The unknowns that are the first to be known are those that fill no block.
    """
    lower, size = attributes["lower"], a.shape.dimensions[-1]
    count, remainder = divmod(size, _BLOCK)
    offset = remainder if lower else 0
    if remainder:
        right = _with_first_solved(b, a, right, remainder, attributes)

    def solve(b: Builder, step: Instruction, state: list[Instruction], read: list[Instruction]) -> Sequence[Instruction]:
        k = step if lower else b.Sub(_number(b, count - 1), step)
        begin, end = (_number(b, 0), k) if lower else (_next(b, k), _number(b, count))
        (rest,) = _loop(b, begin, end, [_block(b, state[0], k, offset=offset)], [read[0], state[0], k], take_out)
        x = b.emit("triangular-solve", _block(b, read[0], k, k, offset), rest, **attributes)
        return [b.DynamicUpdateSlice(state[0], x, _start(b, x, k, offset=offset))]

    def take_out(b: Builder, j: Instruction, state: list[Instruction], read: list[Instruction]) -> Sequence[Instruction]:
        matrices, known, k = read
        return [b.Sub(state[0], _product(b, _block(b, matrices, k, j, offset), _block(b, known, j, offset=offset)))]

    (solutions,) = _loop(b, _number(b, 0), _number(b, count), [right], [a], solve)
    return solutions


def _with_first_solved(b: Builder, a: Instruction, right: Instruction, count: int, attributes: dict) -> Instruction:
    """The right-hand sides with so many unknowns solved for, and taken out of the equations for the others."""
    size, rank = a.shape.dimensions[-1], a.shape.rank
    known, unknown = ((0, count), (count, size)) if attributes["lower"] else ((size - count, size), (0, size - count))

    def part(x: Instruction, rows: tuple[int, int], columns: tuple[int, int] | None = None) -> Instruction:
        *batch, _, width = x.shape.dimensions
        columns = columns or (0, width)
        return b.Slice(x, (*(0 for _ in batch), rows[0], columns[0]), (*batch, rows[1], columns[1]))

    x = b.emit("triangular-solve", part(a, known, known), part(right, known), **attributes)
    rest = b.Sub(part(right, unknown), _product(b, part(a, unknown, known), x))
    return b.ConcatInDim([x, rest] if attributes["lower"] else [rest, x], rank - 2)

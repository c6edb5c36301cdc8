"""Cholesky factorization and triangular systems of very large matrices, as loops over square blocks.

The blocks of a matrix are named by the numbers of their row and column of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ... import hlo
from ...hlo import S64, Instruction, Shape

# Matrices up to this size are not the subject of this module.
LARGEST_HALVED = 1024
_BLOCK = 256

# (the number of the round, the state, what the rounds only read) to the new state.
_Round = Callable[[Instruction, list[Instruction], list[Instruction]], Sequence[Instruction]]


def _loop(
    begin: Instruction, end: Instruction, state: Sequence[Instruction], read: Sequence[Instruction], body: _Round
) -> list[Instruction]:
    """The state after the rounds from begin to end."""
    init = hlo.tuple(begin, end, *state, *read)

    def more(parameter: Instruction) -> Instruction:
        return hlo.lt(*(hlo.get_tuple_element(parameter, number) for number in (0, 1)))

    def following(parameter: Instruction) -> Instruction:
        number, limit, *values = (hlo.get_tuple_element(parameter, place) for place in range(len(init.operands)))
        inside, outside = values[: len(state)], values[len(state) :]
        return hlo.tuple(_next(number), limit, *body(number, inside, outside), *outside)

    condition, step = (
        hlo.computation(f"blocks_{name}", [init.shape], function)
        for name, function in (("condition", more), ("body", following))
    )
    loop = hlo.while_(init, condition=condition, body=step)
    return [hlo.get_tuple_element(loop, 2 + place) for place in range(len(state))]


def _number(value: int) -> Instruction:
    return hlo.constant(np.int64(value))


def _next(number: Instruction) -> Instruction:
    return hlo.add(number, _number(1))


def _start(x: Instruction, row: Instruction, column: Instruction | None = None, offset: int = 0) -> list[Instruction]:
    """The index of a block's first element; without column, of a row of blocks'. Blocks begin at the offset."""

    def element(number: Instruction) -> Instruction:
        return hlo.add(hlo.multiply(number, _number(_BLOCK)), _number(offset))

    return [_number(0)] * (x.shape.rank - 2) + [element(row), _number(0) if column is None else element(column)]


def _block(x: Instruction, row: Instruction, column: Instruction | None = None, offset: int = 0) -> Instruction:
    """A block of each matrix of a batch; without column, a row of blocks."""
    *batch, _, width = x.shape.dimensions
    return hlo.dynamic_slice(x, *_start(x, row, column, offset), sizes=(*batch, _BLOCK, width if column is None else _BLOCK))


def _product(lhs: Instruction, rhs: Instruction, transposes: bool = False) -> Instruction:
    """The products of matrices; with ``transposes``, of the transposed ones of lhs."""
    rank = lhs.shape.rank
    batch = tuple(range(rank - 2))
    return hlo.dot(
        lhs,
        rhs,
        lhs_batch_dimensions=batch,
        rhs_batch_dimensions=batch,
        lhs_contracting_dimensions=(rank - 2 if transposes else rank - 1,),
        rhs_contracting_dimensions=(rank - 2,),
    )


def _with_whole_blocks(x: Instruction) -> Instruction:
    """Square matrices, the last block filled up with a part of the unit matrix."""
    shape, rank = x.shape, x.shape.rank
    size = shape.dimensions[-1]
    added = -size % _BLOCK
    if not added:
        return x
    x = hlo.pad(x, hlo.constant(0, shape.element_type), padding=[(0, 0, 0)] * (rank - 2) + [(0, added, 0)] * 2)
    numbers = Shape(S64, x.shape.dimensions)
    row, column = hlo.iota(numbers, rank - 2), hlo.iota(numbers, rank - 1)
    filled = hlo.and_(hlo.eq(row, column), hlo.ge(row, hlo.broadcast(_number(size), numbers.dimensions, ())))
    return hlo.select(filled, hlo.broadcast(hlo.constant(1, shape.element_type), numbers.dimensions, ()), x)


def blocked_cholesky(a: Instruction) -> Instruction:
    """The upper factors of matrices: row by row of blocks, each of which is then taken out of all that follow."""
    shape, rank = a.shape, a.shape.rank
    whole = _with_whole_blocks(a)
    count = whole.shape.dimensions[-1] // _BLOCK

    def factor(k: Instruction, state: list[Instruction], read: list[Instruction]) -> Sequence[Instruction]:
        u = hlo.cholesky(_block(state[0], k, k))
        whole = hlo.dynamic_update_slice(state[0], u, *_start(u, k, k))
        begin, end = _next(k), _number(count)
        (whole,) = _loop(begin, end, [whole], [k, u], solve)
        return _loop(begin, end, [whole], [k], take_out_row)

    def solve(j: Instruction, state: list[Instruction], read: list[Instruction]) -> Sequence[Instruction]:
        k, u = read
        v = hlo.triangular_solve(u, _block(state[0], k, j), left_side=True, transpose_a="ADJOINT")
        return [hlo.dynamic_update_slice(state[0], v, *_start(v, k, j))]

    def take_out_row(i: Instruction, state: list[Instruction], read: list[Instruction]) -> Sequence[Instruction]:
        v = _block(state[0], read[0], i)
        v = hlo.conjugate(v)
        return _loop(i, _number(count), state, [read[0], i, v], take_out)

    def take_out(j: Instruction, state: list[Instruction], read: list[Instruction]) -> Sequence[Instruction]:
        k, i, v = read
        rest = hlo.subtract(_block(state[0], i, j), _product(v, _block(state[0], k, j), transposes=True))
        return [hlo.dynamic_update_slice(state[0], rest, *_start(rest, i, j))]

    (whole,) = _loop(_number(0), _number(count), [whole], [], factor)
    factors = hlo.slice(whole, (0,) * rank, shape.dimensions)
    row, column = (hlo.iota(shape.with_element_type(S64), dimension) for dimension in (rank - 2, rank - 1))
    zeros = hlo.full(shape, 0)
    return hlo.select(hlo.le(row, column), factors, zeros)


def blocked_solution(a: Instruction, right: Instruction, attributes: dict) -> Instruction:
    """The solutions x of a x = right: row by row of blocks, from which those that are known are taken out first.

    The unknowns that are the first to be known are those that fill no block.
    """
    lower, size = attributes["lower"], a.shape.dimensions[-1]
    count, remainder = divmod(size, _BLOCK)
    offset = remainder if lower else 0
    if remainder:
        right = _with_first_solved(a, right, remainder, attributes)

    def solve(step: Instruction, state: list[Instruction], read: list[Instruction]) -> Sequence[Instruction]:
        k = step if lower else hlo.subtract(_number(count - 1), step)
        begin, end = (_number(0), k) if lower else (_next(k), _number(count))
        (rest,) = _loop(begin, end, [_block(state[0], k, offset=offset)], [read[0], state[0], k], take_out)
        x = hlo.triangular_solve(_block(read[0], k, k, offset), rest, **attributes)
        return [hlo.dynamic_update_slice(state[0], x, *_start(x, k, offset=offset))]

    def take_out(j: Instruction, state: list[Instruction], read: list[Instruction]) -> Sequence[Instruction]:
        matrices, known, k = read
        return [hlo.subtract(state[0], _product(_block(matrices, k, j, offset), _block(known, j, offset=offset)))]

    (solutions,) = _loop(_number(0), _number(count), [right], [a], solve)
    return solutions


def _with_first_solved(a: Instruction, right: Instruction, count: int, attributes: dict) -> Instruction:
    """The right-hand sides with so many unknowns solved for, and taken out of the equations for the others."""
    size, rank = a.shape.dimensions[-1], a.shape.rank
    known, unknown = ((0, count), (count, size)) if attributes["lower"] else ((size - count, size), (0, size - count))

    def part(x: Instruction, rows: tuple[int, int], columns: tuple[int, int] | None = None) -> Instruction:
        *batch, _, width = x.shape.dimensions
        columns = columns or (0, width)
        return hlo.slice(x, (*(0 for _ in batch), rows[0], columns[0]), (*batch, rows[1], columns[1]))

    x = hlo.triangular_solve(part(a, known, known), part(right, known), **attributes)
    rest = hlo.subtract(part(right, unknown), _product(part(a, unknown, known), x))
    return hlo.concatenate(*[x, rest] if attributes["lower"] else [rest, x], dimensions=(rank - 2,))

"""Cholesky factorization and triangular systems in one form, and of a moderate size.

The form is an upper triangular factor, and a system ``a x = b`` with the matrix on the left, as it is, of f32, f64 or complex
numbers. Larger ones are made of two halves and of products, in which most of the work lies, and very large ones are loops over
blocks, so that their code does not grow with their size.
"""

from __future__ import annotations

from collections.abc import Callable

from ... import hlo
from ...hlo import F32, S32, Instruction
from ..traversal import on_operands
from .blocked_linear_algebra import LARGEST_HALVED, blocked_cholesky, blocked_solution
from .table import expansion

_Divide = Callable[..., Instruction]

# A half is a multiple of this, so that it has whole vectors; and no smaller matrix is halved.
_MULTIPLE = 64


def _half(size: int) -> int:
    return -(-size // (2 * _MULTIPLE)) * _MULTIPLE


def _for_size(size: int, in_halves: _Divide, in_blocks: _Divide) -> _Divide | None:
    """How matrices of this size are divided; None for small ones, which are not."""
    if size > LARGEST_HALVED:
        return in_blocks
    return in_halves if size > _MULTIPLE else None


def _part(x: Instruction, rows: tuple[int, int], columns: tuple[int, int] | None = None) -> Instruction:
    """A block of each matrix of a batch; without columns, all of them."""
    *batch, _, width = x.shape.dimensions
    columns = columns or (0, width)
    limits = (*batch, rows[1], columns[1])
    return hlo.slice(x, (*(0 for _ in batch), rows[0], columns[0]), limits)


def _product(lhs: Instruction, rhs: Instruction) -> Instruction:
    """Matrix products, one for each index of the batch."""
    rank = lhs.shape.rank
    batch = tuple(range(rank - 2))
    return hlo.dot(
        lhs,
        rhs,
        lhs_batch_dimensions=batch,
        rhs_batch_dimensions=batch,
        lhs_contracting_dimensions=(rank - 1,),
        rhs_contracting_dimensions=(rank - 2,),
    )


def _transposed(operand: Instruction, conjugate: bool = False) -> Instruction:
    """Each matrix of a batch transposed, and conjugated where that is asked for."""
    rank = operand.shape.rank
    result = hlo.transpose(operand, dimensions=(*range(rank - 2), rank - 1, rank - 2))
    return _conjugated(result) if conjugate else result


def _conjugated(operand: Instruction) -> Instruction:
    if not operand.shape.element_type.is_complex:
        return operand
    return hlo.complex(hlo.real(operand), hlo.negate(hlo.imag(operand)))


def _is_narrow(instruction: Instruction) -> bool:
    return instruction.shape.element_type.bits < 32


@expansion("cholesky")
def expand_cholesky(cholesky: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """The lower factor is the adjoint of the upper factor of the adjoint."""
    (a,) = operands
    if _is_narrow(cholesky):
        factor = hlo.cholesky(hlo.convert(a, F32), **cholesky.attributes)
        return hlo.convert(factor, cholesky.shape.element_type)
    if cholesky.attributes["lower"]:
        return _transposed(hlo.cholesky(_transposed(a, True)), True)
    divide = _for_size(cholesky.shape.dimensions[-1], _cholesky_of_halves, blocked_cholesky)
    return on_operands(cholesky, operands) if divide is None else _nan_where_it_fails(divide(a))


def _cholesky_of_halves(a: Instruction) -> Instruction:
    """The factor of [[p, q], [q^H, r]] is [[u, v], [0, w]] with u^H u = p, u^H v = q and w^H w = r - v^H v."""
    shape, rank = a.shape, a.shape.rank
    size = shape.dimensions[-1]
    first, second = (0, _half(size)), (_half(size), size)
    u = hlo.cholesky(_part(a, first, first))
    v = hlo.triangular_solve(u, _part(a, first, second), left_side=True, transpose_a="ADJOINT")
    w = hlo.cholesky(hlo.subtract(_part(a, second, second), _product(_transposed(v, True), v)))
    zero = hlo.constant(0, shape.element_type)
    below = hlo.broadcast(zero, (*shape.dimensions[:-2], size - first[1], first[1]), ())
    return hlo.concatenate(
        hlo.concatenate(u, v, dimensions=(rank - 1,)), hlo.concatenate(below, w, dimensions=(rank - 1,)), dimensions=(rank - 2,)
    )


def _nan_where_it_fails(factor: Instruction) -> Instruction:
    """The upper factors, all NaN where the last parts of them are."""
    shape, rank = factor.shape, factor.shape.rank
    size = shape.dimensions[-1]
    last = hlo.slice(factor, (*(0,) * (rank - 2), size - 1, size - 1), shape.dimensions)
    real = hlo.reshape(hlo.real(last) if shape.element_type.is_complex else last, shape.dimensions[:-2])
    failed = hlo.broadcast(hlo.ne(real, real), shape.dimensions, tuple(range(rank - 2)))
    numbers = [hlo.iota(shape.with_element_type(S32), dimension) for dimension in (rank - 2, rank - 1)]
    missing = hlo.and_(failed, hlo.le(*numbers))
    return hlo.select(missing, hlo.full(shape, float("nan")), factor)


@expansion("triangular-solve")
def expand_triangular_solve(solve: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """x op(a) = b is op(a)^T x^T = b^T."""
    attributes = dict(solve.attributes)
    left_side, transpose_a = attributes["left_side"], attributes["transpose_a"]
    if _is_narrow(solve):
        result = hlo.triangular_solve(*(hlo.convert(operand, F32) for operand in operands), **attributes)
        return hlo.convert(result, solve.shape.element_type)
    a, right = operands
    if left_side and transpose_a == "NO_TRANSPOSE":
        divide = _for_size(a.shape.dimensions[-1], _solution_of_halves, blocked_solution)
        return on_operands(solve, operands) if divide is None else divide(a, right, attributes)
    if transpose_a == "ADJOINT":
        a = _conjugated(a)
    if (transpose_a == "NO_TRANSPOSE") != left_side:
        a, attributes["lower"] = _transposed(a), not attributes["lower"]
    attributes.update(left_side=True, transpose_a="NO_TRANSPOSE")
    x = hlo.triangular_solve(a, right if left_side else _transposed(right), **attributes)
    return x if left_side else _transposed(x)


def _solution_of_halves(a: Instruction, right: Instruction, attributes: dict) -> Instruction:
    """Half of the unknowns are solved for, and moved to the right-hand side of the equations for the others."""
    size = a.shape.dimensions[-1]
    known, unknown = (0, _half(size)), (_half(size), size)
    if not attributes["lower"]:
        known, unknown = unknown, known
    x = hlo.triangular_solve(_part(a, known, known), _part(right, known), **attributes)
    rest = hlo.subtract(_part(right, unknown), _product(_part(a, unknown, known), x))
    y = hlo.triangular_solve(_part(a, unknown, unknown), rest, **attributes)
    return hlo.concatenate(*[x, y] if attributes["lower"] else [y, x], dimensions=(a.shape.rank - 2,))

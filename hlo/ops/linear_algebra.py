"""Factorization and solution of triangular systems.

Source of the semantics: "Cholesky" and "TriangularSolve" in XLA's Operation Semantics. Of a triangular operand the other
triangle is never read.
"""

from __future__ import annotations

import numpy as np

from ..attributes import Boolean, Choice
from ..element_type import BF16, C64, C128, F16, F32, F64, S32
from ..errors import require
from ..operation import ACTUAL_SIZES, InvalidSample, Sample, operation
from ..shape import Shape
from .constraints import require_kind

_KINDS = ("float", "complex")


def _require_matrices(opcode: str, name: str, shape: Shape) -> None:
    require_kind(opcode, name, shape, _KINDS)
    require(shape.rank >= 2, f"{opcode}: {name} must be a matrix or a batch of matrices, got {shape}")


def _require_square(opcode: str, shape: Shape) -> None:
    square = shape.dimensions[-1] == shape.dimensions[-2]
    square = square and shape.is_dynamic(-1) == shape.is_dynamic(-2)
    require(square, f"{opcode}: a must be square in its last two dimensions, got {shape}")


@operation("cholesky", "a", dynamic=ACTUAL_SIZES, lower=Boolean(False))
def cholesky(a, *, lower):
    """Cholesky(a, lower): the triangular matrix l with l l^H = a, or u with u^H u = a, of each Hermitian matrix in a batch.

    Only the triangle that ``lower`` names is read, of the diagonal only the real part. The other triangle of the result is
    zero; where a matrix is not positive definite, its result's triangle is NaN. (XLA leaves both to the implementation.)
    The matrices stand in the last two dimensions, which are equal; those before are of the batch.
    """
    _require_matrices("cholesky", "a", a)
    _require_square("cholesky", a)
    return a.without_layout()


@cholesky.counting
def _(operands, shape, attributes):
    """A third of the cube of the order, for each matrix."""
    return shape.size * shape.dimensions[-1] // 3


@cholesky.evaluation
def _(a, *, lower):
    a = np.asarray(a)
    wide = a.dtype if a.dtype.itemsize >= 4 else np.dtype(np.float32)
    matrices = a.astype(wide) if lower else _adjoint(a.astype(wide))
    factors = np.empty(a.shape, wide)
    for index in np.ndindex(a.shape[:-2]):
        try:
            factors[index] = np.linalg.cholesky(matrices[index])
            has_factor = not np.isnan(np.diagonal(factors[index])).any()  # which not every LAPACK finds out
        except np.linalg.LinAlgError:
            has_factor = False
        if not has_factor:
            factors[index] = np.tril(np.full(a.shape[-2:], np.nan, wide))
    return (factors if lower else _adjoint(factors)).astype(a.dtype)


def _adjoint(matrices: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(matrices, -1, -2))


@operation(
    "triangular-solve", "a", "b", dynamic=ACTUAL_SIZES,
    left_side=Boolean(False), lower=Boolean(False), unit_diagonal=Boolean(False),
    transpose_a=Choice("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT", default="NO_TRANSPOSE", always_printed=True),
)  # fmt: skip
def triangular_solve(a, b, *, left_side, lower, unit_diagonal, transpose_a):
    """TriangularSolve(a, b, left_side, lower, unit_diagonal, transpose_a): x with op(a) x = b, or x op(a) = b if not left_side.

    op(a) is a, its transpose or its conjugate transpose. ``lower`` names the triangle of a that is read; a ``unit_diagonal`` is
    taken for ones and not read. Leading dimensions are those of a batch. A zero on the diagonal gives infinities and NaN, as
    the division does.
    """
    _require_matrices("triangular-solve", "a", a)
    _require_matrices("triangular-solve", "b", b)
    _require_square("triangular-solve", a)
    same = a.element_type is b.element_type
    require(same, f"triangular-solve: a and b must have the same element type, got {a} and {b}")
    same = a.dimensions[:-2] == b.dimensions[:-2]
    require(same, f"triangular-solve: a and b must have the same batch dimensions, got {a} and {b}")
    side, words = (-2, "rows") if left_side else (-1, "columns")
    fits = b.dimensions[side] == a.dimensions[-1]
    require(fits, f"triangular-solve: b must have as many {words} as a, got {a} and {b}")
    if a.dynamic_dimensions or b.dynamic_dimensions:
        same = all(a.is_dynamic(d) == b.is_dynamic(d) for d in range(a.rank - 2)) and a.is_dynamic(-1) == b.is_dynamic(side)
        require(same, f"triangular-solve: a {a} and b {b} must be dynamic in the same dimensions")
    return b.without_layout()


@triangular_solve.counting
def _(operands, shape, attributes):
    """A multiplication and an addition for each element of the triangle, for each right-hand side."""
    return shape.size * operands[0].dimensions[-1]


@triangular_solve.evaluation
def _(a, b, *, left_side, lower, unit_diagonal, transpose_a):
    """Substitution, one row of the solution after the other."""
    a, b = np.asarray(a), np.asarray(b)
    wide = a.dtype if a.dtype.itemsize >= 4 else np.dtype(np.float32)
    matrix, x = a.astype(wide), b.astype(wide)
    matrix = np.tril(matrix) if lower else np.triu(matrix)
    if transpose_a == "ADJOINT":
        matrix = np.conj(matrix)
    if not left_side:
        x = np.swapaxes(x, -1, -2).copy()
    if (transpose_a == "NO_TRANSPOSE") != left_side:
        matrix, lower = np.swapaxes(matrix, -1, -2), not lower
    size = matrix.shape[-1]
    with np.errstate(all="ignore"):
        for row in range(size) if lower else reversed(range(size)):
            known = slice(0, row) if lower else slice(row + 1, size)
            x[..., row, :] -= (matrix[..., row, None, known] @ x[..., known, :])[..., 0, :]
            if not unit_diagonal:
                x[..., row, :] /= matrix[..., row, row, None]
    return (x if left_side else np.swapaxes(x, -1, -2)).astype(b.dtype)


# --- samples ---


def _positive_definite(element_type, *sizes):
    """Hermitian matrices with a large diagonal."""
    random = np.random.default_rng(sum(sizes))
    matrices = random.integers(-3, 4, sizes).astype(complex)
    if element_type.is_complex:
        matrices += 1j * random.integers(-3, 4, sizes)
    real = matrices if element_type.is_complex else matrices.real
    return (real @ _adjoint(real) + 4 * np.eye(sizes[-1])).astype(element_type.dtype)


def _well_conditioned(element_type, *sizes):
    """Matrices both of whose triangles have an inverse of moderate size."""
    random = np.random.default_rng(sum(sizes))
    matrices = random.uniform(-1, 1, sizes)
    if element_type.is_complex:
        matrices = matrices + 1j * random.uniform(-1, 1, sizes)
    return (matrices / max(1, sizes[-1]) + 2 * np.eye(sizes[-1])).astype(element_type.dtype)


@cholesky.sampling
def _():
    for element_type in (F32, F64, F16, BF16):
        a = np.array([[4, 2, -2], [2, 10, 5], [-2, 5, 21]], element_type.dtype)
        l = np.array([[2, 0, 0], [1, 3, 0], [-1, 2, 4]], element_type.dtype)
        yield Sample([a], {"lower": True}, expected=l)
        yield Sample([a], expected=l.T.copy())
    for element_type in (C64, C128):
        a = np.array([[4, 2 - 2j], [2 + 2j, 11]], element_type.dtype)
        yield Sample([a], {"lower": True}, expected=np.array([[2, 0], [1 + 1j, 3]], element_type.dtype))
        yield Sample([a], {"lower": False}, expected=np.array([[2, 1 - 1j], [0, 3]], element_type.dtype))
    # The other triangle is not read.
    a = np.array([[9, np.nan], [6, 5]], np.float32)
    yield Sample([a], {"lower": True}, expected=np.array([[3, 0], [2, 1]], np.float32))
    nan = np.nan
    a = np.array([[[1, 2], [2, 1]], [[1, 0], [0, 1]], [[-4, 0], [0, 1]], [[nan, 0], [0, 1]]], np.float64)
    bad = [[nan, 0], [nan, nan]]
    yield Sample([a], {"lower": True}, expected=np.array([bad, [[1, 0], [0, 1]], bad, bad], np.float64))
    for element_type, *sizes in (
        (F32, 40, 40), (F64, 3, 17, 17), (C64, 2, 9, 9), (C128, 21, 21), (F32, 2, 3, 1, 1), (F64, 0, 4, 4), (F32, 3, 0, 0),
    ):  # fmt: skip
        for lower in (True, False):
            yield Sample([_positive_definite(element_type, *sizes)], {"lower": lower})
    yield InvalidSample([Shape(S32, (2, 2))], {}, "a must have a floating-point, complex element type")
    yield InvalidSample([Shape(F32, (2,))], {}, "a must be a matrix or a batch of matrices")
    yield InvalidSample([Shape(F32, (2, 3))], {}, "a must be square in its last two dimensions")
    yield InvalidSample([Shape(F32, (2, 2))], {"lower": 1}, "True or False is required")


@triangular_solve.sampling
def _():
    left = {"left_side": True, "lower": True}
    for element_type in (F32, F64, F16, BF16):
        a = np.array([[2, 0], [1, 4]], element_type.dtype)
        b = np.array([[2, 4, 6], [5, 10, -5]], element_type.dtype)
        yield Sample([a, b], left, expected=np.array([[1, 2, 3], [1, 2, -2]], element_type.dtype))
        b = np.array([[5, 8], [7, -4]], element_type.dtype)
        yield Sample([a, b], {"lower": True}, expected=np.array([[1.5, 2], [4, -1]], element_type.dtype))
        # The transpose is upper triangular, the diagonal and the other triangle are not read.
        a = np.array([[np.nan, np.nan], [3, np.nan]], element_type.dtype)
        b = np.array([[7], [2]], element_type.dtype)
        attributes = {**left, "unit_diagonal": True, "transpose_a": "TRANSPOSE"}
        yield Sample([a, b], attributes, expected=np.array([[1], [2]], element_type.dtype))
    a, b = np.array([[2j]], np.complex64), np.array([[6, 4j]], np.complex64)
    yield Sample([a, b], left, expected=np.array([[-3j, 2]], np.complex64))
    for name, expected in (("TRANSPOSE", [[-3j, 2]]), ("ADJOINT", [[3j, -2]])):
        yield Sample([a, b], {**left, "transpose_a": name}, expected=np.array(expected, np.complex64))
    for element_type, batch, size, others in ((F32, (), 37, 20), (F64, (2,), 9, 5), (C64, (2, 2), 7, 3), (C128, (), 13, 1)):
        for number, transpose_a in enumerate(("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT") * 4):
            attributes = {"transpose_a": transpose_a, "unit_diagonal": number % 4 == 3}
            attributes |= {"left_side": number % 2 == 0, "lower": number // 3 % 2 == 0}
            sizes = (size, others) if number % 2 == 0 else (others, size)
            yield Sample(
                [_well_conditioned(element_type, *batch, size, size), Shape(element_type, (*batch, *sizes))], attributes
            )
    yield Sample([Shape(F32, (0, 0)), Shape(F32, (0, 3))], left)
    yield Sample([_well_conditioned(F32, 3, 3), Shape(F32, (3, 0))], left)
    yield Sample([_well_conditioned(F32, 0, 3, 3), Shape(F32, (0, 3, 2))], left)
    a, b = Shape(F32, (3, 3)), Shape(F32, (3, 4))
    yield InvalidSample([Shape(S32, (3, 3)), b], left, "a must have a floating-point, complex element type")
    yield InvalidSample([a, Shape(S32, (3, 4))], left, "b must have a floating-point, complex element type")
    yield InvalidSample([a, Shape(F64, (3, 4))], left, "a and b must have the same element type")
    yield InvalidSample([Shape(F32, (3,)), b], left, "a must be a matrix or a batch of matrices")
    yield InvalidSample([a, Shape(F32, (3,))], left, "b must be a matrix or a batch of matrices")
    yield InvalidSample([Shape(F32, (3, 4)), b], left, "a must be square in its last two dimensions")
    yield InvalidSample([Shape(F32, (2, 3, 3)), b], left, "a and b must have the same batch dimensions")
    yield InvalidSample([Shape(F32, (2, 3, 3)), Shape(F32, (4, 3, 4))], left, "a and b must have the same batch dimensions")
    yield InvalidSample([a, Shape(F32, (4, 3))], left, "b must have as many rows as a")
    yield InvalidSample([a, b], {}, "b must have as many columns as a")
    yield InvalidSample([a, b], {**left, "transpose_a": "CONJUGATE"}, "one of NO_TRANSPOSE, TRANSPOSE, ADJOINT is required")

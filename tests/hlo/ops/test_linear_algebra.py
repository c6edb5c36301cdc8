"""Cholesky factorization and triangular systems: factors multiplied out, solutions put in, closed forms."""

import itertools
from math import comb

import numpy as np
import pytest
from phlox import hlo, jit
from phlox.backends.registry import get_backend
from phlox.hlo import C128, F32, F64, Shape
from phlox.xla_builder import XlaBuilder
from sample_values import normal_array
from thinning import one_in_all

BACKENDS = ["reference", "cpu"]
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
TRANSPOSES = ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]


def run(backend, opcode, *operands, **attributes):
    b = XlaBuilder(opcode)
    root = b.emit(opcode, *(b.parameter(hlo.shape_of(operand)) for operand in operands), **attributes)
    (result,) = get_backend(backend).compile(b.build_module(root))(*operands)
    return result


def adjoint(matrix):
    return np.conj(np.swapaxes(matrix, -1, -2))


def positive_definite(dtype, *sizes):
    x = normal_array(dtype, *sizes)
    return (x @ adjoint(x) + sizes[-1] * np.eye(sizes[-1])).astype(dtype)


def triangular(dtype, lower, *sizes):
    """Well-conditioned triangles; what stands in the other triangle must not be read."""
    matrix = normal_array(dtype, *sizes) / sizes[-1] + 2 * np.eye(sizes[-1])
    other = np.triu(np.ones(sizes[-2:], bool), 1) if lower else np.tril(np.ones(sizes[-2:], bool), -1)
    return matrix.astype(dtype), np.where(other, np.nan, matrix).astype(dtype)


# --- Cholesky ---


@pytest.mark.parametrize(("backend", "dtype", "lower"), one_in_all(3, BACKENDS, DTYPES, [True, False]))
def test_factors_multiply_to_the_matrix(backend, dtype, lower):
    for sizes in ((1, 1), (2, 2), (5, 5), (2, 3, 16, 16), (33, 33), (2, 130, 130)):
        a = positive_definite(dtype, *sizes)
        triangle = np.tril(np.ones(sizes[-2:], bool)) if lower else np.triu(np.ones(sizes[-2:], bool))
        factor = run(backend, "cholesky", np.where(triangle, a, np.nan).astype(dtype), lower=lower)
        assert factor.dtype == dtype
        assert not factor[..., ~triangle].any()
        diagonal = np.diagonal(factor, axis1=-2, axis2=-1)
        assert (diagonal.real > 0).all() and not diagonal.imag.any()
        product = factor @ adjoint(factor) if lower else adjoint(factor) @ factor
        error = np.abs(product - a).max() / np.abs(a).max()
        assert error <= 4 * np.finfo(dtype).eps * max(1, sizes[-1]) ** 0.5


@pytest.mark.parametrize("backend", BACKENDS)
def test_pascals_triangle(backend):
    """The symmetric matrix of binomial coefficients comb(i + j, i) has Pascal's triangle as its factor."""
    size = 12
    a = np.array([[comb(i + j, i) for j in range(size)] for i in range(size)], float)
    expected = [[comb(i, j) for j in range(size)] for i in range(size)]
    np.testing.assert_array_equal(run(backend, "cholesky", a, lower=True), expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("lower", [True, False])
def test_what_is_not_positive_definite(backend, lower):
    good = positive_definite(np.float64, 20, 20)
    batch = np.array([good] * 5)
    batch[0, 0, 0] = -1
    batch[1, 19, 19] = 0
    batch[2, 7, 7] = np.nan
    batch[4] = 0
    factors = run(backend, "cholesky", batch, lower=lower)
    triangle = np.tril(np.ones((20, 20), bool)) if lower else np.triu(np.ones((20, 20), bool))
    for number in (0, 1, 2, 4):
        assert np.isnan(factors[number][triangle]).all() and not factors[number][~triangle].any()
    np.testing.assert_allclose(factors[3], run(backend, "cholesky", good, lower=lower), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.complex64])
@pytest.mark.parametrize("lower", [True, False])
def test_large_factors_are_made_of_halves(dtype, lower):
    size = 300
    a = positive_definite(dtype, 2, size, size)
    a[1, size - 1, size - 1] = 0
    triangle = np.tril(np.ones((size, size), bool)) if lower else np.triu(np.ones((size, size), bool))
    factor, missing = run("cpu", "cholesky", np.where(triangle, a, np.nan).astype(dtype), lower=lower)
    product = factor @ adjoint(factor) if lower else adjoint(factor) @ factor
    assert np.abs(product - a[0]).max() / np.abs(a[0]).max() <= 50 * np.finfo(dtype).eps
    assert np.isnan(missing[triangle]).all() and not missing[~triangle].any() and not factor[~triangle].any()


# --- triangular systems ---


@pytest.mark.parametrize(
    ("backend", "dtype", "left_side", "lower"), one_in_all(3, BACKENDS, DTYPES, [True, False], [True, False])
)
def test_solutions_solve_the_system(backend, dtype, left_side, lower):
    for transpose_a, unit_diagonal, (batch, size, others) in zip(
        itertools.cycle(TRANSPOSES), itertools.cycle([False, False, False, True]), [((), 1, 1), ((), 5, 3), ((2,), 6, 40)] * 4
    ):
        matrix, operand = triangular(dtype, lower, *batch, size, size)
        if unit_diagonal:
            operand[..., range(size), range(size)] = np.nan
            matrix[..., range(size), range(size)] = 1
        matrix = np.tril(matrix) if lower else np.triu(matrix)
        op = {"NO_TRANSPOSE": matrix, "TRANSPOSE": np.swapaxes(matrix, -1, -2), "ADJOINT": adjoint(matrix)}[transpose_a]
        b = normal_array(dtype, *batch, *((size, others) if left_side else (others, size)))
        attributes = {"left_side": left_side, "lower": lower, "unit_diagonal": unit_diagonal, "transpose_a": transpose_a}
        x = run(backend, "triangular-solve", operand, b, **attributes)
        assert x.dtype == dtype and x.shape == b.shape
        product = op @ x if left_side else x @ op
        np.testing.assert_allclose(product, b, rtol=0, atol=50 * np.finfo(dtype).eps * max(1, np.abs(b).max()))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("size", [70, 530])
@pytest.mark.parametrize("lower", [True, False])
def test_sums_of_ones(backend, size, lower):
    """A triangle of ones sums up, from the first or from the last; what is solved for are the differences."""
    ones = np.ones((size, size))
    a = np.where(np.tril(ones) if lower else np.triu(ones), 1, np.nan)
    x = np.arange(3.0 * size).reshape(size, 3)
    b = np.cumsum(x, axis=0) if lower else np.cumsum(x[::-1], axis=0)[::-1].copy()
    for unit_diagonal in (True, False):
        attributes = {"left_side": True, "lower": lower, "unit_diagonal": unit_diagonal}
        np.testing.assert_array_equal(run(backend, "triangular-solve", a, b, **attributes), x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_zeros_on_the_diagonal_divide(backend):
    a, b = np.array([[0.0, 0], [1, 2]]), np.array([[1.0, 0, -1], [1, 1, 1]])
    x = run(backend, "triangular-solve", a, b, left_side=True, lower=True)
    np.testing.assert_array_equal(x, [[np.inf, np.nan, -np.inf], [-np.inf, np.nan, np.inf]])


# --- builder and text ---


def test_builder():
    b = XlaBuilder("f")
    a, right = b.parameter(Shape(F32, (2, 3, 3))), b.parameter(Shape(F32, (2, 3, 5)))
    assert b.Cholesky(a, True).attributes == {"lower": True}
    solve = b.TriangularSolve(a, right, True, False, True, "TRANSPOSE")
    assert solve.shape == right.shape
    wanted = {"left_side": True, "lower": False, "unit_diagonal": True, "transpose_a": "TRANSPOSE"}
    assert solve.attributes == wanted == b.TriangularSolve(a, right, **wanted).attributes
    with pytest.raises(hlo.ShapeError, match="2 operands .* required, 7 given"):
        b.TriangularSolve(a, right, True, False, True, "TRANSPOSE", 1)
    with pytest.raises(hlo.ShapeError, match="lower given twice"):
        b.Cholesky(a, True, lower=False)


def test_text_in_the_spelling_of_xla():
    lines = [
        "cholesky(%a), lower=true",
        "cholesky(%a)",
        "triangular-solve(%l, %a), left_side=true, lower=true, transpose_a=NO_TRANSPOSE",
        "triangular-solve(%u, %s), unit_diagonal=true, transpose_a=ADJOINT",
    ]
    text = "HloModule m\nENTRY main {\n  a = f64[3,3]{1,0} parameter(0)\n"
    for name, line in zip("lust", lines):
        text += f"  {'ROOT ' * (name == 't')}{name} = f64[3,3]{{1,0}} {line}\n"
    module = hlo.parse_module(text + "}")
    for line in lines:
        assert line in module.as_text()
    a = positive_definite(np.float64, 3, 3)
    lower, upper = np.linalg.cholesky(a), np.linalg.cholesky(a, upper=True)
    solved = np.linalg.solve(lower, a)
    unit = np.triu(upper, 1) + np.eye(3)
    expected = solved @ np.linalg.inv(unit.T)
    for backend in BACKENDS:
        (result,) = get_backend(backend).compile(module)(a)
        np.testing.assert_allclose(result, expected, rtol=1e-12)


# --- np.linalg ---


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [*DTYPES, np.int64])
def test_numpy_cholesky(backend, dtype):
    a = positive_definite(dtype, 2, 6, 6) if dtype is not np.int64 else np.array([[4, 2], [2, 10]])
    for upper in (False, True):
        expected = np.linalg.cholesky(a, upper=upper)
        actual = jit(lambda a, upper=upper: np.linalg.cholesky(a, upper=upper), backend=backend)(a)
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual, expected, rtol=1e-5 if np.finfo(expected.dtype).bits == 32 else 1e-12, atol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_numpy_cholesky_refuses(backend):
    factor = jit(lambda a: np.linalg.cholesky(a), backend=backend)
    with pytest.raises(np.linalg.LinAlgError, match="Matrix is not positive definite"):
        factor(np.array([[1.0, 2], [2, 1]]))
    np.testing.assert_array_equal(factor(np.array([[4.0, np.nan], [2, 10]])), [[2, 0], [1, 3]])
    assert np.isnan(factor(np.array([[4.0, 2], [2, np.nan]]))[1, 1])
    with pytest.raises(np.linalg.LinAlgError, match="Last 2 dimensions of the array must be square"):
        factor(np.ones((2, 3)))
    with pytest.raises(np.linalg.LinAlgError, match="1-dimensional array given"):
        factor(np.ones(3))
    with pytest.raises(TypeError, match="array type float16 is unsupported in linalg"):
        factor(np.ones((2, 2), np.float16))
    assert factor(np.ones((3, 0, 0))).shape == (3, 0, 0)


# --- XLA as a peer ---


@pytest.mark.peer
@pytest.mark.parametrize("transpose_a", TRANSPOSES)
def test_as_xla(transpose_a):
    linalg = pytest.importorskip("jax").lax.linalg
    _, a = triangular(np.complex64, True, 3, 7, 7)
    b = normal_array(np.complex64, 3, 4, 7)
    options = {"transpose_a": transpose_a != "NO_TRANSPOSE", "conjugate_a": transpose_a == "ADJOINT"}
    expected = linalg.triangular_solve(a, b, left_side=False, lower=True, **options)
    for backend in BACKENDS:
        actual = run(backend, "triangular-solve", a, b, lower=True, transpose_a=transpose_a)
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def test_narrow_types_are_solved_in_single_precision():
    a = np.array([[3]], hlo.BF16.dtype)
    x = run("cpu", "triangular-solve", a, np.array([[1]], hlo.BF16.dtype), left_side=True)
    assert x.dtype == hlo.BF16.dtype and float(x.item()) == float(np.float32(1 / 3).astype(hlo.BF16.dtype))
    assert F64.dtype == np.float64


@pytest.mark.parametrize("transpose_a", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
@pytest.mark.parametrize("element_type", [F32, C128], ids=str)
def test_one_right_hand_side(element_type, transpose_a):
    """What stands in the other triangle, and on a unit diagonal, is not read."""
    random = np.random.default_rng(1)
    for size in (1, 7, 33, 300):
        for lower in (True, False):
            for unit_diagonal in (True, False):
                a = random.standard_normal((2, size, size)) / size + 3 * np.eye(size)
                if element_type.is_complex:
                    a = a + 1j * random.standard_normal((2, size, size)) / size
                a = a.astype(element_type.dtype)
                right = random.standard_normal((2, size, 1)).astype(element_type.dtype)
                triangle = np.tril(a, -unit_diagonal) if lower else np.triu(a, int(unit_diagonal))
                used = triangle + unit_diagonal * np.eye(size, dtype=a.dtype)
                used = used if transpose_a == "NO_TRANSPOSE" else np.swapaxes(used, 1, 2)
                used = used.conj() if transpose_a == "ADJOINT" else used
                hidden = np.where(triangle == 0, np.nan, a).astype(a.dtype)
                b = XlaBuilder("f")
                parameters = [b.parameter(hlo.shape_of(x)) for x in (hidden, right)]
                attributes = {"lower": lower, "unit_diagonal": unit_diagonal, "transpose_a": transpose_a}
                solve = b.emit("triangular-solve", *parameters, left_side=True, **attributes)
                (x,) = get_backend("cpu").compile(b.build_module(solve))(hidden, right)
                np.testing.assert_allclose(used @ x, right, rtol=1e-3, atol=1e-4)


def test_small_matrices_are_over_before_code_asks_for_interrupts():
    executable = jit(np.linalg.cholesky).lower(np.eye(64, dtype=np.float32)).compile().executable
    assert "check_interrupts" not in executable.llvm_ir()
    executable = jit(np.linalg.cholesky).lower(np.eye(1500, dtype=np.float32)).compile().executable
    assert "check_interrupts" in executable.llvm_ir()

"""The LAPACK functions that dumps of JAX call, on both backends, against JAX."""

import numpy as np
import pytest
from comparisons import flattened
from phlox import load_hlo
from thinning import one_in, one_in_all

jax = pytest.importorskip("jax")
pytest.importorskip("scipy")
pytestmark = pytest.mark.peer

import jax.numpy as jnp  # noqa: E402
import jax.scipy.linalg as jsl  # noqa: E402
from jax.lax import linalg  # noqa: E402
from scipy.linalg import lapack  # noqa: E402

random = np.random.default_rng(3)
A = random.standard_normal((4, 4)).astype(np.float32)
TALL = random.standard_normal((2, 5, 3)).astype(np.float32)
WIDE = random.standard_normal((3, 5)).astype(np.float32)
B = random.standard_normal((4, 2)).astype(np.float32)
Z = (random.standard_normal((4, 4)) + 1j * random.standard_normal((4, 4))).astype(np.complex64)
SPD = (A @ A.T + 4 * np.eye(4)).astype(np.float32)
HPD = (Z @ Z.conj().T + 4 * np.eye(4)).astype(np.complex64)
V = A[0]
BATCH = np.stack([A, SPD, A.T])

# Functions whose result is unique, or in which both sides run the same LAPACK algorithm.
PROGRAMS = {
    "lu": (jsl.lu, (A,)),
    "lu of a batch": (lambda a: linalg.lu(a), (BATCH,)),
    "lu, complex": (jsl.lu, (Z,)),
    "cholesky": (jnp.linalg.cholesky, (SPD,)),
    "cholesky, upper": (lambda a: jnp.linalg.cholesky(a, upper=True), (HPD,)),
    "cholesky of what is not positive": (jnp.linalg.cholesky, (-SPD,)),
    "solve": (jnp.linalg.solve, (A, B)),
    "solve, complex": (jnp.linalg.solve, (Z, B.astype(np.complex64))),
    "cho_solve": (lambda a, b: jsl.cho_solve((a, True), b), (SPD, B)),
    "triangular solve": (lambda a, b: jsl.solve_triangular(a, b, lower=True), (SPD, B)),
    "triangular solve, adjoint": (
        lambda a, b: linalg.triangular_solve(a, b, conjugate_a=True, transpose_a=True, lower=True, left_side=False),
        (HPD, Z[:2]),
    ),
    "triangular solve, unit": (lambda a, b: linalg.triangular_solve(a, b, unit_diagonal=True, left_side=True), (BATCH, BATCH)),
    "qr": (jnp.linalg.qr, (TALL,)),
    "qr, complete": (lambda a: jnp.linalg.qr(a, mode="complete"), (TALL,)),
    "qr, wide": (jnp.linalg.qr, (WIDE,)),
    "qr, complex": (jnp.linalg.qr, (Z,)),
    "qr with pivoting": (lambda a: jsl.qr(a, pivoting=True), (A,)),
    "householder product": (linalg.householder_product, (A, np.abs(V))),
    "singular values": (lambda a: jnp.linalg.svd(a, compute_uv=False), (TALL,)),
    "svd": (lambda a: jnp.linalg.svd(a, full_matrices=False), (TALL,)),
    "svd, full": (lambda a: jnp.linalg.svd(a)[1:], (WIDE,)),
    "svd, complex": (lambda a: jnp.linalg.svd(a)[1], (Z,)),
    "svd by QR": (lambda a: linalg.svd(a, algorithm=linalg.SvdAlgorithm.QR)[1], (A,)),
    "eigh": (jnp.linalg.eigh, (SPD,)),
    "eigh, upper": (lambda a: jnp.linalg.eigh(a, UPLO="U", symmetrize_input=False)[0], (A,)),
    "eigh, complex": (lambda a: jnp.linalg.eigh(a)[0], (HPD,)),
    "eigvalsh of a batch": (jnp.linalg.eigvalsh, (BATCH,)),
    "eigenvalues": (jnp.linalg.eigvals, (A,)),
    "eig": (jnp.linalg.eig, (A,)),
    "eig, complex": (jnp.linalg.eig, (Z,)),
    "left eigenvectors": (lambda a: linalg.eig(a, compute_left_eigenvectors=True, compute_right_eigenvectors=False), (A,)),
    "schur": (jsl.schur, (A,)),
    "schur, complex": (jsl.schur, (Z,)),
    "hessenberg": (linalg.hessenberg, (A,)),
    "tridiagonal form": (lambda a: linalg.tridiagonal(a)[1:], (SPD,)),
    "tridiagonal form, complex": (lambda a: linalg.tridiagonal(a, lower=False)[1:], (HPD,)),
    "tridiagonal solve": (lambda a, b: linalg.tridiagonal_solve(a[0], 5 + a[1], a[2], b), (A, B)),
    "determinant": (jnp.linalg.det, (BATCH,)),
    "inverse": (jnp.linalg.inv, (A,)),
    "least squares": (lambda a, b: jnp.linalg.lstsq(a, b)[0], (TALL[0], TALL[1])),
    "pseudoinverse": (jnp.linalg.pinv, (WIDE,)),
    "empty": (jnp.linalg.cholesky, (np.zeros((0, 0), np.float32),)),
    "gradient": (jax.grad(lambda a: jnp.linalg.slogdet(a)[1] + jnp.linalg.eigvalsh(a)[0]), (SPD,)),
}


@pytest.fixture(scope="module", params=one_in(2, PROGRAMS))
def program(request):
    function, arguments = PROGRAMS[request.param]
    lowered = jax.jit(function).lower(*arguments)
    expected = [np.asarray(leaf) for leaf in jax.tree.leaves(lowered.compile()(*arguments))]
    return arguments, lowered.as_text(dialect="hlo"), expected


# One for each function that JAX calls on GPUs, and what they take and give in other forms than LAPACK.
ON_GPUS = {
    **{name: PROGRAMS[name] for name in ("lu of a batch", "cholesky, upper", "qr, complex", "svd, full", "eigh, complex")},
    **{name: PROGRAMS[name] for name in ("eig", "eig, complex", "tridiagonal form", "tridiagonal solve", "gradient")},
    "svd by QR": (lambda a: linalg.svd(a, algorithm=linalg.SvdAlgorithm.QR, full_matrices=False), (WIDE,)),
    "svd, complex": (lambda a: jnp.linalg.svd(a, full_matrices=False), (Z[:3],)),
    "ormqr": (lambda a, t, c: linalg.ormqr(a, t, c, transpose=True), (A, np.abs(V), B)),
    "qr with pivoting": (lambda a: jsl.qr(a, pivoting=True), (A,)),
    "symmetric product": (lambda a: linalg.symmetric_product(a, a, alpha=2, symmetrize_output=True), (A,)),
    "update of cholesky": (lambda a, v: linalg.cholesky_update(jnp.linalg.cholesky(a, upper=True), v), (SPD, V)),
}


@pytest.mark.parametrize("platform, name", one_in_all(8, ["cuda", "rocm"], ON_GPUS))
def test_program_for_a_gpu(platform, name):
    function, arguments = ON_GPUS[name]
    traced = jax.jit(function).trace(*arguments)
    text = traced.lower(lowering_platforms=(platform,)).as_text(dialect="hlo")
    assert "lapack" not in text
    expected = [np.asarray(leaf) for leaf in jax.tree.leaves(traced.lower().compile()(*arguments))]
    for result, wanted in zip(flattened(load_hlo(text)(*arguments)), expected, strict=True):
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(result, wanted, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_program(program, backend):
    arguments, text, expected = program
    for result, wanted in zip(flattened(load_hlo(text, backend)(*arguments)), expected, strict=True):
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(result, wanted, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_double_precision(backend):
    a = random.standard_normal((6, 6))
    with jax.enable_x64(True):
        function = lambda a: (jnp.linalg.inv(a), jnp.linalg.eigvals(a), jnp.linalg.qr(a), jnp.linalg.eigh(a @ a.T)[0])  # noqa: E731
        lowered = jax.jit(function).lower(a)
        expected = [np.asarray(leaf) for leaf in jax.tree.leaves(lowered.compile()(a))]
    for result, wanted in zip(flattened(load_hlo(lowered.as_text(dialect="hlo"), backend)(a)), expected, strict=True):
        assert result.dtype == wanted.dtype
        np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-9)


def test_ormqr():
    """The product with Q, from its Householder vectors, is that of the matrix Q."""
    vectors, tau, _, _ = lapack.sgeqrf(A)
    text = (
        jax.jit(lambda a, t, c: linalg.ormqr(a, t, c, left=True, transpose=True)).lower(vectors, tau, B).as_text(dialect="hlo")
    )
    assert "lapack_sormqr_ffi" in text
    q, _, _ = lapack.sorgqr(vectors, tau)
    np.testing.assert_allclose(load_hlo(text)(vectors, tau, B), q.T @ B, rtol=1e-4, atol=1e-4)

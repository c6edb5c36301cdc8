"""Factorizations of matrices, and what they solve, in f64."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from phlox import load_hlo

from ..contenders import Case, Contender, Row, case, jax, jax_contender, normal, row, targets

try:
    from scipy.linalg import solve_triangular
except ImportError:
    solve_triangular = None

TITLE = "Factorizations, f64"

SIZES = (3, 32, 128, 512)


def cholesky(a):
    return np.linalg.cholesky(a)


def solve(a, b):
    return np.linalg.solve(a, b)


def qr(a):
    return np.linalg.qr(a)


def svd(a):
    return np.linalg.svd(a)


def eigh(a):
    return np.linalg.eigh(a)


def matrix(n: int) -> np.ndarray:
    return normal(n, n, dtype=np.float64) + 2 * np.sqrt(n) * np.eye(n)


def positive(n: int) -> np.ndarray:
    a = matrix(n)
    return a @ a.T / n + np.eye(n)


def factorized(function, n: int, symmetric: bool = False, comparable=lambda result: result, solves: bool = False) -> Case:
    """Signs of vectors are anyone's, so that what is compared is what they make together."""
    arguments = [positive(n) if symmetric else matrix(n)] + [normal(n, dtype=np.float64)] * solves
    return case(function, *arguments, comparable=comparable, tolerance=1e-8, turns=7)


def of_qr(result):
    q, r = map(np.asarray, result)
    return q @ r


def of_svd(result):
    u, s, vh = map(np.asarray, result)
    return s, (u * s) @ vh


def of_eigh(result):
    values, vectors = map(np.asarray, result)
    return values, (vectors * values) @ vectors.T


def triangular(n: int, columns: int) -> Case:
    """NumPy has no function for it; phlox has the operation of HLO."""
    shape, right = f"f64[{n},{n}]", f"f64[{n},{columns}]"
    text = f"""
HloModule solve
ENTRY main {{
  a = {shape} parameter(0)
  b = {right} parameter(1)
  ROOT x = {right} triangular-solve(a, b), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE
}}"""
    arguments = np.tril(matrix(n)), normal(n, columns, dtype=np.float64)
    found = {"phlox": Contender(load_hlo(text), arguments)}
    if solve_triangular:
        found["SciPy"] = Contender(lambda a, b: solve_triangular(a, b, lower=True, check_finite=False), arguments)
    of_jax = jax and (lambda a, b: jax.lax.linalg.triangular_solve(a, b, left_side=True, lower=True))
    return Case(found | jax_contender(of_jax, arguments), tolerance=1e-8, turns=7)


def rows() -> Iterator[Row]:
    wanted = targets(NumPy=1.2)
    for n in SIZES:
        yield row(f"cholesky, {n}", wanted, factorized, cholesky, n, True)
        yield row(f"triangular solve of one column, {n}", targets(SciPy=1.2), triangular, n, 1)
        yield row(f"triangular solve of {n} columns, {n}", targets(SciPy=1.2), triangular, n, n)
        yield row(f"solve by LU, {n}", wanted, factorized, solve, n, solves=True)
        yield row(f"QR, {n}", wanted, factorized, qr, n, comparable=of_qr)
        yield row(f"SVD, {n}", wanted, factorized, svd, n, comparable=of_svd)
        yield row(f"eigh, {n}", wanted, factorized, eigh, n, True, of_eigh)

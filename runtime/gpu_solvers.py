"""The linear algebra that JAX calls on GPUs, ``cusolver_potrf_ffi`` and the like, by LAPACK functions that compute the same.

Names begin with ``cu`` in programs for NVIDIA's GPUs, with ``hip`` in those for AMD's; the element type is that of the operand.
Source of operands, results and attributes: ``jax/_src/lax/linalg.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .custom_calls import PythonTarget
from .lapack import Function, lapack_function, on_batches, require_scipy

_NAME = re.compile(r"(?:cu|hip)((?:solver|sparse|hybrid)?_[a-z0-9_]+?)(?:_ffi)?")
_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}

# By the name without its beginning and end: the function, and how many dimensions of each operand are not batches. A function
# takes the letter of the element type, the matrices of one batch element, and the attributes, and returns a tuple.
_FUNCTIONS: dict[str, tuple[Function, tuple[int, ...]]] = {}


def _on_gpu(*names: str, ranks: tuple[int, ...] = (2,)) -> Callable[[Function], Function]:
    def declare(function: Function) -> Function:
        _FUNCTIONS.update((name, (function, ranks)) for name in names)
        return function

    return declare


def find_gpu_solver(name: str) -> PythonTarget | None:
    """The target of this name; None for a name that is not among those known. Raises ImportError where SciPy is missing."""
    match = _NAME.fullmatch(name)
    if match is None or match[1] not in _FUNCTIONS:
        return None
    require_scipy(name)
    function, ranks = _FUNCTIONS[match[1]]

    def call(*operands: np.ndarray, attributes: dict[str, Any], shape: Any) -> Any:
        letter = _LETTERS.get(operands[0].dtype.name, "")
        return on_batches(lambda *matrices, **rest: function(letter, *matrices, **rest), ranks, operands, attributes, shape)

    call.__qualname__ = f"LAPACK's function for {name}"
    return PythonTarget(name, call)


def _code(is_so: bool, letter: str, other: str) -> int:
    return ord(letter if is_so else other)


for _name, _ranks in (("getrf", (2,)), ("geqrf", (2,)), ("orgqr", (2, 1)), ("ormqr", (2, 1, 2))):
    _FUNCTIONS[f"solver_{_name}"] = (lapack_function(_name), _ranks)


@_on_gpu("solver_potrf")
def _potrf(letter, a, *, lower, results):
    return lapack_function("potrf")(letter, a, uplo=_code(lower, "L", "U"), results=results)


@_on_gpu("solver_sytrd")
def _sytrd(letter, a, *, lower, results):
    return lapack_function("sytrd")(letter, a, uplo=_code(lower, "L", "U"), results=results)


@_on_gpu("solver_syevd")
def _syevd(letter, a, *, lower, results, algorithm=0):
    return lapack_function("syevd")(letter, a, mode=ord("V"), uplo=_code(lower, "L", "U"), results=results)


def _svd(letter, a, full_matrices, compute_uv, results, driver):
    mode = "N" if not compute_uv else "A" if full_matrices else "S"
    return lapack_function(driver)(letter, a, mode=ord(mode), results=results)


@_on_gpu("solver_gesvd", "solver_gesdd")
def _gesvd(letter, a, *, full_matrices, compute_uv, results, transposed=False):
    """A matrix that is wider than high comes transposed, so that in its place U and V change theirs."""
    a, s, u, vt, info = _svd(letter, a, full_matrices, compute_uv, results, "gesvd")
    return (a, s, vt, u, info) if transposed else (a, s, u, vt, info)


@_on_gpu("solver_gesvdj", "solver_gesvdp")
def _gesvdj(letter, a, *, full_matrices, compute_uv, results):
    """The third result is V, not its adjoint."""
    a, s, u, vt, info = _svd(letter, a, full_matrices, compute_uv, results, "gesdd")
    return a, s, u, None if vt is None else vt.conj().T, info


@_on_gpu("solver_geev")
def _geev(letter, a, *, left, right, results):
    """Of a real matrix two columns hold the real and the imaginary part of a pair of conjugate eigenvectors."""
    from scipy.linalg import lapack  # which need not be installed

    *w, vl, vr, info = getattr(lapack, letter + "geev")(a, compute_vl=int(left), compute_vr=int(right))
    return a, (w[0] + 1j * w[1] if len(w) == 2 else w[0]), (vl if left else None), (vr if right else None), info


@_on_gpu("hybrid_eig_real", "hybrid_eig_comp")
def _hybrid_eig(letter, a, *, left, right, results, magma=""):
    codes = {"compute_left": _code(left, "V", "N"), "compute_right": _code(right, "V", "N")}
    return lapack_function("geev")(letter, a, results=results, **codes)


@_on_gpu("hybrid_geqp3", ranks=(2, 1))
def _hybrid_geqp3(letter, a, pivots, *, results, magma=""):
    return lapack_function("geqp3")(letter, a, pivots, results=results)


@_on_gpu("sparse_gtsv2", ranks=(1, 1, 1, 2))
def _gtsv2(letter, lower, diagonal, upper, b, *, results):
    return (lapack_function("gtsv")(letter, lower, diagonal, upper, b, results=results)[3],)


@_on_gpu("solver_syrk", ranks=(2, 2, 0, 0))
def _syrk(letter, a, c, alpha, beta, *, transpose, results):
    product = a.T @ a if transpose else a @ a.T
    return (alpha * product + beta * c,)


@_on_gpu("_cholesky_update", ranks=(2, 1))
def _cholesky_update(letter, r, w, *, results):
    """The upper factor of r.T @ r + w w.T, by rotations of each row with w, and what these leave of w."""
    r, w = r.copy(), w.copy()
    for k in range(len(w)):
        length = np.hypot(r[k, k], w[k])
        c, s = (r[k, k] / length, -w[k] / length) if w[k] else (1, 0)
        r[k], w = c * r[k] - s * w, c * w + s * r[k]
    return r, w


@_on_gpu("_lu_pivots_to_permutation", ranks=(1,))
def _lu_pivots_to_permutation(letter, pivots, *, results):
    permutation = np.arange(results[0][0], dtype=np.int32)
    for row, other in enumerate(pivots):
        permutation[[row, other]] = permutation[[other, row]]
    return (permutation,)

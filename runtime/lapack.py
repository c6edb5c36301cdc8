"""The LAPACK and BLAS functions that JAX calls on CPUs, ``lapack_<t><function>_ffi``, by way of SciPy.

<t> is s, d, c or z, for f32, f64, c64 and c128. Leading dimensions are batches. An ``info`` among the results is LAPACK's.
Source of operands, results and attributes: ``jaxlib/cpu/lapack_kernels.h`` and ``jax/_src/lax/linalg.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .custom_calls import PythonTarget

_NAME = re.compile(r"lapack_([sdcz])([a-z0-9]+)_ffi")

# One function for each LAPACK name without its type letter: it takes the letter, the matrices of one batch element, and the
# attributes, and returns one result for each of the call's.
Function = Callable[..., tuple[Any, ...]]
_FUNCTIONS: dict[str, Function] = {}
# How many dimensions of each operand are not batches.
_RANKS: dict[str, tuple[int, ...]] = {}


def _lapack(*names: str, ranks: tuple[int, ...] = (2,)) -> Callable[[Function], Function]:
    def declare(function: Function) -> Function:
        for name in names:
            _FUNCTIONS[name], _RANKS[name] = function, ranks
        return function

    return declare


def find_lapack(name: str) -> PythonTarget | None:
    """The target of this name; None for a name that is not among those known. Raises ImportError where SciPy is missing."""
    match = _NAME.fullmatch(name)
    if match is None or match.group(2) not in _FUNCTIONS:
        return None
    require_scipy(name)
    letter, function = match.groups()

    def call(*operands: np.ndarray, attributes: dict[str, Any], shape: Any) -> Any:
        return on_batches(partial(_FUNCTIONS[function], letter), _RANKS[function], operands, attributes, shape)

    call.__qualname__ = f"SciPy's {letter}{function}"
    return PythonTarget(name, call)


def on_batches(
    function: Function, ranks: tuple[int, ...], operands: tuple[np.ndarray, ...], attributes: dict[str, Any], shape: Any
) -> Any:
    """The function's results for each element of a batch; ranks: how many dimensions of each operand are not batches."""
    batch = operands[0].shape[: operands[0].ndim - ranks[0]]
    shapes = shape.elements if shape.is_tuple else (shape,)
    results = tuple([np.zeros(s.dimensions, s.dtype) for s in shapes])
    inner = [result.shape[len(batch) :] for result in results]
    is_empty = any(0 in operand.shape for operand in operands)
    for index in np.ndindex(*batch) if not is_empty else ():
        made = function(*(operand[index] for operand in operands), results=inner, **attributes)
        for result, value in zip(results, made, strict=True):
            if value is not None:
                result[index] = value
    return results if shape.is_tuple else results[0]


def lapack_function(name: str) -> Function:
    """The function of this name without its type letter, which is its first argument."""
    return _FUNCTIONS[name]


def require_scipy(name: str) -> None:
    """Raise ImportError where SciPy is missing, which this call needs."""
    try:
        import scipy.linalg  # noqa: F401
    except ImportError as error:
        raise ImportError(f"custom-call to {name!r}: SciPy is required; install it with pip install 'phlox[linalg]'") from error


def _routine(name: str) -> Callable[..., Any]:
    from scipy.linalg import blas, lapack  # which need not be installed

    function = getattr(lapack, name, None) or getattr(blas, name)
    return function


def _is(code: int, letter: str) -> bool:
    """Whether an attribute is this letter; attributes are characters' codes."""
    return code == ord(letter)


@_lapack("getrf")
def _getrf(letter, a, *, results):
    lu, pivots, info = _routine(letter + "getrf")(a)
    return lu, pivots + 1, info


@_lapack("potrf")
def _potrf(letter, a, *, uplo, results):
    return _routine(letter + "potrf")(a, lower=_is(uplo, "L"), clean=0)


@_lapack("trsm", ranks=(2, 2))
def _trsm(letter, a, b, *, side, uplo, trans_x, diag, results):
    transposed = {ord("N"): 0, ord("T"): 1, ord("C"): 2}[trans_x]
    options = {"side": int(_is(side, "R")), "lower": int(_is(uplo, "L")), "trans_a": transposed, "diag": int(_is(diag, "U"))}
    return (_routine(letter + "trsm")(1.0, a, b, **options),)


@_lapack("geqrf")
def _geqrf(letter, a, *, results):
    qr, tau, _, _ = _routine(letter + "geqrf")(a)
    return qr, tau


@_lapack("geqp3", ranks=(2, 1))
def _geqp3(letter, a, pivots, *, results):
    if pivots.any():
        raise NotImplementedError(
            f"lapack_{letter}geqp3_ffi: columns that are fixed beforehand are not implemented, got {pivots}"
        )
    qr, pivots, tau, _, _ = _routine(letter + "geqp3")(a)
    return qr, pivots, tau


@_lapack("orgqr", "ungqr", ranks=(2, 1))
def _orgqr(letter, a, tau, *, results):
    if tau.size == 0:
        return (np.eye(*a.shape, dtype=a.dtype),)
    q, _, _ = _routine(letter + ("orgqr" if letter in "sd" else "ungqr"))(a, tau)
    return (q,)


@_lapack("ormqr", "unmqr", ranks=(2, 1, 2))
def _ormqr(letter, a, tau, c, *, results, left=True, transpose=False, side=None, trans=None):
    from_left = left if side is None else _is(side, "L")
    adjoint = "T" if letter in "sd" else "C"
    code = (adjoint if transpose else "N") if trans is None else chr(trans)
    workspace = max(1, 64 * max(c.shape))
    made, _, _ = _routine(letter + ("ormqr" if letter in "sd" else "unmqr"))(
        "L" if from_left else "R", code, a, tau, c, workspace
    )
    return (made,)


@_lapack("gesdd", "gesvd")
def _svd(letter, a, *, results, mode, driver="gesdd"):
    with_vectors, full = not _is(mode, "N"), _is(mode, "A")
    u, s, vt, info = _routine(letter + driver)(a, compute_uv=int(with_vectors), full_matrices=int(full))
    return (a, s, u, vt, info) if with_vectors else (a, s, None, None, info)


_FUNCTIONS["gesvd"] = lambda letter, a, **options: _svd(letter, a, driver="gesvd", **options)


@_lapack("syevd", "heevd")
def _syevd(letter, a, *, mode, uplo, results):
    name = letter + ("syevd" if letter in "sd" else "heevd")
    w, v, info = _routine(name)(a, compute_v=int(_is(mode, "V")), lower=int(_is(uplo, "L")))
    return v, w, info


@_lapack("geev")
def _geev(letter, a, *, compute_left, compute_right, results):
    left, right = _is(compute_left, "V"), _is(compute_right, "V")
    *w, vl, vr, info = _routine(letter + "geev")(a, compute_vl=int(left), compute_vr=int(right))
    if letter in "sd":
        vl, vr = (_eigenvectors(v, w[1]) if wanted else None for v, wanted in ((vl, left), (vr, right)))
    return *w, (vl if left else None), (vr if right else None), info


def _eigenvectors(packed: np.ndarray, imaginary: np.ndarray) -> np.ndarray:
    """The eigenvectors of a real matrix: of a pair of conjugate eigenvalues, two columns hold the real and imaginary part."""
    vectors = packed.astype(np.result_type(packed.dtype, np.complex64))
    for column in np.flatnonzero(imaginary > 0):
        pair = packed[:, column] + 1j * packed[:, column + 1]
        vectors[:, column], vectors[:, column + 1] = pair, pair.conj()
    return vectors


@_lapack("gees")
def _gees(letter, a, *, mode, sort, results):
    if not _is(sort, "N"):
        raise NotImplementedError(f"lapack_{letter}gees_ffi: eigenvalues sorted by a function are not implemented")
    t, selected, *w, vs, _, info = _routine(letter + "gees")(lambda *_: 0, a, compute_v=int(_is(mode, "V")))
    return t, (vs if _is(mode, "V") else None), *w, selected, info


@_lapack("gehrd")
def _gehrd(letter, a, *, low, high, results):
    return _routine(letter + "gehrd")(a, lo=low - 1, hi=high - 1)


@_lapack("sytrd", "hetrd")
def _sytrd(letter, a, *, uplo, results):
    name = letter + ("sytrd" if letter in "sd" else "hetrd")
    return _routine(name)(a, lower=int(_is(uplo, "L")))


@_lapack("gtsv", ranks=(1, 1, 1, 2))
def _gtsv(letter, lower, diagonal, upper, b, *, results):
    du2, d, du, x, info = _routine(letter + "gtsv")(lower[1:], diagonal, upper[:-1], b)
    first = np.zeros_like(lower)
    first[: len(du2)] = du2
    last = np.zeros_like(upper)
    last[: len(du)] = du
    return first, d, last, x, info

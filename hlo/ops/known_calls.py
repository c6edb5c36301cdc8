"""Shapes of custom calls whose targets are known by name: those that hand a value on, TopK, LAPACK's functions, random numbers.

Source: ``jax/_src/lax/linalg.py`` and ``jaxlib/cpu/lapack_kernels.h``, ``xla/service/topk_rewriter.cc``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..element_type import C64, C128, F32, F64, ElementType
from ..errors import require
from ..shape import AnyShape, Shape, compatible
from .random_calls import draw_of, require_draw
from .ufunc_calls import require_ufunc_call, ufunc_call_of

# A predicate of a conditional whose branches come to the same: the second one takes many steps one after the other, which few
# but fast threads are good at.
PREFERENCE = "phlox.unless_in_steps"
# Targets that only say where a value is to lie, or that it is not to be optimized across; the value stays as it is.
IDENTITY_TARGETS = frozenset({
    PREFERENCE, "LayoutConstraint", "MoveToDevice", "MoveToHost", "PinToDevice", "PinToDeviceSram", "SPMDFullToShardShape",
    "SPMDShardToFullShape", "Sharding", "annotate_device_placement",
})  # fmt: skip
# Those whose result is a part of the operand, or the whole of which it is one, where there are several partitions.
_CHANGE_SIZES = frozenset({"SPMDFullToShardShape", "SPMDShardToFullShape"})

# Functions of np.linalg that raise LinAlgError, with its text: the last part of their results says whether they have.
NUMPY_FAILURES = {
    "solve": "Singular matrix", "inv": "Singular matrix", "eigh": "Eigenvalues did not converge",
    "eigvalsh": "Eigenvalues did not converge", "eig": "Eigenvalues did not converge",
    "eigvals": "Eigenvalues did not converge", "svd": "SVD did not converge", "pinv": "SVD did not converge",
    "lstsq": "SVD did not converge in Linear Least Squares",
}  # fmt: skip
# Elements of the second operand at which the first one, a mask of its leading dimension, is true, moved to the front, or,
# without a second operand, their positions; what lies behind them is unspecified.
COMPRESS = "phlox.compress"
# An array whose elements are unspecified, as XLA calls it.
ALLOCATE = "AllocateBuffer"

_NAME = re.compile(r"lapack_([sdcz])([a-z0-9]+)_ffi")
_TYPES = {"s": (F32, F32, C64), "d": (F64, F64, C128), "c": (C64, F32, C64), "z": (C128, F64, C128)}
# Operands and results: the type (x that of the matrix, r real, c complex, i integers), and the sizes behind those of the batch,
# named by letters: k is min(m, n), j is n - 1, * any size. Where real and complex functions differ, both stand there.
_LAPACK: dict[str, tuple[str, ...]] = {
    "geev": ("x:nn -> x:n x:n c:nn c:nn i:", "x:nn -> x:n x:nn x:nn i:"),
    "gees": ("x:nn -> x:nn x:nn x:n x:n i: i:", "x:nn -> x:nn x:nn x:n i: i:"),
    "gehrd": ("x:nn -> x:nn x:j i:",),
    "geqp3": ("x:mn i:n -> x:mn i:n x:k",),
    "geqrf": ("x:mn -> x:mn x:k",),
    "gesdd": ("x:mn -> x:mn r:k x:** x:** i:",),
    "gesvd": ("x:mn -> x:mn r:k x:** x:** i:",),
    "getrf": ("x:mn -> x:mn i:k i:",),
    "gtsv": ("x:n x:n x:n x:nm -> x:n x:n x:n x:nm i:",),
    "heevd": ("x:nn -> x:nn r:n i:",),
    "hetrd": ("x:nn -> x:nn r:n r:j x:j i:",),
    "orgqr": ("x:mn x:t -> x:mn",),
    "ormqr": ("x:mn x:t x:pq -> x:pq",),
    "potrf": ("x:nn -> x:nn i:",),
    "syevd": ("x:nn -> x:nn r:n i:",),
    "sytrd": ("x:nn -> x:nn r:n r:j x:j i:",),
    "trsm": ("x:ss x:pq -> x:pq",),
    "ungqr": ("x:mn x:t -> x:mn",),
    "unmqr": ("x:mn x:t x:pq -> x:pq",),
}


def require_known_call(target: str, operands: Sequence[AnyShape], result: AnyShape) -> None:
    """Raise ShapeError where a call of a known target has operands or a result that it cannot have."""
    if target in IDENTITY_TARGETS:
        require(len(operands) == 1, f"custom-call: {target} takes one operand, {len(operands)} given")
        same = target in _CHANGE_SIZES or compatible(operands[0], result)
        require(same, f"custom-call: {target} returns its operand, of shape {operands[0]}, but {result} was stated")
    elif target == ALLOCATE:
        require(not operands, f"custom-call: {target} takes no operands, {len(operands)} given")
        require(not result.is_tuple, f"custom-call: {target} returns an array, but {result} was stated")
    elif target in ("TopK", "mhlo.topk"):
        _require_top_k(target, operands, result)
    elif (match := _NAME.fullmatch(target)) is not None and match[2] in _LAPACK:
        _require_lapack(target, match[1], _LAPACK[match[2]], operands, result)
    elif (draw := draw_of(target)) is not None:
        require_draw(draw, target, operands, result)
    elif (call := ufunc_call_of(target)) is not None:
        require_ufunc_call(call, operands, result)


def _require_top_k(target: str, operands: Sequence[AnyShape], result: AnyShape) -> None:
    one = len(operands) == 1 and not operands[0].is_tuple and operands[0].rank > 0
    given = ", ".join(map(str, operands))
    require(one, f"custom-call: {target} takes one array of at least one dimension, got ({given})")
    (operand,) = operands
    leaves = result.elements if result.is_tuple else ()
    fits = len(leaves) == 2 and not any(leaf.is_tuple for leaf in leaves)
    fits = fits and leaves[0].element_type is operand.element_type and leaves[1].element_type.is_integer
    fits = fits and all(leaf.rank == operand.rank and leaf.dimensions[:-1] == operand.dimensions[:-1] for leaf in leaves)
    fits = fits and leaves[0].dimensions == leaves[1].dimensions and leaves[0].dimensions[-1] <= operand.dimensions[-1]
    sizes = ",".join((*map(str, operand.dimensions[:-1]), "k"))
    wanted = f"({operand.element_type.name}[{sizes}], s32[{sizes}]) with k up to {operand.dimensions[-1]}"
    require(fits, f"custom-call: {target} of {operand} returns {wanted}, but {result} was stated")


def _require_lapack(target: str, letter: str, forms: tuple[str, ...], operands: Sequence[AnyShape], result: AnyShape) -> None:
    form = forms[-1 if letter in "cz" else 0]
    takes, returns = (part.split() for part in form.split("->"))
    types = dict(zip("xrc", _TYPES[letter]))
    given = ", ".join(map(str, operands))
    words = f"custom-call: {target} takes ({', '.join(_in_words(part, types) for part in takes)})"
    require(len(operands) == len(takes), f"{words}, got ({given})")
    sizes: dict[str, int] = {}
    batch: tuple[int, ...] | None = None
    for part, operand in zip(takes, operands):
        letters = part[2:]
        require(not operand.is_tuple and operand.rank >= len(letters), f"{words}, got ({given})")
        before = operand.dimensions[: operand.rank - len(letters)]
        batch = before if batch is None else batch
        same = before == batch and _has_type(part, types, operand)
        for name, size in zip(letters, operand.dimensions[len(before) :]):
            same = same and sizes.setdefault(name, size) == size
        require(same, f"{words}, with the same leading dimensions and equal sizes for equal letters, got ({given})")
    sizes["k"], sizes["j"] = min(sizes.get("m", 0), sizes.get("n", 0)), max(sizes.get("n", 0) - 1, 0)
    leaves = result.elements if result.is_tuple else (result,)
    fits = len(leaves) == len(returns) and result.is_tuple == (len(returns) > 1)
    for part, leaf in zip(returns, leaves):
        fits = fits and not leaf.is_tuple and leaf.rank == len(batch or ()) + len(part) - 2 and _has_type(part, types, leaf)
        wanted = [*(batch or ()), *(sizes.get(name, -1) for name in part[2:])]
        fits = fits and all(size in (-1, found) for size, found in zip(wanted, leaf.dimensions if fits else ()))
    words = ", ".join(_in_words(part, types, sizes) for part in returns)
    lead = "" if not batch else f" behind [{','.join(map(str, batch))}]"
    require(fits, f"custom-call: {target} of ({given}) returns ({words}){lead}, but {result} was stated")


def _has_type(part: str, types: dict[str, ElementType], shape: Shape) -> bool:
    return shape.element_type.kind == "signed" if part[0] == "i" else shape.element_type is types[part[0]]


def _in_words(part: str, types: dict[str, ElementType], sizes: dict[str, int] | None = None) -> str:
    name = "s32" if part[0] == "i" else types[part[0]].name
    return f"{name}[{','.join(str((sizes or {}).get(letter, letter)) for letter in part[2:])}]"
